"""A JSON file can be read in more than one way

## What it does
Asks that no object has a key twice, that NaN and Infinity do not stand for numbers, that whole
numbers fit into 64 bits and others into a double.

## Why it is bad
One program takes the first of two keys, another the last; one rounds a number, another refuses it.
What a reviewer sees and what the checker judges would not be the same.

## What to do
Write each key once and each number in range. The harness never writes anything else, so the file
was edited.

## Source
RFC 8259 (JSON), sections 4 and 6; RFC 7493 (I-JSON), sections 2.2 and 2.3.
"""

from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("S105", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering(reseal=True)
def state_a_key_twice(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"attempt": 1,', '"attempt": 2, "attempt": 1,'))


@RULE.tampering(reseal=True)
def write_nan(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"seed": 1,', '"seed": NaN,'))


@RULE.tampering(reseal=True)
def exceed_a_double(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"seed": 1,', '"seed": 1e999,'))


@RULE.tampering(reseal=True)
def exceed_64_bits(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"seed": 1,', f'"seed": {"9" * 5000},'))
