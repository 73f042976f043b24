"""Runs on simulated boards, with a simulated node behind a meter of each protocol: what enters the
bundle, what checker and report make of it, and that faults and false evidence are reported."""

import copy
import gzip
import importlib
import math
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import PRINCIPAL, Submissions
from support.harness.node_power import write_system
from support.kills import read_command_line
from support.meters.modbus_server import ModbusServer
from support.meters.node_servers import HOST, NodeServers, declare_meters, serve_node
from support.meters.pdu import needs_snmpd

import rules.testing.cases.node as node_cases
from checker.engine import judge, judge_all
from harness.processes import list_descendants
from harness.simulation.server import VARIABLE, start
from reporting.collect import collect
from reporting.page_model import build_page_model
from rules.bundle_format.files import read_files
from rules.registry import rules_by_id
from rules.testing.case import Mutation, Pairing, cases_of
from rules.testing.frames import EvidenceFrames, read_frames
from rules.testing.node_power import METER, add_node_power, scale_power, state_node_figures

pytestmark = [
    pytest.mark.xdist_group("node-meters"),
    pytest.mark.skipif(
        not shutil.which("ipmitool"), reason="ipmitool is missing: apt-get install ipmitool"
    ),
    needs_snmpd,
]
METERS = {METER, "modbus", "redfish", "ipmi", "scpi"}
RULES = [f"N{number}" for number in range(101, 118) if number != 106]
"""Without N106, which decides nothing in a run this short (tests/rules/test_node_clocks.py)."""


class MeteredRun(NamedTuple):
    """A run, and what it left behind."""

    bundle: Path
    output: str
    command_lines: set[str]
    ports: tuple[int, ...]
    secrets: tuple[str, ...]


Disturb = Callable[[NodeServers, int], None]
"""Called again and again during the run, with the number of epochs that have ended."""


def run_bench(directory: Path, disturb: Disturb | None = None, **changes: object) -> MeteredRun:
    """Run the benchmark with a simulator and meters of its own, and collect the command lines of
    its processes. `changes` are those of the meter of record."""
    directory.mkdir()
    environment = {**os.environ, VARIABLE: str(directory / "socket")}
    simulator = start("h200", environment[VARIABLE])
    try:
        with serve_node(directory, environment[VARIABLE]) as servers:
            if disturb:
                disturb(servers, -1)
            command_lines: set[str] = set()
            with (directory / "output").open("w+") as output:
                process = subprocess.Popen(
                    make_command(directory, servers, **changes),
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment,
                )
                while process.poll() is None:
                    command_lines |= read_command_lines(process.pid)
                    if disturb:
                        text = (directory / "output").read_text()
                        disturb(servers, len(re.findall(r"^epoch ", text, re.MULTILINE)))
                    time.sleep(0.02)
            text = (directory / "output").read_text()
            assert "\npre-check: " in text, text
            (manifest,) = (directory / "out").glob("*/MANIFEST.json")
            return MeteredRun(manifest.parent, text, command_lines, servers.ports, servers.secrets)
    finally:
        simulator.terminate()
        simulator.wait()


def make_command(directory: Path, servers: NodeServers, **changes: object) -> list[str]:
    calibrated_on = (datetime.now(UTC) - timedelta(days=30)).strftime("%Y-%m-%d")
    system = write_system(directory, *declare_meters(calibrated_on, **changes))
    return [
        *(sys.executable, "-m", "harness.cli", "run", "resnet50-train", "--simulate", "h200"),
        *("--epoch-seconds", "1.2", "--system", str(system)),
        *("--meters", str(servers.access_file), "--out", str(directory / "out")),
    ]


def read_command_lines(pid: int) -> set[str]:
    """The command lines of the descendants of a process."""
    return {
        b" ".join(read_command_line(descendant)).decode(errors="replace")
        for descendant in list_descendants([pid])
    }


class Faults:
    """The faults of a run: the clock of the PDU is 7 s ahead and gains, the analyser is stuck. The
    Modbus meter is away for five seconds from the second epoch on, the BMC stops measuring, and the
    Redfish service ends the session and has another password."""

    DURATION_S = 5.0
    """Not a number of epochs: on a busy machine, epochs are seen late, and N103 needs 3 s."""

    def __init__(self) -> None:
        self._began_s = math.inf
        self._ended = False

    def __call__(self, servers: NodeServers, epochs: int) -> None:
        if epochs < 0:
            servers.clock_ahead_s, servers.clock_drift = 7.0, 0.5
            servers.instrument.instrument.replacement = "1.5E+03,2.3E+02,6.65E+00,0.98,NAN"
        elif epochs >= 2 and self._began_s == math.inf:
            servers.modbus.stop()
            servers.bmc_state["active"] = False
            servers.redfish.password = "another"
            servers.redfish.sessions.clear()
            self._began_s = time.monotonic()
        elif time.monotonic() - self._began_s >= self.DURATION_S and not self._ended:
            self._ended = True
            servers.modbus = ModbusServer(servers.modbus.registers, servers.modbus.port)
            servers.bmc_state["active"] = True


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, MeteredRun]:
    """A run without faults and one with them, at the same time."""
    directory = tmp_path_factory.mktemp("metered")
    with ThreadPoolExecutor() as executor:
        undisturbed = executor.submit(run_bench, directory / "undisturbed")
        disturbed = executor.submit(
            run_bench,
            directory / "disturbed",
            Faults(),
            clock="own",
            interval_ms=1000,
            stamp_resolution_ms=1000,
        )
        return {"undisturbed": undisturbed.result(), "disturbed": disturbed.result()}


def read_run(run: MeteredRun) -> EvidenceFrames:
    evidence, problems = read_frames(read_files(run.bundle))
    assert evidence is not None and not problems
    return evidence


@pytest.fixture
def signed(runs, submissions: Submissions) -> Path:
    """The undisturbed run, signed by `bench-submit sign`."""
    run = runs["undisturbed"]
    bundle = submissions.root / "example" / "simulated" / run.bundle.name
    shutil.copytree(run.bundle, bundle)
    call("harness", "sign", bundle, "--key", submissions.key, "--principal", PRINCIPAL)
    return bundle


def call(package: str, *arguments: object) -> str:
    """Call the program of a package, and return what it prints. It must succeed."""
    command = [sys.executable, "-m", package, *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout + process.stderr


def test_a_run_reads_five_meters_and_is_checked_clean(runs, signed):
    evidence = read_run(runs["undisturbed"])
    rows = evidence.node_samples
    assert rows is not None and set(rows["meter"]) == METERS
    # On a busy machine, a simulated meter answers late now and then.
    assert (rows["status"] == "ok").mean() > 0.95
    scored = evidence.batches[evidence.batches["epoch"] > 0]
    during = rows["read_ns"].between(scored["start_ns"].min(), scored["end_ns"].max())
    # Medians, because the meters are read at other instants of the pauses between epochs.
    feeds_mw = rows[during].groupby(["meter", "feed"])["power_mw"].median()
    power_w = {meter: feeds_mw[meter].sum() / 1e3 for meter in METERS}
    assert power_w == pytest.approx(dict.fromkeys(METERS, power_w[METER]), rel=0.02)
    assert "node" in evidence.result, judge(signed).findings
    figures = evidence.result["node"]
    assert figures["mean_power_w"]["mean"] == pytest.approx(power_w[METER], rel=0.1)
    (verdict,) = judge_all([signed]).verdicts
    reported = {(f.rule, f.severity) for f in verdict.findings}
    assert reported - {("N103", "warning"), ("N104", "warning")} == {("N113", "note")}
    assert "0 errors" in call("checker", signed.parents[2])


def test_the_page_names_the_meter_and_its_figures(runs, signed):
    result = read_run(runs["undisturbed"]).result
    page = build_page_model(collect([signed.parents[2]]), Path.as_posix)
    (table,) = [table for table in page.tables if table.id == "resnet50-train-demo-nodes"]
    (row,) = table.rows
    assert row["meters"] == "Raritan PX3-5902, pdu-outlet, AC, 1 %"
    for figure in ("joules_per_item", "mean_power_w"):
        assert row[f"node_{figure}"] == pytest.approx(result["node"][figure]["mean"])


def test_neither_address_nor_secret_is_in_what_a_run_leaves(runs):
    for run in runs.values():
        texts = {"output": run.output}
        for path in run.bundle.parent.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                content = gzip.decompress(content) if path.suffix == ".gz" else content
                texts[path.name] = content.decode()
        assert {"node_samples.csv.gz", "system.json", "result.json", "log.txt.gz"} <= set(texts)
        assert all(HOST not in text for text in texts.values())
        assert any("node_reader" in line for line in run.command_lines)
        assert any("0xdc" in line for line in run.command_lines), "ipmitool is among them"
        # The address that ipmitool has is that of a relay in the reader, which is on HOST too.
        assert not [line for line in run.command_lines if HOST in line and "0xdc" not in line]
        texts |= {line: line for line in run.command_lines}
        for name, text in texts.items():
            assert not [secret for secret in run.secrets if secret in text], name
            if not name.endswith(".csv.gz"):  # numbers in tables may equal ports
                assert not [port for port in run.ports if re.search(rf"\b{port}\b", text)], name


def test_faults_of_meters_end_in_statuses_and_findings_and_the_run_goes_on(runs, submissions):
    run = runs["disturbed"]
    evidence = read_run(run)
    assert evidence.node_samples is not None
    # On a busy machine, a simulated meter answers late now and then.
    is_late = evidence.node_samples["status"] == "timeout"
    assert is_late.mean() < 0.1
    rows = evidence.node_samples[~is_late]
    statuses = {
        meter: list(dict.fromkeys(group["status"])) for meter, group in rows.groupby("meter")
    }
    last_status = dict(zip(rows["meter"], rows["status"], strict=True))
    assert statuses == {
        METER: ["ok"],
        "modbus": ["ok", "refused"],
        "redfish": ["ok", "refused"],
        "ipmi": ["ok", "absent"],
        "scpi": ["ok", "stale"],
    }
    # Those that came back are read again. After a refused login the reader waits 30 s.
    assert last_status == {
        **dict.fromkeys((METER, "modbus", "ipmi"), "ok"),
        "redfish": "refused",
        "scpi": "stale",
    }
    (clock,) = evidence.result["node_clocks"]
    assert clock["meter"] == METER and clock["bound_ns"] > 1e9
    # N105 is a rule of closed runs.
    evidence.result["standing"] = "closed"
    findings = judge(submissions.add(evidence)).findings
    found = {(f.rule, meter) for f in findings for meter in METERS if f"meter {meter}" in f.found}
    assert found >= {
        ("N103", "modbus"),
        ("N103", "ipmi"),
        ("N104", "scpi"),
        ("N105", METER),
        ("N114", "redfish"),
    }
    assert len(evidence.result["epochs"]) == 11
    sampling = evidence.result["sampling"]
    # The two runs and their servers share the cores of the tests.
    assert sampling["missed"] <= sampling["ticks"] / 10
    assert set(evidence.samples["status"]) == {"ok"}


@pytest.fixture(scope="module")
def original(runs) -> EvidenceFrames:
    return read_run(runs["undisturbed"])


def make_node_of_one_board(evidence: EvidenceFrames) -> None:
    """Let the readings be those of a node that has the board of the run only."""
    evidence.system["nodes"][0]["accelerators_installed"] = 1
    scale_power(evidence, 1.5 / evidence.result["node"]["over_accelerators"]["mean"])


def make_closed_with_clock(evidence: EvidenceFrames) -> None:
    """Let the run be closed, and its meter have a clock."""
    evidence.result["standing"] = "closed"
    add_node_power(evidence)


PREPARATIONS: Mapping[str, Callable[[EvidenceFrames], None]] = {
    "N101": make_node_of_one_board,
    "N102": make_node_of_one_board,
    "N105": make_closed_with_clock,
}
"""What the run has to be for a rule to apply."""
OTHER_RULES = {
    # On most machines, a run this short is over behind these ten seconds.
    "ten_seconds_of_an_epoch_unread": {"N103", "N114"},
    # Readings under load take the place of readings before it. Only runs without errors are
    # compared with others.
    "half_of_the_node_readings_shifted": {"N108"},
}
"""The rules of which one reports a case here, if not the rule of the case."""


def list_cases() -> Iterator[Mutation | Pairing]:
    for rule in map(rules_by_id().__getitem__, RULES):
        for case in cases_of(rule):
            assert isinstance(case, Mutation | Pairing)
            yield pytest.param(rule.id, case, id=f"{rule.id}-{case.name}")


@pytest.mark.parametrize(("rule", "case"), list(list_cases()))
def test_a_spoiled_run_is_reported(rule, case, runs, original, submissions, monkeypatch):
    evidences = [copy.deepcopy(original) for _ in range(1 + isinstance(case, Pairing))]
    PREPARATIONS.get(rule, lambda evidence: None)(evidences[0])
    keep_readings(monkeypatch)
    case.apply(*evidences)
    if isinstance(case, Pairing) or case.rederive:
        state_node_figures(evidences[0])
    for number, evidence in enumerate(evidences):
        submissions.add(evidence, f"spoiled-run-{number}")
    before = judge(runs["undisturbed"].bundle, signed=False).findings
    after = [f for verdict in judge_all([submissions.root]).verdicts for f in verdict.findings]
    known = {(finding.rule, finding.found) for finding in before}
    reported = {f.rule for f in after if (f.rule, f.found) not in known}
    assert OTHER_RULES.get(case.name, {rule}) & reported


def keep_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the cases alter the readings that the evidence has, in the place of made ones."""
    for module in pkgutil.iter_modules(node_cases.__path__, f"{node_cases.__name__}."):
        cases = importlib.import_module(module.name)
        if hasattr(cases, "add_node_power"):
            monkeypatch.setattr(cases, "add_node_power", lambda evidence, seed=3: None)
