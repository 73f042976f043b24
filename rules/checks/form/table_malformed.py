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

import gzip
from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("S109", Severity.ERROR)
RULE.check(RULE.problems)


def _edit(table: Path, old: bytes, new: bytes) -> None:
    text = gzip.decompress(table.read_bytes())
    table.write_bytes(gzip.compress(text.replace(old, new, 1), mtime=0))


def _edit_last_cell(table: Path, new: bytes) -> None:
    text = gzip.decompress(table.read_bytes()).rstrip(b"\n").rpartition(b",")[0]
    table.write_bytes(gzip.compress(text + b"," + new + b"\n", mtime=0))


@RULE.tampering(reseal=True)
def rename_a_column(directory: Path) -> None:
    _edit(directory / "samples.csv.gz", b"power_mw", b"power_w")


@RULE.tampering(reseal=True)
def drop_a_cell(directory: Path) -> None:
    _edit(directory / "samples.csv.gz", b",ok\n", b"\n")


@RULE.tampering(reseal=True)
def add_a_cell(directory: Path) -> None:
    _edit(directory / "samples.csv.gz", b",ok\n", b",ok,\n")


@RULE.tampering(reseal=True)
def write_text_for_a_number(directory: Path) -> None:
    _edit_last_cell(directory / "batches.csv.gz", b"many")


@RULE.tampering(reseal=True)
def write_a_fraction(directory: Path) -> None:
    _edit_last_cell(directory / "batches.csv.gz", b"1024.5")


@RULE.tampering(reseal=True)
def write_nan(directory: Path) -> None:
    _edit_last_cell(directory / "batches.csv.gz", b"nan")


@RULE.tampering(reseal=True)
def write_not_available(directory: Path) -> None:
    _edit(directory / "samples.csv.gz", b",3201,", b",N/A,")
