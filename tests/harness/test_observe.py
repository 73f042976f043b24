"""`bench-submit observe`: from a power log and a declaration to a checked and reported bundle, and
what it refuses."""

import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import PRINCIPAL, Submissions, sign
from support.console.blocks import DOCS, list_blocks_of
from support.rounds.verdicts import run_bench_check

from checker.engine import judge
from harness.cli import main
from harness.slurm.accounting import SlurmAccountingError, parse_window
from reporting.collect import collect
from reporting.page import build_page
from rules.bundle_format.documents import read_document

START = datetime(2025, 3, 4, 10, 0, tzinfo=UTC)
WINDOW_S, MARGIN_S, STEP_S = 1800, 120, 2
POWER_W = 7000.0
MAP = """interval = "mean-before"
[time]
column = "time"
format = "iso"
[power]
column = "power"
unit = "W"
"""
DECLARATION = """[job]
what = "Training <b>of</b> a model"
start = 2025-03-04T11:00:00+01:00
end = 2025-03-04T10:30:00Z
items = 900000
item = "image"
items_source = "train.log"

[node]
system = "node with eight boards"
accelerator = "NVIDIA H100 80GB HBM3"
accelerators = 8
rated_w = 10200

[meter]
model = "a PDU"
"""


def write_log(directory: Path, column: str = "power", zone: str = "Z") -> Path:
    """A log of 1 000 W beside the job, and of 7 000 W with a minute of 9 000 W in it."""
    lines = [f"time,{column}"]
    for second in range(-MARGIN_S, WINDOW_S + MARGIN_S + 1, STEP_S):
        is_busy = 0 < second <= WINDOW_S
        power_w = 1000.0 if not is_busy else 9000.0 if 600 < second <= 660 else POWER_W
        # Energy stays exact: the alternation is zero in the mean over two readings.
        power_w += 5 if second // STEP_S % 2 else -5
        moment = (START + timedelta(seconds=second)).replace(tzinfo=None)
        lines.append(f"{moment.isoformat()}{zone},{power_w}")
    path = directory / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    (directory / "map.toml").write_text(MAP)
    return path


def observe(directory: Path, *options: str, declaration: str = DECLARATION) -> Result:
    job = directory / "job.toml"
    job.write_text(declaration)
    log, log_map = directory / "log.csv", directory / "map.toml"
    arguments = [str(log), "--map", str(log_map), "--job", str(job), "-o", str(directory / "out")]
    return CliRunner().invoke(main, ["observe", *arguments, *options])


def change(old: str, new: str) -> str:
    assert old in DECLARATION
    return DECLARATION.replace(old, new)


def test_log_and_declaration_become_a_bundle_that_passes_and_is_reported_apart(
    submissions: Submissions, tmp_path: Path
) -> None:
    write_log(tmp_path)
    out = submissions.root / PRINCIPAL.split("@")[0] / "h100"
    result = observe(tmp_path, "-o", str(out))
    assert "\n  highest mean of 60 s 9000.0 W\n" in result.output, result.output
    directory = Path(result.output.splitlines()[0])
    assert re.fullmatch(
        r"20250304T100000Z-observed-training-b-of-b-a-model-[0-9a-f]{6}", directory.name
    )
    energy_j = WINDOW_S * POWER_W + 60 * 2000.0
    figures = json.loads((directory / "observation.json").read_text())["figures"]
    assert figures["seconds"] == WINDOW_S
    assert figures["energy_j"] == pytest.approx(energy_j, rel=1e-6)
    assert figures["mean_w"] == pytest.approx(energy_j / WINDOW_S, rel=1e-6)
    assert figures["max_60s_w"] == pytest.approx(9000, rel=1e-3)
    assert figures["joules_per_item"] == pytest.approx(energy_j / 900_000, rel=1e-6)
    assert judge(directory).status == "fail", "it is not signed"
    sign(directory, submissions.key, PRINCIPAL)
    verdict = judge(directory)
    assert (verdict.standing, verdict.status, verdict.findings) == ("observed", "pass", ())
    output = run_bench_check("--format", "json", directory).output
    read_document("verdict.json", output.encode(), "wattmark-verdict/1")
    submissions.add()
    page = build_page(collect([submissions.root], submissions.keyring), tmp_path / "report.html")
    table = page.find("observed")
    assert table is not None
    (row,) = table.rows
    assert row["what"] == "Training <b>of</b> a model" and row["standing"] == "observed"
    assert row["kwh"] == pytest.approx(energy_j / 3.6e6)
    rack = page.find("rack")
    assert rack is not None
    plans = {r["by"]: r["nodes"] for r in rack.rows if r["standing"] == "observed"}
    assert plans == {"rating": 5, "max": 5, "p99": 5, "mean": 7}
    others = [t for t in page.tables if t.id not in ("observed", "rack", "whole-nodes")]
    assert not [t.id for t in others if any(r.get("standing") == "observed" for r in t.rows)]


def test_commands_and_declaration_of_the_guide_observe_26_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = DOCS / "node-power.md"
    (block,) = list_blocks_of(__file__, page)
    section = page.read_text().partition("## Jobs that wattmark did not run")[2]
    (tmp_path / "job.toml").write_text(section.partition("```toml\n")[2].partition("```")[0])
    (tmp_path / "map.toml").write_text(MAP)
    begin = datetime(2026, 11, 5, 9, 10, tzinfo=UTC)
    moments = (begin + timedelta(seconds=second) for second in range(0, 26 * 3600 + 1, 60))
    lines = [f"{moment.isoformat()},{7600 + place % 7}" for place, moment in enumerate(moments)]
    (tmp_path / "power.csv").write_text("\n".join(["time,power", *lines]) + "\n")
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(block.text)
    result = CliRunner().invoke(main, arguments)
    assert (program, result.exit_code) == ("bench-submit", 0), result.output
    assert "over 93600 s, energy 197.6" in result.output
    assert result.output.startswith("submissions/CENTER/SYSTEM/20261105T091000Z-observed-")


def test_jobs_without_items_and_nodes_of_a_pair_are_observed(tmp_path: Path) -> None:
    write_log(tmp_path)
    declaration = re.sub("items? = .*\n|items_source = .*\n", "", DECLARATION)
    declaration = declaration.replace("rated_w = 10200", "rated_w = 5100\ncount = 2")
    result = observe(tmp_path, declaration=declaration)
    assert result.exit_code == 0, result.output
    assert "as declared" not in result.output
    directory = Path(result.output.splitlines()[0])
    document = json.loads((directory / "observation.json").read_text())
    assert document["figures"]["joules_per_item"] is None
    page = build_page(collect([directory], local=True), tmp_path / "report.html")
    nodes = page.find("whole-nodes")
    assert nodes is not None
    (row,) = [r for r in nodes.rows if r["standing"] == "observed"]
    assert row["mean_w"] == pytest.approx(document["figures"]["mean_w"] / 2)
    assert row["max_w"] is None, "the highest power of two nodes together is that of neither"


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (change("items = 900000", "items = -5"), "job.items: found -5, expected exclusiveMinimum"),
        (change("items = 900000", "items = 0"), "job.items: found 0"),
        (change('item = "image"\n', ""), "job.item is missing"),
        (
            change("+01:00", ""),
            "job.start is 2025-03-04 11:00:00, expected a time with a",
        ),
        (change("10:30:00Z", "09:30:00Z"), "expected a time after job.start"),
        (change("10:30:00Z", "15:30:00Z"), "the job ran from 2025-03-04T10:00:00.000Z to"),
        (change("what =", "wath ="), "job.wath is unknown"),
        (change("[meter]", "[metre]"), "the table [meter] is missing"),
        (change('model = "a PDU"', ""), "meter: found"),
        (change("accelerators = 8", 'accelerators = "8"'), "node.accelerators: found '8'"),
        (change("[job]", "[job"), "no valid TOML"),
        (change("[job]", "[job]\nslurm_job = 12"), "leave out job.start and job.end"),
    ],
)
def test_declarations_that_cannot_be_used_are_refused(
    tmp_path: Path, declaration: str, message: str
) -> None:
    write_log(tmp_path)
    result = observe(tmp_path, declaration=declaration)
    assert result.exit_code == 1 and message in result.output
    assert "job.toml" in result.output or "log.csv" in result.output
    assert not (tmp_path / "out").exists()


def test_logs_of_another_column_zone_or_time_are_refused(tmp_path: Path) -> None:
    write_log(tmp_path, column="watts")
    result = observe(tmp_path)
    assert result.exit_code == 1 and "log.csv" in result.output and "'power'" in result.output
    write_log(tmp_path, zone="")
    result = observe(tmp_path)
    assert result.exit_code == 1 and "--time-zone" in result.output
    result = observe(tmp_path, "--time-zone", "Europe/Berlin")
    assert result.exit_code == 1
    assert "the log has readings from 2025-03-04T08:58:00.000Z" in result.output
    assert "check --time-zone" in result.output
    assert observe(tmp_path, "--time-zone", "UTC").exit_code == 0


def test_power_above_the_rating_fails(tmp_path: Path) -> None:
    write_log(tmp_path)
    result = observe(tmp_path, declaration=change("10200", "8000"))
    assert result.exit_code == 1
    assert "O102: found 9005.0 W over 1 s, expected at most 8000 W, the rating" in result.output


def test_a_bundle_is_never_overwritten(tmp_path: Path) -> None:
    write_log(tmp_path)
    assert observe(tmp_path).exit_code == 0
    result = observe(tmp_path)
    assert result.exit_code == 3 and "Traceback" not in result.output


def test_accounting_of_slurm_gives_the_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_log(tmp_path)
    seconds = int(START.timestamp())
    sacct = tmp_path / "bin" / "sacct"
    sacct.parent.mkdir()
    # It prints seconds since 1970 only if it is told to.
    sacct.write_text(f'#!/bin/sh\necho "4711|{seconds}|{seconds + WINDOW_S}"\n')
    sacct.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sacct.parent}:/usr/bin:/bin")
    window = re.compile("start = .*\nend = .*\n")
    result = observe(tmp_path, declaration=window.sub("slurm_job = 4711\n", DECLARATION))
    assert result.exit_code == 0, result.output
    document = json.loads((Path(result.output.splitlines()[0]) / "observation.json").read_text())
    assert document["job"]["slurm_job"] == "4711"
    assert (document["started_at"], document["ended_at"]) == (
        "2025-03-04T10:00:00Z",
        "2025-03-04T10:30:00Z",
    )
    result = observe(tmp_path, declaration=window.sub("slurm_job = 4712\n", DECLARATION))
    assert result.exit_code == 1 and "sacct does not know the job 4712" in result.output


@pytest.mark.parametrize(
    "output", ["", "7|1741082400|Unknown\n", "7|1741082400|1741082400\n", "8|1|2\n", "7|a|b|c"]
)
def test_jobs_that_have_not_ended_have_no_window(output: str) -> None:
    with pytest.raises(SlurmAccountingError):
        parse_window("7", output)
    with pytest.raises(SlurmAccountingError, match="the jobs 7, 8; declare"):
        parse_window("7", "7|1741082400|1741082460\n8|1741082400|1741082460\n")
    assert parse_window("7", "7|1741082400|1741082460\n")[1] - timedelta(seconds=60) == datetime(
        2025, 3, 4, 10, 0, tzinfo=UTC
    )


def write_rows(directory: Path, header: str, row: Callable[[int], str], step_s: int = 10) -> None:
    """A log of the job with a row at each time in s since its start."""
    seconds = range(-2 * step_s, WINDOW_S + 2 * step_s + 1, step_s)
    (directory / "log.csv").write_text("\n".join([header, *map(row, seconds)]) + "\n")


def observe_known(directory: Path, *options: str, declaration: str = DECLARATION) -> Result:
    """Observe a job by a log whose format is known."""
    (directory / "job.toml").write_text(declaration)
    files = [str(path) for path in sorted(directory.glob("*.csv"))]
    job = ["--job", str(directory / "job.toml"), "-o", str(directory / "out")]
    return CliRunner().invoke(main, ["observe", *files, *job, *options])


def make_profile_row(step: str, node: str) -> Callable[[int], str]:
    return lambda s: f"{step},{node},{s + 60},{int(START.timestamp()) + s},{7000 + s % 7}"


PROFILE = "Step,Node,ElapsedTime,EpochTime,Power"


@pytest.mark.parametrize(
    ("header", "row", "part"),
    [
        (
            "timestamp, index, power.draw [W]",
            lambda s: f"{START + timedelta(seconds=s):%Y/%m/%d %H:%M:%S}.000, 0, {600 + s % 7} W",
            "accelerators",
        ),
        (
            "",
            lambda s: f"{s + 60}.0,{2000 + s % 7},Joules,power/energy-pkg/,100,100.0,,",
            "processors",
        ),
        (
            "Step,Node,ElapsedTime,EpochTime,GPU0Power",
            make_profile_row("0", "n1"),
            "accelerators",
        ),
    ],
)
def test_logs_of_parts_of_a_node_are_refused(
    tmp_path: Path, header: str, row: Callable[[int], str], part: str
) -> None:
    write_rows(tmp_path, header, row)
    option = ["--start", "2025-03-04T09:59:00Z"] if not header else ["--time-zone", "UTC"]
    result = observe_known(tmp_path, *([] if "Step" in header else option))
    assert result.exit_code == 1 and f"has the power of {part}, and not" in result.output


def test_nodes_of_a_profile_are_those_that_are_declared_and_each_counts_once(
    tmp_path: Path,
) -> None:
    first, second = make_profile_row("0", "n1"), make_profile_row("0", "n2")
    write_rows(tmp_path, PROFILE, lambda s: f"{first(s)}\n{second(s)}")
    result = observe_known(tmp_path)
    assert "node.count: found 1, but" in result.output and "of 2 (n1, n2)" in result.output
    pair = DECLARATION.replace("rated_w", "count = 2\nrated_w")
    result = observe_known(tmp_path, declaration=pair)
    assert result.exit_code == 0 and "mean power 1400" in result.output, result.output
    batch = make_profile_row("batch", "n1")
    write_rows(tmp_path, PROFILE, lambda s: f"{first(s)}\n{batch(s)}")
    assert "several steps of a node read the same meter" in observe_known(tmp_path).output
    write_rows(tmp_path, PROFILE, first)
    (tmp_path / "again.csv").write_text((tmp_path / "log.csv").read_text())
    result = observe_known(tmp_path, declaration=pair)
    assert "several logs have readings of the node n1" in result.output


def test_readings_that_are_minutes_apart_show_no_peak(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(MAP)
    write_rows(
        tmp_path,
        "time,power",
        lambda s: f"{(START + timedelta(seconds=s)).isoformat()},{7000 + s % 7}",
        step_s=300,
    )
    result = observe(tmp_path)
    assert result.exit_code == 0, result.output
    assert "highest mean of 60 s unknown: more than 60 s" in result.output
    directory = Path(result.output.splitlines()[0])
    figures = json.loads((directory / "observation.json").read_text())["figures"]
    assert figures["max_60s_w"] is None and figures["p99_60s_w"] is None
    page = build_page(collect([directory], local=True), tmp_path / "report.html")
    rack = page.find("rack")
    assert rack is not None
    assert {r["by"] for r in rack.rows if r["standing"] == "observed"} == {"rating", "mean"}


def test_supplies_of_a_redfish_report_add_up(tmp_path: Path) -> None:
    place = "/redfish/v1/Chassis/1/PowerSubsystem/PowerSupplies/{}/Metrics#/InputPowerWatts"

    def row(second: int) -> str:
        time = (START + timedelta(seconds=second)).isoformat()
        values = [
            {"MetricProperty": place.format(n), "MetricValue": "3500", "Timestamp": time}
            for n in (1, 2)
        ]
        return json.dumps({"MetricValues": values})

    write_rows(tmp_path, "", row)
    result = observe_known(tmp_path)
    assert result.exit_code == 0 and "mean power 7000.0 W" in result.output, result.output


def test_file_whose_name_cannot_be_recorded_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path).rename(tmp_path / "a\nlog.csv")
    (tmp_path / "job.toml").write_text(DECLARATION)
    result = observe_known(tmp_path, "--map", str(tmp_path / "map.toml"))
    assert result.exit_code == 1 and "no printable name" in result.output
