"""The format or the protocol is unknown

## What it does
Checks that every JSON file states the format that belongs to its name, such as `wattmark-result/1`
for result.json, and that the result states a protocol version that this rule book knows. The rule
book version (`rules_version`) must be one that was released. These checks come before all other
checks of the content.

## Why it is bad
A version defines the meaning of the fields and the limits of the protocol. Judging one version by
the rules of another gives wrong verdicts without a warning.

## What to do
Update bench-check if the bundle is newer. Otherwise restore the file, because its content does not
match its name.

## Source
Bundle format, `docs/design.md` section 6.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import FORMAT_UNKNOWN

RULE = FormRule(__name__, FORMAT_UNKNOWN, Severity.ERROR)
