"""The format or the protocol is unknown

## What it does
Asks that every JSON file names the format that belongs to its name, such as `wattmark-result/1` for
result.json, and that the result names a protocol version that this rule book knows. This is asked
before anything else about the content. A rule book (`rules_version`) that is none of those released
so far is unknown too.

## Why it is bad
A version fixes what the fields mean and which numbers the protocol asks for. Judging one version by
the rules of another gives a wrong answer without a warning.

## What to do
Update bench-check if the bundle is newer. Otherwise the file is not what its name says.

## Source
Bundle format, `docs/design.md` section 6.
"""

from pathlib import Path

from rules import VERSION
from rules.rule import Rule, Severity

RULE = Rule("S106", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering(reseal=True)
def name_a_later_format(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace("wattmark-result/1", "wattmark-result/99"))


@RULE.tampering(reseal=True)
def name_a_later_rule_book(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(
        result.read_text().replace(f'"rules_version": "{VERSION}"', '"rules_version": "99.0.0"')
    )


@RULE.tampering(reseal=True)
def name_a_later_protocol(directory: Path) -> None:
    result = directory / "result.json"
    result.write_text(result.read_text().replace('"protocol": "1.0"', '"protocol": "99.0"'))
