"""A JSON file can be read in more than one way

## What it does
Asks that no object has a key twice, that NaN and Infinity do not stand for numbers, that whole
numbers fit into 64 bits and others into a double.

## Why it is bad
One program takes the first of two keys, another the last; one rounds a number, another refuses it.
What a reviewer sees and what the checker judges would not be the same.

## What to do
Write each key once and each number in range. The harness never writes anything else, so the file
was edited.

## Source
RFC 8259 (JSON), sections 4 and 6; RFC 7493 (I-JSON), sections 2.2 and 2.3.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import JSON_AMBIGUOUS

RULE = FormRule(__name__, JSON_AMBIGUOUS, Severity.ERROR)
