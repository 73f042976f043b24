"""A measured run, the log of a meter with a clock of its own beside it, and the command that
attaches the log."""

import copy
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.bundles import write_bundle

from harness.cli import main
from rules.bundle_format.files import read_files
from rules.testing.frames import EvidenceFrames, read_frames
from rules.testing.node_power import add_node_power, state_node_figures

METER = """
[[meter]]
id = "wt1800"
model = "Yokogawa WT1806E"
scope = "node"
location = "psu-input"
current = "ac"
accuracy_percent = 0.5
accuracy_source = "data sheet"
calibrated_on = "2026-05-01"
range_w = 4000.0
nodes_covered = 1
"""
AHEAD_S = 7.25
"""How far the clock of the log is ahead of that of the node."""


MEASURED = "20261122T131733Z-resnet50-train-tuned-x1-700W-d83c3c"
"""A run on a real board. The epochs of made bundles are all alike, so that they place no clock."""


@cache
def read_measured() -> EvidenceFrames:
    directory = Path(__file__).parents[3] / "submissions" / "reference" / "h200" / MEASURED
    evidence, problems = read_frames(read_files(directory))
    assert evidence is not None and not problems
    evidence.result["protocol"] = "1.1"
    return evidence


def make_bundle(tmp_path: Path) -> Path:
    bundle = tmp_path / "results" / "run"
    write_bundle(read_measured(), bundle)
    return bundle


def make_metered_evidence() -> EvidenceFrames:
    """The run with the readings that a meter with a clock in step would have taken."""
    evidence = copy.deepcopy(read_measured())
    add_node_power(evidence)
    state_node_figures(evidence)
    return evidence


def format_log(evidence: EvidenceFrames, ahead_s: float = AHEAD_S) -> str:
    """The readings of the meter as PTDaemon would have logged them, in Berlin."""
    table = evidence.node_samples
    assert table is not None
    lines = []
    for stamp_ns, rows in table.groupby("meter_ns", sort=True):
        local = datetime.fromtimestamp(stamp_ns / 1e9 + ahead_s, UTC) + timedelta(hours=1)
        power_w, current_a = rows["power_mw"].sum() / 1e3, rows["current_ma"].mean() / 1e3
        text = f"Time,{local:%m-%d-%Y %H:%M:%S.%f}"[:-3]
        text += f",Watts,{power_w:.3f},Volts,230.0,Amps,{current_a:.3f},PF,0.98,Mark,run"
        for number, row in enumerate(rows.sort_values("feed").itertuples(), 1):
            text += f",Ch{number},Watts,{row.power_mw / 1e3:.3f},Volts,{row.voltage_mv / 1e3:.3f}"
            text += f",Amps,{row.current_ma / 1e3:.3f},PF,{row.pf_ppm / 1e6:.6f}"
        lines.append(text)
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def metered() -> EvidenceFrames:
    return make_metered_evidence()


@pytest.fixture(scope="module")
def log_text(metered) -> str:
    return format_log(metered)


def attach(bundle: Path, log: str | bytes, *options: str, meter: str = METER) -> Result:
    log_path, meter_path = bundle.parent / "spl.txt", bundle.parent / "meter.toml"
    log_path.write_bytes(log if isinstance(log, bytes) else log.encode())
    meter_path.write_text(meter)
    # Only the times of PTDaemon are local.
    is_local = log_path.read_bytes().startswith((b"Time,", b"\x1f\x8b"))
    zone = ("--time-zone", "Europe/Berlin") if is_local and "--time-zone" not in options else ()
    arguments = [str(bundle), str(log_path), "--meter-file", str(meter_path), *zone, *options]
    return CliRunner().invoke(main, ["attach-power", *arguments])


def hash_files(bundle: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(bundle.iterdir())}
