"""A JSON file does not have the shape of its format

## What it does
Validates result.json, system.json, environment.json, MANIFEST.json and files of published figures
against the JSON Schemas in `rules/schemas/`: no key missing, none unknown except those that begin
with `x-`, every value of its type and in its range. A number with a fraction is no integer, not
even 1.0. Ten violations a file are shown.

## Why it is bad
A rule that expects a number and meets a text would judge nothing. An unknown key is most often a
misspelt one.

## What to do
Let the harness write the file. For what has no place in the format, use a key that begins with
`x-`.

## Source
JSON Schema, draft 2020-12.
"""

import json
from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("S107", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering(reseal=True)
def leave_a_key_out(directory: Path) -> None:
    system = directory / "system.json"
    document = json.loads(system.read_text())
    del document["cooling"]
    system.write_text(json.dumps(document))


@RULE.tampering(reseal=True)
def add_an_unknown_key(directory: Path) -> None:
    system = directory / "system.json"
    document = json.loads(system.read_text())
    system.write_text(json.dumps({**document, "coolness": "high"}))


@RULE.tampering(reseal=True)
def write_text_for_a_number(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"attempt": 1,', '"attempt": "1",'))


@RULE.tampering(reseal=True)
def write_a_fraction_for_an_integer(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"attempt": 1,', '"attempt": 1.0,'))
