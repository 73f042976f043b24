"""Findings, verdicts and views for the tests of the output of bench-check."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from conftest import Submissions, copy_evidence

from checker.cli import check
from checker.selection import RoundView
from checker.trust.records import Review
from checker.verdict import INTERNAL, Verdict
from rules.finding import Finding, Severity
from rules.registry import rules_by_id

EVIL = 'a\n::error::b%0A,c:d\x1b]0;title<x y="&">]]>\u202e\u115f\u3164\ufe0f\ud800'
"""Text that ends lines, starts workflow commands, holds escape sequences, closes elements, reverses
the direction of text, has letters without a shape and cannot be encoded."""

REVIEW = Review("zoe@y", "accept", "Fits the board.", "2026-02-01T00:00:00Z")
WITHDRAWN = {
    "withdrawn": "a fan had failed",
    "withdrawn_by": "chair@y",
    "withdrawn_at": "2026-02-01T00:00:00Z",
}


def run_bench_check(*arguments: str | Path) -> Result:
    """Run `bench-check` in this process."""
    return CliRunner().invoke(check, [str(a) for a in arguments])


def render(view: RoundView, form: str) -> str:
    """The text of a format."""
    return str(import_module(f"checker.formats.{form}").render(view))


def make_finding(rule: str = "W103", **fields: Any) -> Finding:
    """A finding of a rule; `fields` replace its values."""
    severity = rules_by_id()[rule].severity if rule in rules_by_id() else Severity.ERROR
    values = {
        "file": "samples.csv.gz",
        "pointer": "rows 12-40",
        "found": "0 mW",
        "expected": "more",
        "message": "Look.",
    }
    return Finding(rule, severity, **{**values, **fields})


def make_verdict(*findings: Finding, path: str = "center/system/run", **fields: Any) -> Verdict:
    """A verdict on a signed bundle; `fields` replace its values."""
    return Verdict(
        **{
            "path": Path(path),
            "standing": "closed",
            "signer": "center@x",
            "findings": findings,
            **fields,
        }
    )


def make_view(*verdicts: Verdict, **fields: Any) -> RoundView:
    """A view of these verdicts by the whole rule book; `fields` replace its values."""
    return RoundView(**{"verdicts": verdicts, "selected": frozenset(rules_by_id()), **fields})


def make_hostile_view() -> RoundView:
    """A view with `EVIL` in every text that a bundle or a record controls."""
    evil = make_finding(
        file=EVIL, pointer=EVIL, found=EVIL, expected=EVIL, message=EVIL, waived=EVIL
    )
    internal = replace(evil, rule=INTERNAL, waived="")
    path = EVIL.replace("\ud800", "\udc80")
    texts = {"signer": EVIL, "withdrawn": EVIL, "withdrawn_by": EVIL, "withdrawn_at": EVIL}
    reviews = tuple(Review(EVIL, verdict, EVIL, EVIL) for verdict in ("accept", "reject"))
    hostile_verdict = make_verdict(
        evil, internal, replace(evil, waived=""), path=path, reviews=reviews, **texts
    )
    return make_view(hostile_verdict, skipped=(Path(EVIL),), partial=(EVIL,), gone=(EVIL,))


def add_altered_bundle(submissions: Submissions) -> Path:
    """A bundle with two findings, one of them an error."""
    evidence = copy_evidence()
    evidence.result["headline"]["joules_per_item"]["mean"] *= 0.9
    evidence.environment["git"]["dirty"] = True
    return submissions.add(evidence)
