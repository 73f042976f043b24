"""Mutations that the rule `json-ambiguous` must find."""

from pathlib import Path

from rules.checks.form.json_ambiguous import RULE
from rules.testing.case import tampering


@tampering(RULE, reseal=True)
def state_a_key_twice(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"attempt": 1,', '"attempt": 2, "attempt": 1,'))


@tampering(RULE, reseal=True)
def write_nan(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"seed": 1,', '"seed": NaN,'))


@tampering(RULE, reseal=True)
def exceed_a_double(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"seed": 1,', '"seed": 1e999,'))


@tampering(RULE, reseal=True)
def exceed_64_bits(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"seed": 1,', f'"seed": {"9" * 5000},'))
