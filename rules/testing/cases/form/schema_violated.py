"""Mutations that the rule `schema-violated` must find."""

import json
from pathlib import Path

from rules.checks.form.schema_violated import RULE
from rules.testing.case import tampering


@tampering(RULE, reseal=True)
def leave_a_key_out(directory: Path) -> None:
    system = directory / "system.json"
    document = json.loads(system.read_text())
    del document["cooling"]
    system.write_text(json.dumps(document))


@tampering(RULE, reseal=True)
def add_an_unknown_key(directory: Path) -> None:
    system = directory / "system.json"
    document = json.loads(system.read_text())
    system.write_text(json.dumps({**document, "coolness": "high"}))


@tampering(RULE, reseal=True)
def write_text_for_a_number(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"attempt": 1,', '"attempt": "1",'))


@tampering(RULE, reseal=True)
def write_a_fraction_for_an_integer(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"attempt": 1,', '"attempt": 1.0,'))
