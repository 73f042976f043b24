"""For people: the findings grouped by bundle, then one line that sums up."""

from collections.abc import Iterator
from itertools import groupby

import click

from checker.selection import Shown, printable, summary, withdrawal
from checker.terminal import COLOURS
from checker.verdict import Verdict
from rules.finding import Finding, Severity

_STATUS_COLOURS = {"pass": "green", "fail": "red", "withdrawn": "magenta", "partial": "yellow"}
_PLACES = 3
"""How many further places of a repeated finding are named."""


def render(what: Shown) -> str:
    """The text; severities are styled, which click strips where the output is no terminal."""
    told: set[tuple[str, ...]] = set()
    lines = [line for verdict in what.verdicts for line in _of_bundle(what, verdict, told)]
    if what.skipped:
        lines.append(
            "not judged, because hidden (unfinished runs): "
            f"{', '.join(printable(str(p)) for p in what.skipped)}"
        )
    lines += [f"in the baseline, but no longer found: {printable(line)}" for line in what.gone]
    if what.partial:
        lines.append(
            f"partial: with {', '.join(map(printable, what.partial))} this is no judgement "
            "by the rule book"
        )
    worst = "red" if any(what.status(v) == "fail" for v in what.verdicts) else None
    return "\n".join([*lines, click.style(printable(summary(what)), fg=worst)])


def _of_bundle(what: Shown, verdict: Verdict, told: set[tuple[str, ...]]) -> Iterator[str]:
    """The lines on one bundle; `told` is what was said of others, word by word, and is not said
    again."""
    status = what.status(verdict)
    styled = click.style(status, fg=_STATUS_COLOURS[status], bold=True)
    yield f"{printable(str(verdict.path))}: {styled} ({printable(', '.join(_who(verdict)))})"
    if verdict.withdrawn:
        yield f"  {printable(withdrawal(verdict))}"
    worst_first = sorted(verdict.findings, key=lambda f: list(Severity).index(f.severity))
    for _, alike in groupby(
        worst_first, lambda f: (f.rule, f.file, f.message, f.waived, what.is_known(verdict, f))
    ):
        yield from _of_findings(what, verdict, told, *alike)
    if verdict.rules_not_run:
        yield f"  {verdict.rules_not_run} rules were not asked, because the evidence cannot be read"


def _who(verdict: Verdict) -> Iterator[str]:
    yield verdict.standing or "standing unknown"
    if verdict.standing in ("closed", "open", "demo", None):
        yield f"signed by {verdict.signer}" if verdict.signer else "no good signature"
    if verdict.reviewers:
        yield f"reviewed by {', '.join(verdict.reviewers)}"
    if verdict.rejecters:
        yield f"rejected by {', '.join(verdict.rejecters)}"
    if verdict.accepted:
        yield f"accepted under rule book {verdict.accepted}"


def _of_findings(
    what: Shown, verdict: Verdict, told: set[tuple[str, ...]], finding: Finding, *others: Finding
) -> Iterator[str]:
    """One finding whole, and of others of the kind, in the same file, only where and what."""
    severity = click.style(finding.severity, fg=COLOURS[finding.severity])
    known = "known " if what.is_known(verdict, finding) else ""
    at = " ".join(filter(None, (finding.file, finding.pointer)))
    waived = f" (waived by {printable(finding.waived)})" if finding.waived else ""
    words = (finding.rule, finding.found, finding.expected, finding.message)
    again = ": as above" if words in told else ""
    yield f"  {known}{severity} {finding.rule}{' ' if at else ''}{printable(at)}{waived}{again}"
    if not again:
        told.add(words)
        yield f"    found: {printable(finding.found)}"
        yield f"    expected: {printable(finding.expected)}"
        yield f"    {printable(finding.message)}"
    for other in others[:_PLACES]:
        yield f"    also {printable(other.pointer or 'there')}: {printable(other.found)}"
    if len(others) > _PLACES:
        yield f"    and {len(others) - _PLACES} more of the kind"
