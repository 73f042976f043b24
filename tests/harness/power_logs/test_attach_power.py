"""Adding a power log to a bundle: what the bundle then holds, what is refused, and that a crash
leaves the bundle whole."""

import copy
import errno
import gzip
import itertools
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import copy_evidence
from support.bundles import rederive, write_bundle

from checker.engine import judge
from harness.cli import main
from harness.power_logs.attaching import replace
from rules.bundle_format import write
from rules.bundle_format.files import read_files
from rules.bundle_format.load import read_evidence
from rules.testing.frames import EvidenceFrames, read_frames
from rules.testing.mutations import add_twin
from rules.testing.node_power import FEEDS, SHARES, add_node_power, state_node_figures

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
    zone = (
        () if "--time-zone" in options or "--map" in options else ("--time-zone", "Europe/Berlin")
    )
    arguments = [str(bundle), str(log_path), "--meter-file", str(meter_path), *zone, *options]
    return CliRunner().invoke(main, ["attach-power", *arguments])


def hash_files(bundle: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(bundle.iterdir())}


def test_log_with_a_wrong_clock_is_placed_and_gives_the_figures_of_the_meter(
    tmp_path, metered, log_text
):
    bundle = make_bundle(tmp_path)
    before = hash_files(bundle)
    result = attach(bundle, log_text)
    assert result.exit_code == 0, result.output
    assert "(correlation)" in result.output
    evidence, problems = read_evidence(read_files(bundle))
    assert evidence is not None and not problems
    truth, figures = metered.result["node"], evidence.result["node"]
    for name in ("joules_per_item", "mean_power_w", "over_accelerators"):
        assert figures[name]["mean"] == pytest.approx(truth[name]["mean"], rel=2e-3)
    (clock,) = evidence.result["node_clocks"]
    true_ns = metered.result["node_clocks"][0]["offset_ns"] - round(AHEAD_S * 1e9)
    assert abs(clock["offset_ns"] - true_ns) <= clock["bound_ns"] <= 1e9
    assert clock["source"] == "correlation"
    (meter,) = evidence.system["meters"]
    assert (meter["kind"], meter["clock"]) == ("ptd", "import")
    assert (meter["interval_ms"], meter["averaging_ms"]) == (1000, 1000)
    assert [feed["feed"] for feed in meter["feeds"]] == ["Ch1", "Ch2"]
    assert evidence.node_log == log_text
    after = hash_files(bundle)
    for name in ("samples.csv.gz", "batches.csv.gz", "log.txt.gz", "environment.json"):
        assert after[name] == before[name]


def test_bundle_with_an_attached_log_passes_the_check(tmp_path, log_text):
    bundle = make_bundle(tmp_path)
    assert attach(bundle, log_text).exit_code == 0
    before = judge_without_signature(make_bundle(tmp_path / "without"))
    assert judge_without_signature(bundle) == before


def judge_without_signature(bundle: Path) -> list[str]:
    return [str(finding.rule) for finding in judge(bundle).findings]


def test_readings_in_the_bundle_are_those_of_the_log(tmp_path, metered, log_text):
    bundle = make_bundle(tmp_path)
    assert attach(bundle, log_text).exit_code == 0
    evidence, _ = read_evidence(read_files(bundle))
    table, truth = evidence.node_samples, metered.node_samples
    for feed, channel in zip(FEEDS, ("Ch1", "Ch2"), strict=True):
        rows = table.at(table.text("feed").equals(channel))
        expected = truth[truth["feed"] == feed]
        assert np.array_equal(rows.floats("power_mw"), expected["power_mw"])
        assert np.array_equal(rows.floats("voltage_mv"), expected["voltage_mv"])
        assert np.array_equal(rows.floats("current_ma"), expected["current_ma"])
    assert evidence.result["node_sampling"][0]["missed"] == 0


CSV_MAP = """
interval = "mean-before"
feed = "inlet"
[time]
column = "t"
format = "unix"
unit = "ms"
[power]
column = "p"
unit = "kW"
[energy]
column = "e"
unit = "J"
"""


def test_csv_log_with_a_counter_is_attached_with_the_energy_of_the_counter(tmp_path, metered):
    bundle = make_bundle(tmp_path)
    (tmp_path / "map.toml").write_text(CSV_MAP)
    lines = ["t,p,e"]
    for stamp_ns, rows in metered.node_samples.groupby("meter_ns", sort=True):
        time_ms = stamp_ns // 10**6 - 1500
        lines.append(
            f"{time_ms},{rows['power_mw'].sum() / 1e6:.6f},{rows['energy_mj'].sum() / 1e3}"
        )
    result = attach(bundle, "\n".join(lines) + "\n", "--map", str(tmp_path / "map.toml"))
    assert result.exit_code == 0, result.output
    evidence, _ = read_evidence(read_files(bundle))
    assert evidence.system["meters"][0]["feeds"] == [{"feed": "inlet", "node": "node0"}]
    energy_mj = evidence.node_samples.floats("energy_mj")
    assert energy_mj[-1] - energy_mj[0] == pytest.approx(
        metered.node_samples["energy_mj"].iloc[-2:].sum()
        - metered.node_samples["energy_mj"].iloc[:2].sum()
    )
    figures, truth = evidence.result["node"], metered.result["node"]
    assert figures["mean_power_w"]["mean"] == pytest.approx(truth["mean_power_w"]["mean"], rel=2e-3)
    assert figures["level"] == 3


def test_training_log_in_direct_current_brings_its_conversion_loss(tmp_path, metered):
    bundle = make_bundle(tmp_path)
    start = '{"key": "conversion_eff", "value": 0.95, "metadata": {"measurement_type": "DC"}}'
    lines = [f":::MLLOG {start}"]
    for stamp_ns, rows in metered.node_samples.groupby("meter_ns", sort=True):
        event = {"key": "power_reading", "value": rows["power_mw"].sum() / 1e3 * 0.95}
        event |= {"time_ms": stamp_ns // 10**6 // 1000 * 1000, "metadata": {"host": "node_0"}}
        lines.append(f":::MLLOG {json.dumps(event)}")
    wrong = attach(bundle, "\n".join(lines) + "\n")
    assert "meter.current: found 'ac', but the log states 'dc'" in wrong.output
    meter = METER.replace('current = "ac"', "").replace("psu-input", "psu-output")
    result = attach(bundle, "\n".join(lines) + "\n", meter=meter)
    assert result.exit_code == 0, result.output
    evidence, _ = read_evidence(read_files(bundle))
    (entry,) = evidence.system["meters"]
    assert (entry["current"], entry["conversion_loss"]) == ("dc", 0.05)
    assert entry["stamp_resolution_ms"] == 1000
    assert evidence.result["node_clocks"][0]["bound_ns"] >= 500_000_000
    figures, truth = evidence.result["node"], metered.result["node"]
    assert figures["mean_power_w"]["mean"] == pytest.approx(truth["mean_power_w"]["mean"], rel=5e-3)


TWO_NODES = 'feeds = [{feed = "Ch1", node = "node0"}, {feed = "Ch2", node = "node7"}]'


def test_channels_of_one_log_are_placed_on_the_clock_of_the_node_that_each_feeds(tmp_path, metered):
    evidence = copy.deepcopy(read_measured())
    add_twin(evidence, "node7")
    rederive(evidence)
    bundle = tmp_path / "run"
    write_bundle(evidence, bundle)
    # The nodes do the same work, so each feed of one, scaled to the whole, is the meter of a node.
    source = copy.deepcopy(metered)
    shares = source.node_samples["feed"].map(dict(zip(FEEDS, SHARES, strict=True)))
    for column in ("power_mw", "current_ma"):
        source.node_samples[column] /= shares
    log = format_log(source)
    missing = attach(bundle, log)
    assert missing.exit_code == 1 and "meter: found" in missing.output
    result = attach(bundle, log, meter=METER + TWO_NODES)
    assert result.exit_code == 0, result.output
    attached, problems = read_evidence(read_files(bundle))
    assert attached is not None and not problems
    clocks = {clock["node"]: clock for clock in attached.result["node_clocks"]}
    for pair in evidence.result["clocks"]:
        true_ns = pair["monotonic_ns"] - pair["wall_ns"] - round(AHEAD_S * 1e9)
        clock = clocks[pair["node"]]
        assert abs(clock["offset_ns"] - true_ns) <= clock["bound_ns"]
    nodes = attached.node_samples.text("node")
    assert nodes.distinct() == ["node0", "node7"]


def test_stated_offset_places_a_log_and_its_bound_is_kept(tmp_path, metered, log_text):
    bundle = make_bundle(tmp_path)
    result = attach(bundle, log_text, "--clock-offset", "7.2", "--clock-bound", "0.1")
    assert result.exit_code == 0, result.output
    (clock,) = json.loads((bundle / "result.json").read_text())["node_clocks"]
    true_ns = metered.result["node_clocks"][0]["offset_ns"] - 7_200_000_000
    assert abs(clock["offset_ns"] - true_ns) < 1e6
    assert (clock["bound_ns"], clock["source"]) == (100_000_000, "stated")


def test_log_that_is_hours_off_is_placed_by_a_stated_offset(tmp_path, metered):
    bundle, log = make_bundle(tmp_path), format_log(metered, 10_800.0)
    refused = attach(bundle, log)
    assert refused.exit_code == 1 and "the log has readings from" in refused.output
    result = attach(bundle, log, "--clock-offset", "10800", "--clock-bound", "0.1")
    assert result.exit_code == 0, result.output


def test_stated_offset_that_the_changes_of_power_contradict_is_refused(tmp_path, log_text):
    bundle = make_bundle(tmp_path)
    before = hash_files(bundle)
    result = attach(bundle, log_text, "--clock-offset", "0", "--clock-bound", "0.1")
    assert result.exit_code == 1
    assert "place the clock of the log 7.3" in result.output
    assert hash_files(bundle) == before


def make_constant(log: str) -> str:
    lines = []
    for line in log.splitlines():
        time = ",".join(line.split(",")[:2])
        lines.append(f"{time},Watts,1900.5,Mark,run")
    return "\n".join(lines) + "\n"


def test_log_whose_changes_decide_nothing_needs_a_stated_offset(tmp_path, log_text):
    bundle = make_bundle(tmp_path)
    result = attach(bundle, make_constant(log_text))
    assert result.exit_code == 1
    assert "the changes of power do not place the clock of the log" in result.output
    assert "--clock-offset and --clock-bound" in result.output
    stated = ("--clock-offset", "7.25", "--clock-bound", "0.5")
    assert attach(bundle, make_constant(log_text), *stated).exit_code == 0


def test_clock_that_several_offsets_fit_is_not_guessed(tmp_path):
    evidence = copy_evidence()
    bundle = tmp_path / "run"
    write_bundle(evidence, bundle)
    add_node_power(evidence)
    # All epochs of this bundle are alike, so an offset by one epoch fits about as well.
    result = attach(bundle, format_log(evidence))
    assert result.exit_code == 1
    assert "the changes of power do not place the clock of the log" in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--time-zone", "UTC"), "give the log of this run, and check --time-zone"),
        (("--clock-offset", "3"), "belong together; give both"),
        (("--format", "mlperf-training"), "an MLPerf log without power_reading lines"),
    ],
)
def test_wrong_options_are_refused(tmp_path, log_text, options, message):
    result = attach(make_bundle(tmp_path), log_text, *options)
    assert result.exit_code in (1, 2) and message in result.output


def test_log_without_time_zone_is_refused(tmp_path, log_text):
    bundle = make_bundle(tmp_path)
    attach(bundle, log_text)
    bundle = make_bundle(tmp_path / "again")
    (bundle.parent / "spl.txt").write_text(log_text)
    (bundle.parent / "meter.toml").write_text(METER)
    arguments = [str(bundle.parent / "spl.txt"), "--meter-file", str(bundle.parent / "meter.toml")]
    result = CliRunner().invoke(main, ["attach-power", str(bundle), *arguments])
    assert result.exit_code == 1 and "no time zone, so it cannot be placed" in result.output


def sign_it(bundle: Path) -> None:
    (bundle / "signatures").mkdir()
    (bundle / "signatures" / "submission.a@b.sig").write_text("signature\n")


def alter_it(bundle: Path) -> None:
    path = bundle / "log.txt.gz"
    path.write_bytes(gzip.compress(b"another log\n", mtime=0))


def age_it(bundle: Path) -> None:
    evidence = copy.deepcopy(read_measured())
    evidence.result["protocol"] = "1.0"
    shutil.rmtree(bundle)
    write_bundle(evidence, bundle)


def damage_it(bundle: Path) -> None:
    (bundle / "result.json").write_text("{")


def meter_it(bundle: Path) -> None:
    shutil.rmtree(bundle)
    write_bundle(make_metered_evidence(), bundle)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (sign_it, "the bundle is signed"),
        (alter_it, "the files are not those of MANIFEST.json"),
        (age_it, "protocol 1.0, which has no node power"),
        (damage_it, "this bundle cannot be read (S1"),
        (meter_it, "the bundle has node power already"),
    ],
)
def test_bundle_that_must_not_change_is_refused_and_stays(tmp_path, log_text, change, message):
    bundle = make_bundle(tmp_path)
    change(bundle)
    before = {p: p.read_bytes() for p in bundle.rglob("*") if p.is_file()}
    result = attach(bundle, log_text)
    assert result.exit_code == 1 and message in result.output
    assert {p: p.read_bytes() for p in bundle.rglob("*") if p.is_file()} == before
    assert not list(bundle.parent.glob(".*"))


@pytest.mark.parametrize(
    ("meter", "message"),
    [
        ("", "expected one table [[meter]]"),
        (METER + METER, "expected one table [[meter]]"),
        ("[meter]\nid = 'a'", "expected one table [[meter]]"),
        ("colour = 1" + METER, "unknown key 'colour'"),
        (METER.replace('scope = "node"', ""), "meter: found"),
        (METER.replace('"node"', '"desk"'), "meter.scope: found"),
        (METER + "colour = 1", "meter: found"),
        (METER + 'clock = "own"', "meter.clock: found 'own', expected 'import'"),
        (METER + 'kind = "scpi"', "meter.kind: found 'scpi', expected 'ptd'"),
        (METER.replace('"2026-05-01"', "2026-05-01"), "write texts in quotes"),
        (METER + 'feeds = [{feed = "A", node = "node0"}]', "but the log has the feeds Ch1, Ch2"),
        (
            METER + 'feeds = [{feed="Ch1", node="n9"}, {feed="Ch2", node="n9"}]',
            "found the node 'n9', expected one of node0",
        ),
        ("[[meter", "no valid TOML"),
    ],
)
def test_bad_meter_file_is_refused_with_file_and_key(tmp_path, log_text, meter, message):
    result = attach(make_bundle(tmp_path), log_text, meter=meter)
    assert result.exit_code == 1 and "meter.toml: " in result.output
    assert message in result.output


def test_log_that_ends_before_the_run_is_refused(tmp_path, log_text):
    half = "".join(log_text.splitlines(keepends=True)[:150])
    bundle = make_bundle(tmp_path)
    result = attach(bundle, half)
    assert result.exit_code == 1 and "the log has readings from" in result.output
    few = "".join(log_text.splitlines(keepends=True)[:-40])
    result = attach(bundle, few)
    assert result.exit_code == 1 and "do not cover the scored epochs" in result.output


def test_torn_lines_of_an_attached_log_are_reported_and_left_out(tmp_path, log_text):
    lines = log_text.splitlines(keepends=True)
    lines[20] = lines[20][:50] + "\n"
    result = attach(make_bundle(tmp_path), "".join(lines))
    assert result.exit_code == 0 and "line 21: torn-line" in result.output


class Crash(BaseException):
    """Stands for the end of the process."""


def crash(*_args: object, **_kwargs: object) -> None:
    raise Crash


def crash_at_rename(number: int) -> Callable[[Path, Path], Path]:
    """A `Path.rename` that ends the process before its call `number`."""
    calls, rename = itertools.count(1), Path.rename

    def rename_or_crash(path: Path, target: Path) -> Path:
        if next(calls) == number:
            raise Crash
        return rename(path, target)

    return rename_or_crash


def attach_until_crash(bundle: Path, log: str) -> None:
    with pytest.raises(Crash):
        attach(bundle, log)


@pytest.mark.parametrize(
    ("target", "name"),
    [(replace, "_exchange"), (replace, "sync_directory"), (replace.shutil, "rmtree")],
)
def test_crash_leaves_a_whole_bundle(tmp_path, log_text, monkeypatch, target, name):
    bundle = make_bundle(tmp_path)
    before = hash_files(bundle)
    with monkeypatch.context() as patch:
        patch.setattr(target, name, crash)
        attach_until_crash(bundle, log_text)
    evidence, problems = read_evidence(read_files(bundle))
    assert evidence is not None and not problems
    is_new = evidence.node_samples is not None
    assert is_new == (name == "sync_directory")
    if not is_new:
        assert hash_files(bundle) == before
        # The next call finishes the work, whatever the crash left behind.
        assert attach(bundle, log_text).exit_code == 0
        assert not list(bundle.parent.glob(".*"))


@pytest.mark.parametrize(
    ("number", "name"), [(1, "run"), (2, "run"), (3, ".run.replaced"), (4, "run")]
)
def test_crash_without_exchange_of_names_keeps_the_former_bundle(
    tmp_path, log_text, monkeypatch, number, name
):
    bundle = make_bundle(tmp_path)
    before = hash_files(bundle)
    monkeypatch.setattr(replace, "_exchange", lambda first, second: False)
    if number < 4:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", crash_at_rename(number))
            attach_until_crash(bundle, log_text)
        assert hash_files(bundle.with_name(name)) == before
        bundle.with_name(name).rename(bundle)
    assert attach(bundle, log_text).exit_code == 0
    assert "node_samples.csv.gz" in hash_files(bundle)
    assert not list(bundle.parent.glob(".*"))


def test_full_disk_leaves_the_bundle_and_names_it(tmp_path, log_text, monkeypatch):
    bundle = make_bundle(tmp_path)
    before = hash_files(bundle)

    def fail(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(write, "write_durable", fail)
    result = attach(bundle, log_text)
    assert result.exit_code == 3 and "No space left on device" in result.output
    assert hash_files(bundle) == before
