"""`bench-report compare A B` on committed runs: text, JSON and exit codes."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from support.committed_runs import SUBMISSIONS

from reporting.rounds.command import compare

H200 = SUBMISSIONS / "reference/h200"
FIRST, SECOND = sorted(H200.glob("*-resnet50-train-tuned-*"))[:2]
(BASELINE,) = H200.glob("*-resnet50-train-baseline-*")
(OTHER_WORKLOAD,) = H200.glob("*-vitl16-train-baseline-*")
(TWO_BOARDS,) = SUBMISSIONS.glob("reference/h200x2/*-resnet50-train-*")
CONTROL = min(H200.glob("*-burn-*"))
(REPRODUCTION,) = SUBMISSIONS.glob("reproduction/h200/*-resnet50-train-*")


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two systems: the first one has runs of two workloads, the second one of one of them."""
    root = tmp_path_factory.mktemp("systems")
    shutil.copytree(SUBMISSIONS / "keyring", root / "keyring")
    for run in (FIRST, SECOND, OTHER_WORKLOAD, REPRODUCTION):
        shutil.copytree(run, root / run.relative_to(SUBMISSIONS))
    return root / "reference/h200", root / "reproduction/h200"


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(compare, [str(argument) for argument in arguments])


def read_json(*arguments: str | Path) -> Any:
    result = invoke(*arguments, "--json")
    return json.loads(result.stdout)


def test_repeats_of_a_setting_are_not_told_apart() -> None:
    result = invoke(FIRST, SECOND, "--fail-if-slower", "1%")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[:2] == [f"A  {FIRST}", f"B  {SECOND}"]
    assert lines[3].startswith("not told apart: ResNet-50 training, H200 SXM")
    assert lines[4].startswith(
        "  throughput 7\u202f444 \u2192 7\u202f465 images/s per accelerator, "
    )
    for line in lines[4:6]:
        assert line.endswith(", not told apart")
    assert lines[-1] == "1 setting: 1 not told apart"


def test_other_settings_of_one_workload_name_what_differs() -> None:
    result = invoke(BASELINE, FIRST)
    assert "better: ResNet-50 training" in result.output
    assert (
        "variant: baseline \u2192 tuned; precision: tf32 \u2192 bf16; batch size: 512 \u2192"
        in (result.output)
    )


def test_same_bundle_is_unchanged() -> None:
    document = read_json(FIRST, FIRST)
    assert document["counts"] == {"unchanged": 1}


def test_two_systems_are_compared_by_equal_work(systems: tuple[Path, Path]) -> None:
    document = read_json(*systems)
    assert document["counts"] == {"gone": 1, "not told apart": 1}
    lost, compared = document["settings"]
    assert (lost["workload"], lost["center"]) == ("vitl16-train", "reference")
    assert len(compared["earlier_runs"]) == 2 and len(compared["later_runs"]) == 1
    assert (compared["workload"], compared["center"]) == ("resnet50-train", "reproduction")
    # A setting without a result in B fails too.
    assert invoke(*systems, "--fail-if-slower", "2%").exit_code == 1


def test_headings_of_settings_that_differ_in_batch_size_have_it() -> None:
    h100, h200 = (SUBMISSIONS / "reference" / name for name in ("h100", "h200"))
    lines = invoke(h100, h200).output.splitlines()
    headings = [
        line for line in lines if line.startswith(("better: ResNet-50", "worse: ResNet-50"))
    ]
    sizes = [re.findall(r"· batch (\d+), closed", line) for line in headings]
    assert sorted(sizes) == [["1024"], ["256"], ["512"]]
    # Another workload with this variant and batch size is named by its workload.
    assert not [line for line in lines if "(2)" in line and "older recipe" not in line]


@pytest.mark.parametrize(
    ("earlier", "later", "exit_code"),
    [
        (FIRST, BASELINE, 1),
        (BASELINE, FIRST, 0),
        (FIRST, SECOND, 0),
        (FIRST, FIRST, 0),
    ],
)
def test_exit_code_tells_slower_settings(earlier: Path, later: Path, exit_code: int) -> None:
    assert invoke(earlier, later, "--fail-if-slower", "2%").exit_code == exit_code


def test_json_has_differences_with_intervals() -> None:
    document = read_json(FIRST, BASELINE, "--fail-if-slower", "50")
    assert document["format"] == "wattmark-compare/1" and document["slower"] == 1
    assert document["earlier"] == {"name": str(FIRST)}
    (setting,) = document["settings"]
    rate = setting["items_per_s_per_accelerator"]
    low, high = rate["percent_ci95"]
    assert low < rate["percent"] < high < 0
    assert rate["percent"] == pytest.approx(
        100 * (rate["later"]["mean"] / rate["earlier"]["mean"] - 1)
    )
    assert (setting["change"], setting["slower"], rate["difference"]) == ("worse", True, "lower")
    assert setting["earlier_runs"] == [FIRST.name]
    assert not read_json(FIRST, BASELINE, "--fail-if-slower", "80%")["slower"]


@pytest.mark.parametrize(
    ("earlier", "later", "message"),
    [
        (FIRST, OTHER_WORKLOAD, "have no setting in common"),
        (FIRST.parent.parent / "h200x4", TWO_BOARDS, "have no setting in common"),
        (FIRST, CONTROL, f"{CONTROL}: no closed, open or demo run there passes the check"),
        (FIRST, SUBMISSIONS / "keyring", "keyring: no bundle and no published figures found"),
    ],
)
def test_nothing_to_compare_is_an_error(earlier: Path, later: Path, message: str) -> None:
    result = invoke(earlier, later)
    assert result.exit_code == 1
    assert result.output.startswith("Error: ") and message in result.output


def test_failed_bundle_is_named_and_fails(tmp_path: Path) -> None:
    (tmp_path / "center/system/run").mkdir(parents=True)
    (tmp_path / "center/system/run/result.json").write_text("{}")
    result = invoke(FIRST, tmp_path, "--local")
    assert result.exit_code == 1
    assert "no closed, open or demo run there passes the check" in result.output


def test_program_has_the_command_and_no_colours_in_a_pipe() -> None:
    command = [sys.executable, "-m", "reporting", "compare", str(FIRST), str(BASELINE)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert finished.stdout.startswith("A  ") and "worse: ResNet-50" in finished.stdout
    assert "\x1b" not in finished.stdout
