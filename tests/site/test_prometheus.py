"""`bench-submit run --export` and `sweep --export`: what Prometheus and node_exporter read."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.console.blocks import list_blocks_of, match_lines

from harness.power.sampler import LatestReading
from harness.power.sources import open_source
from harness.run.export import ExportTarget, RunExport
from harness.run.plan import Machine, RunRequest
from harness.run.planning import make_plan
from harness.system import DESCRIPTION

parser = pytest.importorskip(
    "prometheus_client.parser", reason="the extra monitoring is not installed"
)

DEADLINE_S = 60
PER_BOARD = {"wattmark_power_watts", "wattmark_energy_joules_total", "wattmark_power_cap_watts"}
PER_RUN = {"wattmark_items_total", "wattmark_epochs_ended"}
Values = dict[tuple[str, str | None], float]
"""The values of a scrape by metric and accelerator."""


PAGE = Path(__file__).parents[2] / "docs/monitoring.md"
(BLOCK,) = list_blocks_of(__file__, PAGE)
RUN, SCRAPE = BLOCK.list_steps()


def start_run(out: Path, export: str) -> subprocess.Popen[str]:
    """Start the run of docs/monitoring.md, with shorter epochs."""
    _, *arguments = shlex.split(RUN.command.removesuffix(" > /dev/null &"))
    options = ["--epoch-seconds", "0.5", "--out", str(out), "--export", export]
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(run: subprocess.Popen[str]) -> str:
    output, _ = run.communicate(timeout=DEADLINE_S)
    return output


def parse(text: str) -> tuple[Values, set[tuple[str, ...]]]:
    """The values, and the labels workload, bundle and node that they have."""
    values: Values = {}
    labels = set()
    for family in parser.text_string_to_metric_families(text):
        for sample in family.samples:
            values[sample.name, sample.labels.get("accelerator")] = sample.value
            labels.add(tuple(sample.labels[name] for name in ("workload", "bundle", "node")))
    return values, labels


def find_free_port() -> int:
    with socket.create_server(("", 0)) as server:
        return server.getsockname()[1]


def scrape(port: int) -> str | None:
    """The metrics, or None if nothing listens on the port."""
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/metrics", timeout=5) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, ConnectionError):
        return None


def read(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        return None


def watch(run: subprocess.Popen[str], get_text) -> Iterator[str]:
    """The metrics while the run goes on."""
    deadline_s = time.monotonic() + DEADLINE_S
    while run.poll() is None:
        assert time.monotonic() < deadline_s
        if (text := get_text()) is not None:
            yield text
        time.sleep(0.2)


def check_scrapes(texts: list[str], out: Path, kind: str) -> None:
    """The scrapes of a run agree with its bundle."""
    (bundle,) = [path for path in out.iterdir() if not path.name.startswith(".")]
    result = json.loads((bundle / "result.json").read_text())
    assert result["settings"]["export"] == kind
    scrapes = []
    for text in texts:
        values, labels = parse(text)
        assert labels == {("resnet50-train", bundle.name, "node0")}
        scrapes.append(values)
    boards = {"SIM-H200-0", "SIM-H200-1"}
    last = scrapes[-1]
    assert {key[0] for key in last} == PER_BOARD | PER_RUN
    assert {(name, board) for name in PER_BOARD for board in boards} <= set(last)
    epochs = [values["wattmark_epochs_ended", None] for values in scrapes]
    assert epochs[0] == 0 and epochs == sorted(epochs) and len(set(epochs)) > 3
    # The last epoch may end too shortly before the run for a scrape.
    ended = int(epochs[-1])
    items = sum(epoch["items"] for epoch in result["epochs"][:ended])
    assert last["wattmark_items_total", None] == pytest.approx(items)
    for board in boards:
        energies_j = [v["wattmark_energy_joules_total", board] for v in scrapes if len(v) > 2]
        assert energies_j == sorted(energies_j) and energies_j[-1] > energies_j[0]
        powers_w = [v["wattmark_power_watts", board] for v in scrapes if len(v) > 2]
        assert min(powers_w) < 200 and max(powers_w) > 600, "idle and under load"
        assert last["wattmark_power_cap_watts", board] == 700


def test_text_file_is_complete_at_every_read_and_gone_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "collector/wattmark.prom"
    path.parent.mkdir()
    run = start_run(tmp_path / "out", f"textfile:{path}")
    texts = list(watch(run, lambda: read(path)))
    assert run.wait() == 0, finish(run)
    assert all(text.endswith("\n") and "wattmark_epochs_ended{" in text for text in texts)
    check_scrapes(texts, tmp_path / "out", "textfile")
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_ends_its_export_without_a_traceback(
    tmp_path: Path, number: signal.Signals
) -> None:
    path = tmp_path / "wattmark.prom"
    run = start_run(tmp_path / "out", f"textfile:{path}")
    for text in watch(run, lambda: read(path)):
        if parse(text)[0]["wattmark_epochs_ended", None] >= 1:
            break
    os.kill(run.pid, number)
    output = finish(run)
    assert run.returncode == 128 + number, output
    assert "Traceback" not in output and "unfinished:" in output
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_interrupted_run_closes_its_port_and_the_resumed_one_exports_over_http(
    tmp_path: Path,
) -> None:
    port = find_free_port()
    run = start_run(tmp_path, f"prometheus:{port}")
    for text in watch(run, lambda: scrape(port)):
        if parse(text)[0]["wattmark_epochs_ended", None] >= 1:
            break
    os.kill(run.pid, signal.SIGINT)
    assert "Traceback" not in finish(run) and run.returncode == 130
    assert scrape(port) is None
    (unfinished,) = tmp_path.glob(".*.running")
    command = [sys.executable, "-m", "harness", "run", "--resume", str(unfinished)]
    resumed = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    texts = list(watch(resumed, lambda: scrape(port)))
    assert resumed.wait() == 0
    check_scrapes(texts, tmp_path, "prometheus")
    assert SCRAPE.lines and match_lines(SCRAPE.lines, texts[-1].splitlines())
    assert scrape(port) is None


def test_each_run_of_a_sweep_exports_on_the_same_port(tmp_path: Path) -> None:
    port = find_free_port()
    command = [sys.executable, "-m", "harness", "sweep", "resnet50-train", "--simulate", "h200"]
    options = ["--caps", "400,600", "--epoch-seconds", "0.3", "--export", f"prometheus:{port}"]
    sweep = subprocess.Popen(
        [*command, *options, "--out", tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    bundles = {bundle for t in watch(sweep, lambda: scrape(port)) for _, bundle, _ in parse(t)[1]}
    assert sweep.wait() == 0, finish(sweep)
    assert bundles == {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert len(bundles) == 2 and scrape(port) is None


class Lines:
    """Stands in for the view of a run."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def print_line(self, text: str) -> None:
        self.lines.append(text)


def make_export(target: ExportTarget) -> RunExport:
    meter = open_source("simulated:h200")
    machine = Machine("simulated:h200", "cpu", None, tuple(meter.devices()[:1]), "P0", 700.0)
    request = RunRequest("resnet50-train", smoke=True, export=str(target))
    return RunExport(make_plan(request, machine, dict(DESCRIPTION), "0" * 64), target)


def test_file_that_cannot_be_written_any_more_is_noted_once_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.run.export.INTERVAL_S", 0.0)
    view, path = Lines(), tmp_path / "collector/wattmark.prom"
    path.parent.mkdir()
    with make_export(ExportTarget(path=path)) as export:
        path.unlink()
        path.parent.rmdir()
        for _ in range(2):
            export.update(lambda: (LatestReading(1, 2, 3, 4),), view)
        assert len(view.lines) == 1 and "No such file or directory" in view.lines[0]
        path.parent.mkdir()
        export.update(lambda: (LatestReading(1, 2, 3, 4),), view)
        assert "wattmark_power_watts" in path.read_text()


def test_quantity_that_the_meter_lacks_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "wattmark.prom"
    with make_export(ExportTarget(path=path)) as export:
        export.update(lambda: (LatestReading(None, 250_000, None, None),), Lines())
        values, _ = parse(path.read_text())
    assert values == {
        ("wattmark_power_watts", "SIM-H200-0"): 250.0,
        ("wattmark_items_total", None): 0.0,
        ("wattmark_epochs_ended", None): 0.0,
    }


def test_port_is_free_again_when_the_export_has_ended() -> None:
    port = find_free_port()
    with make_export(ExportTarget(port=port)):
        assert "wattmark_epochs_ended" in (scrape(port) or "")
    assert scrape(port) is None


def test_run_without_export_does_not_import_the_client() -> None:
    code = "import sys, harness.run.command; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
