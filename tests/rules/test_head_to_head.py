"""What checkers of the MLPerf family have let through, each as a bundle that `bench-check` must
refuse.

The holes, as their own trackers tell them:

- results that a run itself calls invalid are counted, and the summary says that the submission
  looks OK: mlcommons/inference #1356 (5th point) and #1342;
- an empty directory passes: mlcommons/inference #473 (comments of October 2019), and a stray
  empty one ends the whole check with a traceback: #1307;
- the description of the system is not looked at by the checker of the package: mlcommons/logging
  #89;
- a power log with `nan` watts ends with an error followed by "All checks passed":
  mlcommons/power-dev #204.

That watts are believed as long as the hashes fit follows from what the power checker looks at
(checksums, clocks, messages and settings: the list in mlcommons/power-dev #240).
"""

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from conftest import Submissions, copy_evidence
from support.bundles import make_evidence, rederive

from checker.engine import judge
from rules.bundle_format.files import read_files
from rules.finding import Severity
from rules.testing.frames import EvidenceFrames, read_frames

REFERENCE = Path(__file__).parents[2] / "submissions" / "reference"
MEASURED = sorted(path.parent for path in REFERENCE.glob("*/*/result.json"))


@cache
def _read_measured(path: Path) -> EvidenceFrames:
    evidence, problems = read_frames(read_files(path))
    assert evidence is not None, f"{path}: {problems}"
    return evidence


def list_errors(path: Path) -> set[str]:
    return {f.rule for f in judge(path).findings if f.severity == Severity.ERROR}


def run_check(root: Path) -> tuple[int, dict[str, str], str]:
    """Exit code, status by run id and all that was printed, of the command over `root`."""
    process = subprocess.run(
        [sys.executable, "-m", "checker", "--format", "json", root],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stderr == ""
    return (
        process.returncode,
        {Path(b["path"]).name: b["status"] for b in json.loads(process.stdout)["bundles"]},
        process.stdout,
    )


def edit_result(directory: Path, original: str, replacement: str) -> None:
    text = (directory / "result.json").read_text()
    assert original in text
    (directory / "result.json").write_text(text.replace(original, replacement, 1))


def test_result_that_says_it_is_invalid(submissions: Submissions) -> None:
    directory = submissions.add()
    edit_result(directory, '"attempt"', '"valid": false, "attempt"')
    submissions.reseal(directory)
    assert list_errors(directory) == {"S107"}


def test_result_whose_samples_say_it_is_invalid(submissions: Submissions) -> None:
    evidence = copy_evidence()
    evidence.samples.loc[
        evidence.samples["read_ns"] > evidence.batches["start_ns"].median(), "slowdown"
    ] = float(0x20)
    assert list_errors(submissions.add(evidence)) == {"C106"}


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.name)
def test_halved_watts_with_every_hash_made_anew(path: Path, submissions: Submissions) -> None:
    """The center itself halves all power and energy of a measured run, computes every figure anew,
    seals and signs."""
    evidence = copy.deepcopy(_read_measured(path))
    columns = ["power_mw", "power_avg_mw", "energy_mj"]
    evidence.samples[columns] = (evidence.samples[columns] / 2).round()
    losses = {e["epoch"]: e for e in evidence.result["epochs"]}
    rederive(evidence)
    for epoch in evidence.result["epochs"]:
        epoch.update(
            {k: v for k, v in losses[epoch["epoch"]].items() if k not in epoch or k == "loss"}
        )
    findings = list_errors(submissions.add(evidence, system=path.parent.name))
    assert findings, "nobody noticed that half of the power is missing"
    assert not {rule for rule in findings if rule[0] in "SI"}, (
        "the hashes and signatures are good; physics has to tell"
    )


def test_empty_directory(tmp_path: Path) -> None:
    code, status, _ = run_check(tmp_path)
    assert (code, status) == (1, {tmp_path.name: "fail"})


def test_stray_empty_directories_do_not_end_the_check(submissions: Submissions) -> None:
    good_bundle = submissions.add()
    (good_bundle.parent / "empty").mkdir()
    (submissions.root / "nobody" / "nothing").mkdir(parents=True)
    assert run_check(submissions.root)[:2] == (0, {good_bundle.name: "pass"})


def test_missing_system_file(submissions: Submissions) -> None:
    directory = submissions.add()
    (directory / "system.json").unlink()
    assert "S101" in list_errors(directory)


@pytest.mark.parametrize(
    ("value", "rules"),
    [("NaN", {"S105"}), ("-7314.0", {"T102"}), ("1e15", {"T102"}), ("1e999", {"S105"})],
)
def test_throughput_that_cannot_be(value: str, rules: set[str], submissions: Submissions) -> None:
    directory = submissions.add()
    result = json.loads((directory / "result.json").read_text())
    for figure in ("items_per_s", "items_per_s_per_accelerator"):
        result["headline"][figure]["mean"] = f"<{figure}>"
    text = json.dumps(result)
    for figure in ("items_per_s", "items_per_s_per_accelerator"):
        text = text.replace(f'"<{figure}>"', value)
    (directory / "result.json").write_text(text)
    submissions.reseal(directory)
    assert rules <= list_errors(directory)


def test_quadrillion_items_a_second_with_batches_to_match(submissions: Submissions) -> None:
    evidence = copy_evidence()
    evidence.batches["items"] *= 10**11
    evidence.result["settings"]["batch_size"] *= 10**11
    rederive(evidence)
    assert evidence.result["headline"]["items_per_s"]["mean"] > 1e14
    assert "T104" in list_errors(submissions.add(evidence))


def _set(column: str, value: float) -> Callable[[EvidenceFrames], None]:
    def spoil(evidence: EvidenceFrames) -> None:
        evidence.samples.loc[evidence.samples.index[1500:1560], column] = value

    return spoil


@pytest.mark.parametrize("value", [-120_000.0, 65_535.0, 4_294_967_295.0, 0.0])
def test_garbage_watts(value: float, submissions: Submissions) -> None:
    evidence = copy_evidence()
    _set("power_mw", value)(evidence)
    rederive(evidence)
    assert list_errors(submissions.add(evidence))


def test_one_bad_bundle_in_a_round(submissions: Submissions) -> None:
    """It is named, the others are judged all the same, and nothing at the end says that all is
    well."""
    names = [f"run-number-{n}" for n in range(3)]
    for number, name in enumerate(names):
        evidence = make_evidence(seed=number)
        evidence.result.update(
            started_at=f"2026-01-0{number + 1}T00:00:00Z",
            ended_at=f"2026-01-0{number + 1}T00:07:00Z",
        )
        submissions.add(evidence, name, system=name)
    edit_result(submissions.root / "example" / names[1] / names[1], "{", "{{")
    assert run_check(submissions.root)[:2] == (
        1,
        {names[0]: "pass", names[1]: "fail", names[2]: "pass"},
    )
    process = subprocess.run(
        [sys.executable, "-m", "checker", submissions.root],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1 and "Traceback" not in process.stdout + process.stderr
    assert all(name in process.stdout for name in names)
    assert "1 fail" in process.stdout.splitlines()[-1]
