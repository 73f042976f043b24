"""Findings, verdicts and views made by hand, for tests of what bench-check prints."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from conftest import Submissions, fresh_evidence

from checker.cli import check
from checker.selection import RoundView
from checker.trust.records import Review
from checker.verdict import INTERNAL, Verdict
from rules.finding import Finding, Severity
from rules.registry import rules_by_id

EVIL = 'a\n::error::b%0A,c:d\x1b]0;title<x y="&">]]>\u202e\ud800'
"""Ends lines, starts commands, escapes, renames the terminal, closes elements, turns the direction
of text and is no text."""

REVIEW = Review("zoe@y", "accept", "Fits the board.", "2026-02-01T00:00:00Z")
WITHDRAWN = {
    "withdrawn": "a fan had failed",
    "withdrawn_by": "chair@y",
    "withdrawn_at": "2026-02-01T00:00:00Z",
}


def bench_check(*arguments: str | Path) -> Result:
    """Run `bench-check` in this process."""
    return CliRunner().invoke(check, [str(a) for a in arguments])


def render(view: RoundView, form: str) -> str:
    """The text of a format."""
    return str(import_module(f"checker.formats.{form}").render(view))


def finding(rule: str = "W103", **other: Any) -> Finding:
    """A finding of a rule, with other values where given."""
    severity = rules_by_id()[rule].severity if rule in rules_by_id() else Severity.ERROR
    of = {
        "file": "samples.csv.gz",
        "pointer": "rows 12-40",
        "found": "0 mW",
        "expected": "more",
        "message": "Look.",
    }
    return Finding(rule, severity, **{**of, **other})


def verdict(*findings: Finding, path: str = "center/system/run", **other: Any) -> Verdict:
    """A verdict on a signed bundle, with other values where given."""
    return Verdict(
        **{
            "path": Path(path),
            "standing": "closed",
            "signer": "center@x",
            "findings": findings,
            **other,
        }
    )


def view_of(*verdicts: Verdict, **other: Any) -> RoundView:
    """A view of these verdicts by the whole rule book, with other values where given."""
    return RoundView(**{"verdicts": verdicts, "selected": frozenset(rules_by_id()), **other})


def hostile() -> RoundView:
    """Strings from strangers everywhere that there are any."""
    evil = finding(file=EVIL, pointer=EVIL, found=EVIL, expected=EVIL, message=EVIL, waived=EVIL)
    internal = replace(evil, rule=INTERNAL, waived="")
    path, said = (
        EVIL.replace("\ud800", "\udc80"),
        {"signer": EVIL, "withdrawn": EVIL, "withdrawn_by": EVIL, "withdrawn_at": EVIL},
    )
    reviews = tuple(Review(EVIL, verdict, EVIL, EVIL) for verdict in ("accept", "reject"))
    judged = verdict(evil, internal, replace(evil, waived=""), path=path, reviews=reviews, **said)
    return view_of(judged, skipped=(Path(EVIL),), partial=(EVIL,), gone=(EVIL,))


def spoilt(submissions: Submissions) -> Path:
    """A bundle with two findings, one of them an error."""
    evidence = fresh_evidence()
    evidence.result["headline"]["joules_per_item"]["mean"] *= 0.9
    evidence.environment["git"]["dirty"] = True
    return submissions.add(evidence)
