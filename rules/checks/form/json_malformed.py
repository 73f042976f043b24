"""A JSON file cannot be parsed

## What it does
Asks that result.json, system.json, environment.json and MANIFEST.json are JSON texts in UTF-8:
complete, without a byte order mark, without bytes or escapes that are no characters, and not nested
beyond what a parser takes.

## Why it is bad
What cannot be parsed cannot be judged.

## What to do
The file was cut or edited. Restore it from where the run was made; do not repair it by hand, or the
manifest no longer holds.

## Source
RFC 8259 (JSON), sections 2 and 8.1.
"""

from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("S104", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering(reseal=True)
def cut_in_half(directory: Path) -> None:
    result = directory / "result.json"
    result.write_bytes(result.read_bytes()[:1000])


@RULE.tampering(reseal=True)
def begin_with_a_byte_order_mark(directory: Path) -> None:
    system = directory / "system.json"
    system.write_bytes(b"\xef\xbb\xbf" + system.read_bytes())


@RULE.tampering(reseal=True)
def write_latin_1(directory: Path) -> None:
    system = directory / "system.json"
    system.write_bytes(
        system.read_text().replace("Example Center", "Zentrum f\u00fcr Beispiele").encode("latin-1")
    )


@RULE.tampering(reseal=True)
def nest_deeply(directory: Path) -> None:
    (directory / "environment.json").write_text("[" * 100_000 + "]" * 100_000)
