"""Old bundles stay judged by the rule book under which they were accepted.

Each directory of golden/ holds bundles that the harness of that version of the rule book made
(simulated, standing `demo`), good and spoilt, with the verdicts that its own checker gave on them
in `verdicts.json`. The key that signed them is gone.
"""

import json
import shutil
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from checker.engine import judge_all
from checker.trust.acceptance_log import ACCEPTED, START, LogEntry, append_entries
from checker.verdict import Verdict
from rules import VERSION
from rules.finding import Severity
from rules.registry import rules_by_id

GOLDEN = Path(__file__).parent / "golden"
CASES = [
    (version.name, run.name)
    for version in sorted(GOLDEN.iterdir())
    for run in (version / "submissions/golden/h200").iterdir()
]
LATER = "counter-jumps"
"""What no rule book before 1.3.0 noticed: the counter jumps (E108)."""
FIRST_WITH_RULE = [1, 3, 0]
"""The first rule book that has E108."""


@cache
def read_golden_verdicts(version: str) -> dict:
    return json.loads((GOLDEN / version / "verdicts.json").read_text())


def judge_golden(tmp_path: Path, version: str, run: str, accepted: str | None) -> Verdict:
    """Today's verdict on a golden bundle, in a tree whose LOG says under which version it was
    accepted, if it was."""
    submissions = tmp_path / "submissions"
    shutil.copytree(GOLDEN / version / "submissions" / "keyring", submissions / "keyring")
    place = f"golden/h200/{run}"
    shutil.copytree(GOLDEN / version / "submissions" / place, submissions / place)
    if accepted:
        manifest = sha256((submissions / place / "MANIFEST.json").read_bytes()).hexdigest()
        ended_at = json.loads((submissions / place / "result.json").read_text())["ended_at"]
        entry = LogEntry(ended_at, ACCEPTED, place, manifest, accepted)
        append_entries(submissions, START, [entry])
    return next(v for v in judge_all([submissions]).verdicts if v.path == submissions / place)


def format_stored(verdict: Verdict, of_version: str) -> dict:
    """The verdict in the form of `verdicts.json`, with the findings of the rules that the book of
    that version had."""
    rules = rules_by_id()
    return {
        "status": verdict.status,
        "standing": verdict.standing,
        "signer": verdict.signer,
        "findings": [
            {
                "rule": f.rule,
                "severity": f.severity,
                "file": f.file,
                "pointer": f.pointer,
                "found": f.found,
            }
            for f in verdict.findings
            if parse_version(rules[f.rule].added) <= parse_version(of_version)
        ],
    }


def parse_version(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_there_are_bundles_of_every_past_version() -> None:
    minor = int(VERSION.split(".")[1])
    assert {v for v, _ in CASES} == {f"1.{n}.0" for n in range(minor)}
    assert all(
        {r.removeprefix(f"{v}-") for w, r in CASES if w == v} == set(read_golden_verdicts(v))
        for v, _ in CASES
    )
    assert {b["status"] for v, _ in CASES for b in read_golden_verdicts(v).values()} == {
        "pass",
        "fail",
    }


@pytest.mark.parametrize(("version", "run"), CASES)
def test_an_accepted_bundle_has_the_verdict_that_it_had(
    version: str, run: str, tmp_path: Path
) -> None:
    verdict = judge_golden(tmp_path, version, run, accepted=version)
    assert (
        format_stored(verdict, version)
        == read_golden_verdicts(version)[run.removeprefix(f"{version}-")]
    )
    later = [
        f
        for f in verdict.findings
        if parse_version(rules_by_id()[f.rule].added) > parse_version(version)
    ]
    assert {f.severity for f in later} <= {Severity.NOTE}
    assert ("E108" in {f.rule for f in later}) == (
        run.endswith(LATER) and parse_version(version) < FIRST_WITH_RULE
    )


@pytest.mark.parametrize(
    "version", sorted({version for version, _ in CASES if parse_version(version) < FIRST_WITH_RULE})
)
def test_a_bundle_that_nobody_accepted_is_judged_by_the_book_of_today(
    version: str, tmp_path: Path
) -> None:
    assert read_golden_verdicts(version)[LATER]["status"] == "pass"
    verdict = judge_golden(tmp_path, version, f"{version}-{LATER}", accepted=None)
    assert json.loads((verdict.path / "result.json").read_text())["rules_version"] == version
    assert verdict.status == "fail"
    assert "E108" in {f.rule for f in verdict.findings if f.severity == Severity.ERROR}
