"""A file of the bundle is a link or a device

## What it does
Asks that every file of a bundle is a regular file, that `signatures` and the bundle itself are
directories, and that no entry is a symbolic link, FIFO, socket or device. None of these is opened
or followed.

## Why it is bad
A link points at something that may differ for the next reader, or lie outside the submission.
Opening a FIFO or a device may block the checker or return endless data.

## What to do
Replace the link by a copy of the file it points at.

## Source
CWE-59, Improper Link Resolution Before File Access.
"""

import os
from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("S102", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering()
def link_a_table(directory: Path) -> None:
    (directory / "samples.csv.gz").rename(directory.parent / "elsewhere.csv.gz")
    (directory / "samples.csv.gz").symlink_to("../elsewhere.csv.gz")


@RULE.tampering("I105")
def link_the_signatures(directory: Path) -> None:
    (directory / "signatures").rename(directory.parent / ".signatures")
    (directory / "signatures").symlink_to("../.signatures")


@RULE.tampering()
def put_a_fifo(directory: Path) -> None:
    (directory / "log.txt.gz").unlink()
    os.mkfifo(directory / "log.txt.gz")


@RULE.tampering()
def add_a_link(directory: Path) -> None:
    (directory / "notes.txt").symlink_to("/etc/hostname")
