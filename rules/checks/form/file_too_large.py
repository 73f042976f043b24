"""A file of the bundle is too large

## What it does
Checks that JSON files are smaller than 16 MiB with at most 500 000 values, compressed tables
smaller than 64 MiB, and decompressed tables smaller than 96 MiB with at most 500 000 rows (of a
study 192 MiB and 1 000 000 rows), lines of 256 KiB and texts of 4 096 characters. The decompressed
log is smaller than 64 MiB with at most 500 000 lines, and the events are smaller than 32 MiB with
at most 32 768 lines and 500 000 values. A directory `signatures` holds at most 64 files. The
checker compares sizes before it reads a file, and stops decompression at the limit.

## Why it is bad
Files of real runs are much smaller. A larger file is a mistake or an attempt to exhaust the memory
of the checker (a decompression bomb).

## What to do
Inspect the content of the file. If a real run needs more, open an issue: the rule book sets these
limits.

## Source
CWE-409, Improper Handling of Highly Compressed Data.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import FILE_TOO_LARGE

RULE = FormRule(__name__, FILE_TOO_LARGE, Severity.ERROR)
