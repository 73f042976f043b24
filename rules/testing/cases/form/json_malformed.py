"""Mutations that the rule `json-malformed` must find."""

from pathlib import Path

from rules.checks.form.json_malformed import RULE
from rules.testing.case import tampering


@tampering(RULE, reseal=True)
def cut_in_half(directory: Path) -> None:
    result = directory / "result.json"
    result.write_bytes(result.read_bytes()[:1000])


@tampering(RULE, reseal=True)
def begin_with_a_byte_order_mark(directory: Path) -> None:
    system = directory / "system.json"
    system.write_bytes(b"\xef\xbb\xbf" + system.read_bytes())


@tampering(RULE, reseal=True)
def write_latin_1(directory: Path) -> None:
    system = directory / "system.json"
    system.write_bytes(
        system.read_text().replace("Example Center", "Zentrum f\u00fcr Beispiele").encode("latin-1")
    )


@tampering(RULE, reseal=True)
def nest_deeply(directory: Path) -> None:
    (directory / "environment.json").write_text("[" * 100_000 + "]" * 100_000)
