"""An audit as one JSON object, `wattmark-audit/1`."""

import json
from dataclasses import asdict
from typing import Any

from checker.audit.audit import Audit, JudgedRow
from checker.printable import printable_strings
from rules import VERSION
from rules.audit.grades import divide, grade_energy, grade_items

FORMAT = "wattmark-audit/1"


def render(audit: Audit) -> str:
    """The object as text, indented."""
    document = {
        "format": FORMAT,
        "rules_version": VERSION,
        "rows": [_convert(item) for item in audit.rows],
        "failures": [
            {"path": str(failure.path), "text": failure.text} for failure in audit.failures
        ],
    }
    return json.dumps(printable_strings(document), indent=1)


def _convert(item: JudgedRow) -> dict[str, Any]:
    row = item.row
    per_item = divide(row)
    values = asdict(row)
    values["checks"] = [
        {**asdict(check), "difference": check.difference, "agrees": check.agrees}
        for check in row.checks
    ]
    return {
        "path": str(item.path / row.place),
        "grade": item.grade,
        "energy_grade": grade_energy(row),
        "items_grade": grade_items(row),
        **values,
        "joules_per_item": asdict(per_item) if per_item else None,
        "findings": [asdict(finding) for finding in item.findings],
    }
