"""The ReFrame test of examples/reframe/, run by the real `reframe` on simulated accelerators."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.console.blocks import list_blocks_of, match_lines

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("reframe") is None, reason="reframe-hpc is not installed"
    ),
    pytest.mark.xdist_group("reframe"),
]

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
SIMULATED = "--simulate h200 --epoch-seconds 0.1"
DEADLINE_S = 90
VARIATION = "0.3"
"""The tolerance of tests: runs of a second vary by some percent on a busy machine."""


PAGE = ROOT / "docs/regression.md"
PASSING, FAILING = (step for block in list_blocks_of(__file__, PAGE) for step in block.list_steps())
VARIABLE = re.compile(r"-S (\w+)=('[^']*'|\S+)")
PAGE_ARGUMENTS = [
    str(ROOT / word) if word.startswith("examples/") else word
    for word in shlex.split(VARIABLE.sub("", PASSING.command))[1:]
]
"""The arguments of ReFrame on the page, without its variables."""


def run_reframe(directory: Path, **variables: str) -> tuple[int, dict[str, Any], str]:
    """Run the test of one workload as the page does, with other variables. Returns the exit status
    of ReFrame, its record of the test, and its output."""
    command = [sys.executable, BIN / "reframe", *PAGE_ARGUMENTS, "--prefix", directory]
    command += ["--report-file", directory / "report.json"]
    for name, value in variables.items():
        command += ["-S", f"WattmarkRun.{name}={value}"]
    directory.mkdir(exist_ok=True)
    # ReFrame writes below HOME, and to the working directory.
    environment = {**os.environ, "HOME": str(directory), "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    output = done.stdout + done.stderr
    (session,) = json.loads((directory / "report.json").read_text())["runs"]
    (record,) = session["testcases"]
    return done.returncode, record, output


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, Any], Path]:
    """A run without references: ReFrame's exit status, its record, and the bundle that it keeps."""
    directory = tmp_path_factory.mktemp("reframe")
    status, record, output = run_reframe(directory, options=SIMULATED)
    assert status == 0, output
    (bundle,) = (directory / "output").rglob("bundles/*/")
    return status, record, bundle


def make_round(directory: Path, bundle: Path, figure: str = "items_per_s", factor: float = 1.0):
    """A round with one run, whose mean of a figure is changed by a factor."""
    shutil.copytree(bundle, directory / "run")
    path = directory / "run/result.json"
    result = json.loads(path.read_text())
    result["headline"][figure]["mean"] *= factor
    path.write_text(json.dumps(result))
    return str(directory)


def read_figures(record: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """For each performance variable: value, reference, both tolerances, unit and result."""
    return {name.rpartition(":")[2]: tuple(row) for name, row in record["perfvalues"].items()}


def test_figures_are_those_of_the_bundle(first_run) -> None:
    _, record, bundle = first_run
    headline = json.loads((bundle / "result.json").read_text())["headline"]
    figures = read_figures(record)
    assert record["result"] == "pass"
    assert {name: (row[0], row[4]) for name, row in figures.items()} == {
        "items_per_s": (headline["items_per_s"]["mean"], "items/s"),
        "joules_per_item": (headline["joules_per_item"]["mean"], "J/item"),
    }
    assert {row[1] for row in figures.values()} == {0}, "without a round there is no reference"


def test_run_that_meets_the_references_of_a_round_passes(first_run, tmp_path: Path) -> None:
    _, _, bundle = first_run
    status, record, output = run_reframe(
        tmp_path,
        options=SIMULATED,
        round=make_round(tmp_path / "round", bundle),
        tolerance=VARIATION,
    )
    headline = json.loads((bundle / "result.json").read_text())["headline"]
    figures = read_figures(record)
    assert status == 0 and record["result"] == "pass", output
    assert PASSING.lines and match_lines(PASSING.lines, output.splitlines()), output
    assert figures["items_per_s"][1:4] == (headline["items_per_s"]["mean"], -0.3, None)
    assert figures["joules_per_item"][1:4] == (headline["joules_per_item"]["mean"], None, 0.3)


@pytest.mark.parametrize(("figure", "factor"), [("items_per_s", 2.0), ("joules_per_item", 0.4)])
def test_run_that_misses_a_reference_fails_in_the_performance_stage(
    first_run, tmp_path: Path, figure: str, factor: float
) -> None:
    _, _, bundle = first_run
    status, record, output = run_reframe(
        tmp_path,
        options=SIMULATED,
        round=make_round(tmp_path / "round", bundle, figure, factor),
        tolerance=VARIATION,
    )
    assert status == 1 and record["fail_phase"] == "performance", output
    assert f"failed to meet reference(s): {figure}=" in record["fail_reason"]


def test_round_without_a_run_like_this_one_fails_and_says_why(first_run, tmp_path: Path) -> None:
    _, _, bundle = first_run
    status, record, output = run_reframe(
        tmp_path,
        options=f"{SIMULATED} --cap 500",
        round=make_round(tmp_path / "round", bundle),
    )
    assert status == 1 and record["fail_phase"] == "performance", output
    assert "none of its 1 runs is like this one" in record["fail_reason"]
    assert "cap 500.0" in record["fail_reason"]


def test_bundle_that_does_not_pass_the_check_fails_in_the_sanity_stage(tmp_path: Path) -> None:
    variables = {name: value.strip("'") for name, value in VARIABLE.findall(FAILING.command)}
    status, record, output = run_reframe(tmp_path, options=variables["options"])
    assert status == 1 and record["fail_phase"] == "sanity", output
    assert "bench-check finds errors: C106" in record["fail_reason"]
    assert FAILING.lines and match_lines(FAILING.lines, output.splitlines()), output


def test_run_that_leaves_no_bundle_fails_in_the_sanity_stage(tmp_path: Path) -> None:
    status, record, output = run_reframe(tmp_path, options="--simulate no-such-board")
    assert status == 1 and record["fail_phase"] == "sanity", output
    reason = record["fail_reason"]
    assert re.search("no bundle: Error: .*no-such-board", reason), reason


def test_round_that_is_not_there_fails_before_the_run(tmp_path: Path) -> None:
    status, record, output = run_reframe(tmp_path, options=SIMULATED, round="/none/h200")
    assert status == 1 and record["fail_phase"] == "setup", output
    assert "round /none/h200: no bundle there" in record["fail_reason"]
    assert not list(tmp_path.rglob("bundles"))
