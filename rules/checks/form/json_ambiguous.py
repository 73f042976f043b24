"""A JSON file can be read in more than one way

## What it does
Checks that no object has a duplicate key, that no number is NaN or Infinity, that integers fit into
64 bits, and that other numbers fit into a double.

## Why it is bad
Of two equal keys, some programs use the first and others the last. Some programs round a large
number and others refuse it. A reviewer and the checker could then read different values.

## What to do
Write each key once and each number in range. The harness never writes such a file, so it was
edited.

## Source
RFC 8259 (JSON), sections 4 and 6; RFC 7493 (I-JSON), sections 2.2 and 2.3.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import JSON_AMBIGUOUS

RULE = FormRule(__name__, JSON_AMBIGUOUS, Severity.ERROR)
