"""For people: the findings by bundle, and a summary line."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

import click

from checker.formats.common import format_skipped, format_summary, format_withdrawal
from checker.printable import printable
from checker.selection import RoundView
from checker.terminal import SEVERITY_COLOURS
from checker.verdict import Reproduction, Verdict
from rules.finding import Finding, Severity, format_count
from rules.registry import rules_by_id
from rules.rule import BUNDLE_STANDINGS

_STATUS_COLOURS = {"pass": "green", "fail": "red", "withdrawn": "magenta", "partial": "yellow"}
_MAX_PLACES = 3
"""How many further places of a repeated finding are listed."""
_Text = tuple[str, str, str, str]
"""Rule, found, expected and message of a finding."""


def render(view: RoundView) -> str:
    """The text, styled. click removes the styles if the output is no terminal."""
    printed: set[_Text] = set()
    listing = view.listing
    lines = (
        []
        if view.is_quiet
        else [
            line for verdict in listing.verdicts for line in _format_bundle(view, verdict, printed)
        ]
    )
    if rest := listing.describe_rest():
        lines.append(f"… and {rest}")
    if view.skipped:
        lines.append(printable(format_skipped(view.skipped)))
    lines += [f"in the baseline, but no longer found: {printable(line)}" for line in view.gone]
    if view.partial:
        options = ", ".join(map(printable, view.partial))
        lines.append(f"partial: with {options} this is no judgement by the whole rule book")
    lines += _summarize_by_rule(view)
    # Withdrawn and partial checks are no failures.
    colour = "red" if any(view.status(v) == "fail" for v in view.verdicts) else None
    return "\n".join([*lines, click.style(printable(format_summary(view)), fg=colour)])


def _summarize_by_rule(view: RoundView) -> Iterator[str]:
    """A line for each rule with findings, the worst first; none where only one bundle has any."""
    counts: Counter[tuple[int, str]] = Counter()
    places: dict[tuple[int, str], set[str]] = {}
    for verdict in view.verdicts:
        for finding in verdict.findings:
            key = list(Severity).index(finding.severity), finding.rule
            counts[key] += 1
            places.setdefault(key, set()).add(str(verdict.path))
    if len(set().union(*places.values())) < 2 and not view.is_quiet:
        return
    book = rules_by_id()
    for key, count in sorted(counts.items()):
        severity, rule = list(Severity)[key[0]], key[1]
        styled = click.style(f"{severity:<7}", fg=SEVERITY_COLOURS[severity])
        title = f": {book[rule].title}" if rule in book else ""
        yield f"{styled} {rule}  {count} in {format_count(len(places[key]), 'bundle')}{title}"


def _format_bundle(view: RoundView, verdict: Verdict, printed: set[_Text]) -> Iterator[str]:
    """The lines on one bundle. The text of a finding in `printed` is not repeated."""
    status = view.status(verdict)
    styled = click.style(status, fg=_STATUS_COLOURS[status], bold=True)
    people = printable(", ".join(_describe_standing(verdict)))
    yield f"{printable(str(verdict.path))}: {styled} ({people})"
    if verdict.withdrawn:
        yield f"  {printable(format_withdrawal(verdict))}"
    yield from map(printable, _describe_reproductions(verdict))
    # A stable sort: findings of one severity stay in the order of the rules, as `groupby` needs.
    worst_first = sorted(verdict.findings, key=lambda f: list(Severity).index(f.severity))
    for _, similar in groupby(
        worst_first, lambda f: (f.rule, f.file, f.message, f.waived, view.is_known(verdict, f))
    ):
        yield from _format_findings(view, verdict, printed, *similar)
    if verdict.rules_not_run:
        yield f"  {verdict.rules_not_run} rules were not run, because the evidence cannot be read"


def _describe_standing(verdict: Verdict) -> Iterator[str]:
    yield verdict.standing or "standing unknown"
    if verdict.judged_standing not in (verdict.standing, None):
        yield f"judged as {verdict.judged_standing}"
    # Published figures and files of the round have no submitter's signature.
    if verdict.standing in (*BUNDLE_STANDINGS, None):
        if verdict.is_local:
            yield verdict.trust_level
        else:
            yield f"signed by {verdict.signer}" if verdict.signer else "no good signature"
    if verdict.reviewers:
        yield f"reviewed by {', '.join(verdict.reviewers)}"
    if verdict.rejecters:
        yield f"rejected by {', '.join(verdict.rejecters)}"
    if verdict.accepted:
        yield f"accepted under rule book {verdict.accepted}"


def _describe_reproductions(verdict: Verdict) -> Iterator[str]:
    """The lines on the reproductions of a bundle, and on the bundle as a reproduction."""
    count = len(verdict.reproducers)
    successes = [item for item in verdict.reproductions if item.agrees]
    if successes:
        differences = "; ".join(
            f"{_describe_difference(item)} ({item.principal}{_describe_ties(item)})"
            for item in successes
        )
        yield f"  reproduced by {count} center{'' if count == 1 else 's'}: {differences}"
    for item in verdict.reproductions:
        if not item.agrees:
            yield f"  not reproduced by {item.principal}: {_describe_difference(item)}"
    if verdict.reproduces:
        outcome = "reproduces" if verdict.reproduces.agrees else "does not reproduce"
        yield (
            f"  {outcome} {verdict.reproduces.original}: {_describe_difference(verdict.reproduces)}"
        )


def _describe_ties(reproduction: Reproduction) -> str:
    shared = " and ".join(reproduction.shared)
    return f", a site that shares {shared}" if shared else ""


def _describe_difference(reproduction: Reproduction) -> str:
    energy_percent = reproduction.joules_per_item_percent
    energy = "" if energy_percent is None else f", {energy_percent:+.1f} % J/item"
    return f"{reproduction.items_per_s_percent:+.1f} % items/s{energy}"


def _format_findings(
    view: RoundView, verdict: Verdict, printed: set[_Text], finding: Finding, *others: Finding
) -> Iterator[str]:
    """One finding in full; of similar ones in the same file only the places and what was found."""
    severity = click.style(finding.severity, fg=SEVERITY_COLOURS[finding.severity])
    known = "known " if view.is_known(verdict, finding) else ""
    place = printable(" ".join(filter(None, (finding.file, finding.pointer))))
    waived = f" (waived by {printable(finding.waived)})" if finding.waived else ""
    text = (finding.rule, finding.found, finding.expected, finding.message)
    repeated = ": as above" if text in printed else ""
    yield f"  {known}{severity} {finding.rule}{' ' if place else ''}{place}{waived}{repeated}"
    if not repeated:
        printed.add(text)
        yield f"    found: {printable(finding.found)}"
        yield f"    expected: {printable(finding.expected)}"
        yield f"    {printable(finding.message)}"
    places = {(finding.pointer, finding.found)}
    for other in others[:_MAX_PLACES]:
        line = f"    also {printable(other.pointer or 'there')}: {printable(other.found)}"
        # Without what is expected, the line would repeat an earlier one.
        if (other.pointer, other.found) in places:
            line += f"; expected: {printable(other.expected)}"
        places.add((other.pointer, other.found))
        yield line
    if len(others) > _MAX_PLACES:
        yield f"    and {len(others) - _MAX_PLACES} more findings of this rule"
