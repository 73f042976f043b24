"""A table does not have the rows of its format

## What it does
Asks that samples.csv.gz and batches.csv.gz have exactly the columns of the format in their order,
one line for each row, and in each cell what belongs there: whole numbers (times not negative), text
where text belongs, nothing at all where a reading has no such quantity. `nan`, `inf` and fractions
are refused. Data rows are counted from 1; the first five offences are shown.

## Why it is bad
Energy is integrated from these rows. A cell that a parser quietly turns into something else changes
the result.

## What to do
Restore the file from where the run was made. A failed reading is an empty cell with a reason in
`status`.

## Source
RFC 4180 (CSV), section 2; bundle format, `docs/design.md` section 6.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import TABLE_MALFORMED

RULE = FormRule(__name__, TABLE_MALFORMED, Severity.ERROR)
