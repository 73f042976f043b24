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

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import JSON_MALFORMED

RULE = FormRule(__name__, JSON_MALFORMED, Severity.ERROR)
