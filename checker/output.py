"""Shows verdicts, as text for people and as JSON for programs."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import click

from checker.engine import Round, Verdict
from rules import VERSION
from rules.rule import Finding, Severity

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def as_text(judged: Round) -> str:
    """The findings grouped by bundle, then one line that sums up. Severities are styled; click strips that in pipes."""
    lines = [line for verdict in judged.verdicts for line in _of_bundle(verdict)]
    if judged.skipped:
        names = ", ".join(printable(str(path)) for path in judged.skipped)
        lines.append(f"not judged, because hidden (unfinished runs): {names}")
    return "\n".join([*lines, _summary(judged.verdicts)])


def as_json(judged: Round) -> str:
    """One object: `rules_version`, `skipped` paths, and `bundles` with their findings."""
    bundles = [
        {
            "path": str(v.path),
            "standing": v.standing,
            "signer": v.signer,
            "status": v.status,
            "rules_not_run": v.rules_not_run,
            "findings": [asdict(f) for f in v.findings],
        }
        for v in judged.verdicts
    ]
    whole = {"rules_version": VERSION, "bundles": bundles, "skipped": [str(path) for path in judged.skipped]}
    return json.dumps(_printable_strings(whole), indent=1)


def printable(text: str) -> str:
    """`text` without anything that could steer a terminal or is no text: names and values come from strangers."""
    return "".join(c if c.isprintable() else c.encode("unicode-escape").decode() for c in text)


def _of_bundle(verdict: Verdict) -> Iterator[str]:
    standing = verdict.standing or "standing unknown"
    signer = f"signed by {verdict.signer}" if verdict.signer else "no good signature"
    who = standing if standing == "published" else f"{standing}, {signer}"
    colour = "red" if verdict.status == "fail" else "green"
    yield f"{printable(str(verdict.path))}: {click.style(verdict.status, fg=colour, bold=True)} ({printable(who)})"
    for finding in verdict.findings:
        yield from _of_finding(finding)
    if verdict.rules_not_run:
        yield f"  {verdict.rules_not_run} rules were not asked, because the evidence cannot be read"


def _of_finding(finding: Finding) -> Iterator[str]:
    severity = click.style(finding.severity, fg=_COLOURS[finding.severity])
    place = " ".join(filter(None, (finding.file, finding.pointer)))
    yield f"  {severity} {finding.rule}{' ' if place else ''}{printable(place)}"
    yield f"    found: {printable(finding.found)}"
    yield f"    expected: {printable(finding.expected)}"
    yield f"    {printable(finding.message)}"


def _summary(verdicts: Iterable[Verdict]) -> str:
    status = Counter(v.status for v in verdicts)
    severity = Counter(f.severity for v in verdicts for f in v.findings)
    findings = ", ".join(f"{severity[s]} {s}{'' if severity[s] == 1 else 's'}" for s in Severity)
    return f"{status.total()} judged: {status['pass']} pass, {status['fail']} fail; {findings}"


def _printable_strings(value: Any) -> Any:
    match value:
        case str():
            return printable(value)
        case list():
            return [_printable_strings(v) for v in value]
        case dict():
            return {k: _printable_strings(v) for k, v in value.items()}
    return value
