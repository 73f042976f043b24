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

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import FORMAT_UNKNOWN

RULE = FormRule(__name__, FORMAT_UNKNOWN, Severity.ERROR)
