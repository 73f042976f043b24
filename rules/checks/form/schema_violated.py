"""A JSON file does not have the shape of its format

## What it does
Validates result.json, system.json, environment.json, MANIFEST.json and files of published figures
against the JSON Schemas in `rules/bundle_format/schemas/`: no key missing, none unknown except
those that begin with `x-`, every value of its type and in its range. A number with a fraction is no
integer, not even 1.0. Ten violations a file are shown.

## Why it is bad
A rule that expects a number and meets a text would judge nothing. An unknown key is most often a
misspelt one.

## What to do
Let the harness write the file. For what has no place in the format, use a key that begins with
`x-`.

## Source
JSON Schema, draft 2020-12.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import SCHEMA_VIOLATED

RULE = FormRule(__name__, SCHEMA_VIOLATED, Severity.ERROR)
