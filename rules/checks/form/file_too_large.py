"""A file of the bundle is too large

## What it does
Asks that JSON files stay below 16 MiB, packed tables below 64 MiB, unpacked ones below 256 MiB and
four million rows, and the unpacked log below 64 MiB. Sizes are looked at before a file is read, and
unpacking stops at the limit.

## Why it is bad
Real runs stay far below. A file beyond is a mistake or an attempt to exhaust the checker's memory
(a gzip bomb).

## What to do
Look at what is in the file. If a real run needs more, open an issue: the limits are the rule book's
to change.

## Source
CWE-409, Improper Handling of Highly Compressed Data.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import FILE_TOO_LARGE

RULE = FormRule(__name__, FILE_TOO_LARGE, Severity.ERROR)
