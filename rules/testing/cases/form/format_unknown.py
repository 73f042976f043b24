"""Mutations that the rule `format-unknown` must find."""

import re
from pathlib import Path

from rules import VERSION
from rules.checks.form.format_unknown import RULE
from rules.testing.case import tampering


@tampering(RULE, reseal=True)
def name_a_later_format(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace("wattmark-result/1", "wattmark-result/99"))


@tampering(RULE, reseal=True)
def name_a_later_rule_book(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(
        result.read_text().replace(f'"rules_version": "{VERSION}"', '"rules_version": "99.0.0"')
    )


@tampering(RULE, reseal=True)
def name_a_later_protocol(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(re.sub(r'"protocol": "[^"]*"', '"protocol": "99.0"', result.read_text()))
