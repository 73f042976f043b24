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

import gzip
from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("S103", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering(reseal=True)
def unpack_to_a_lot(directory: Path) -> None:
    with gzip.open(directory / "log.txt.gz", "wb", compresslevel=1) as log:
        for _ in range(65):
            log.write(bytes(2**20))


@RULE.tampering(reseal=True)
def pad_the_result(directory: Path) -> None:
    with (directory / "result.json").open("a") as result:
        result.write(" " * 2**24)
