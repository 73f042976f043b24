"""For code scanning: SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format)."""

import json
import os
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from checker.selection import Shown, fingerprint, place, printable, printable_strings, relative
from checker.verdict import INTERNAL, Verdict
from rules import VERSION
from rules.finding import Finding
from rules.registry import rules_by_id
from rules.rule import FAMILIES, Rule

_ROWS = re.compile(r"rows? (\d+)(?:-(\d+))?")
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def render(what: Shown) -> str:
    """One run: the whole rule book, and a result for each finding. Paths are relative to the
    working directory."""
    ids = list(rules_by_id())
    found = [(v, f) for v in what.verdicts for f in v.findings]
    run = {
        "tool": {
            "driver": {
                "name": "bench-check",
                "version": version("wattmark"),
                "semanticVersion": VERSION,
                "rules": [_of_rule(rule) for rule in rules_by_id().values()],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not what.broken,
                "toolExecutionNotifications": [
                    _notification(v, f) for v, f in found if f.rule == INTERNAL
                ],
            }
        ],
        "originalUriBaseIds": {
            "SRCROOT": {"description": {"text": "The directory in which bench-check was called."}}
        },
        "results": [
            _of_finding(what, v, f, ids.index(f.rule)) for v, f in found if f.rule != INTERNAL
        ],
        "properties": printable_strings(
            {
                "partial": what.partial,
                "gone": what.gone,
                "skipped": [str(path) for path in what.skipped],
                "bundles": [{"path": str(v.path), "status": what.status(v)} for v in what.verdicts],
            }
        ),
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _of_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": _section(rule, "What it does")},
        "help": {"text": rule.page, "markdown": f"# {rule.page}"},
        "helpUri": f"urn:wattmark:rule:{rule.id}",
        "defaultConfiguration": {"level": rule.severity},
        "properties": {
            "tags": [FAMILIES[rule.id[0]]],
            "added": rule.added,
            "standings": list(rule.standings),
        },
    }


def _section(rule: Rule, name: str) -> str:
    _, _, after = rule.page.partition(f"## {name}\n")
    return " ".join(after.partition("\n## ")[0].split()) or rule.title


def _of_finding(what: Shown, verdict: Verdict, finding: Finding, index: int) -> dict[str, Any]:
    result = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {
            "text": printable(
                f"found: {finding.found}; expected: {finding.expected}. {finding.message}"
            )
        },
        "locations": [_location(verdict, finding)],
        "partialFingerprints": {"wattmark/v1": fingerprint(verdict, finding)},
    }
    if any(option.startswith("--baseline") for option in what.partial):
        result["baselineState"] = "unchanged" if what.is_known(verdict, finding) else "new"
    lifted = [f"waived by {finding.waived}"] if finding.waived else []
    lifted += (
        [f"the bundle was withdrawn: {verdict.withdrawn}"]
        if verdict.withdrawn and not verdict.fails_by(finding)
        else []
    )
    lifted += ["known by the baseline"] if what.is_known(verdict, finding) else []
    if lifted:
        result["suppressions"] = [
            {"kind": "external", "justification": printable(why)} for why in lifted
        ]
    return result


def _location(verdict: Verdict, finding: Finding) -> dict[str, Any]:
    path = place(verdict, finding)
    below = relative(path)
    uri = Path(path).absolute().as_uri() if below is None else quote(os.fsencode(below), safe="/")
    artifact = {"uri": uri} if below is None else {"uri": uri, "uriBaseId": "SRCROOT"}
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact}}
    if rows := _ROWS.fullmatch(finding.pointer):
        # Rows of data are counted from 1 and the first line of a table is its header.
        first, last = int(rows[1]) + 1, int(rows[2] or rows[1]) + 1
        location["physicalLocation"]["region"] = {"startLine": first, "endLine": last}
    elif finding.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": printable(finding.pointer)}]
    return location


def _notification(verdict: Verdict, finding: Finding) -> dict[str, Any]:
    text = printable(f"{finding.message} {finding.found}")
    return {"level": "error", "message": {"text": text}, "locations": [_location(verdict, finding)]}
