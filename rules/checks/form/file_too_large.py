"""A file of the bundle is too large

## What it does
Checks that JSON files are smaller than 16 MiB, compressed tables smaller than 64 MiB, decompressed
tables smaller than 256 MiB with at most four million rows, and the decompressed log smaller than 64
MiB. The checker compares the size before it reads a file, and stops decompression at the limit.

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
