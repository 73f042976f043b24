"""A JSON file cannot be parsed

## What it does
Checks that result.json, system.json, environment.json, MANIFEST.json and each line of
events.jsonl.gz are complete JSON texts in UTF-8, without a byte order mark, without invalid bytes
or escapes, and not nested more deeply than the parser allows.

## Why it is bad
The checker cannot judge a file that it cannot parse.

## What to do
Restore the file from the machine of the run, because it was truncated or edited. Do not repair it
by hand: the manifest would no longer match.

## Source
RFC 8259 (JSON), sections 2 and 8.1.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import JSON_MALFORMED

RULE = FormRule(__name__, JSON_MALFORMED, Severity.ERROR)
