"""For code scanning: SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format)."""

import json
import os
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from checker.baseline import compute_fingerprint
from checker.formats.common import format_file_path, is_lifted_by_withdrawal, relative_to_cwd
from checker.printable import printable, printable_strings
from checker.selection import RoundView
from checker.verdict import INTERNAL, Verdict
from rules import VERSION
from rules.finding import Finding
from rules.registry import rules_by_id
from rules.rule import FAMILIES, Rule

_ROWS = re.compile(r"rows? (\d+)(?:-(\d+))?")
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def render(view: RoundView) -> str:
    """One run with the whole rule book, and a result for each finding. Paths are relative to the
    working directory."""
    ids = list(rules_by_id())
    listed = view.listing.verdicts
    findings = [(v, f) for v in listed for f in v.findings]
    run = {
        "tool": {
            "driver": {
                "name": "bench-check",
                "version": version("wattmark"),
                "semanticVersion": VERSION,
                "rules": [_convert_rule(rule) for rule in rules_by_id().values()],
            }
        },
        "invocations": [
            {
                # A failure of the checker is a notification and no result: it says nothing about
                # the bundle.
                "executionSuccessful": not view.broken,
                "toolExecutionNotifications": [
                    _build_notification(v, f) for v, f in findings if f.rule == INTERNAL
                ],
            }
        ],
        "originalUriBaseIds": {
            "SRCROOT": {"description": {"text": "The directory in which bench-check was run."}}
        },
        "results": [
            _convert_finding(view, v, f, ids.index(f.rule))
            for v, f in findings
            if f.rule != INTERNAL
        ],
        "properties": printable_strings(
            {
                "partial": view.partial,
                "gone": view.gone,
                "skipped": [str(path) for path in view.skipped],
                "bundles": [{"path": str(v.path), "status": view.status(v)} for v in listed],
                "unlisted": view.listing.describe_rest(),
            }
        ),
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _convert_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": _read_section(rule, "What it does")},
        "help": {"text": rule.page, "markdown": f"# {rule.page}"},
        "helpUri": f"urn:wattmark:rule:{rule.id}",
        "defaultConfiguration": {"level": rule.severity},
        "properties": {
            "tags": [FAMILIES[rule.id[0]]],
            "added": rule.added,
            "standings": list(rule.standings),
        },
    }


def _read_section(rule: Rule, name: str) -> str:
    _, _, after = rule.page.partition(f"## {name}\n")
    return " ".join(after.partition("\n## ")[0].split()) or rule.title


def _convert_finding(
    view: RoundView, verdict: Verdict, finding: Finding, index: int
) -> dict[str, Any]:
    result = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {
            "text": printable(
                f"found: {finding.found}; expected: {finding.expected}. {finding.message}"
            )
        },
        "locations": [_build_location(verdict, finding)],
        "partialFingerprints": {"wattmark/v1": compute_fingerprint(verdict, finding)},
    }
    # Without a baseline SARIF leaves out `baselineState`: nothing was compared.
    if any(option.startswith("--baseline") for option in view.partial):
        result["baselineState"] = "unchanged" if view.is_known(verdict, finding) else "new"
    reasons = [f"waived by {finding.waived}"] if finding.waived else []
    if is_lifted_by_withdrawal(verdict, finding):
        reasons.append(f"the bundle was withdrawn: {verdict.withdrawn}")
    if view.is_known(verdict, finding):
        reasons.append("in the baseline")
    if reasons:
        result["suppressions"] = [
            {"kind": "external", "justification": printable(reason)} for reason in reasons
        ]
    return result


def _build_location(verdict: Verdict, finding: Finding) -> dict[str, Any]:
    path = format_file_path(verdict, finding)
    relative = relative_to_cwd(path)
    uri = (
        Path(path).absolute().as_uri()
        if relative is None
        # `fsencode` also takes names that are not UTF-8.
        else quote(os.fsencode(relative), safe="/")
    )
    artifact = {"uri": uri} if relative is None else {"uri": uri, "uriBaseId": "SRCROOT"}
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact}}
    if rows := _ROWS.fullmatch(finding.pointer):
        # Data rows count from 1, and line 1 of a table is its header.
        first, last = int(rows[1]) + 1, int(rows[2] or rows[1]) + 1
        location["physicalLocation"]["region"] = {"startLine": first, "endLine": last}
    elif finding.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": printable(finding.pointer)}]
    return location


def _build_notification(verdict: Verdict, finding: Finding) -> dict[str, Any]:
    text = printable(f"{finding.message} {finding.found}")
    return {
        "level": "error",
        "message": {"text": text},
        "locations": [_build_location(verdict, finding)],
    }
