"""A table does not have the rows of its format

## What it does
Checks that samples.csv.gz and batches.csv.gz have exactly the columns of the format in the order of
the format, one line per row, and a valid value in each cell: integers (times not negative), text in
text columns, and an empty cell if a reading lacks the quantity. `nan`, `inf` and fractions are
invalid. Row numbers count data rows from 1. The rule reports the first five offences.

## Why it is bad
Energy is integrated from these rows. A cell that a parser converts silently to another value
changes the result.

## What to do
Restore the file from the machine of the run. Record a failed reading as an empty cell with the
reason in `status`.

## Source
RFC 4180 (CSV), section 2; bundle format, `docs/design.md` section 6.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import TABLE_MALFORMED

RULE = FormRule(__name__, TABLE_MALFORMED, Severity.ERROR)
