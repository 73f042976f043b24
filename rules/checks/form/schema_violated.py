"""A JSON file does not match the schema of its format

## What it does
Validates result.json, system.json, environment.json, MANIFEST.json, each line of events.jsonl.gz
and files of published figures against the JSON Schemas in `rules/bundle_format/schemas/`: no
required key is missing, no key is unknown except those that begin with `x-`, and every value has
its type and lies in its range. A number with a fraction is not an integer, not even 1.0. The rule
reports at most ten violations per file.

## Why it is bad
A rule cannot judge a text where it expects a number. An unknown key is most often misspelt.

## What to do
Let the harness write the file. For data that has no place in the format, use a key that begins with
`x-`.

## Source
JSON Schema, draft 2020-12.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import SCHEMA_VIOLATED

RULE = FormRule(__name__, SCHEMA_VIOLATED, Severity.ERROR)
