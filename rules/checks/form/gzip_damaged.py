"""A packed file cannot be unpacked to text

## What it does
Asks that samples.csv.gz, batches.csv.gz and log.txt.gz are each one complete gzip stream of UTF-8
text, with nothing after its end.

## Why it is bad
A cut stream has lost its last samples. What follows the end of a stream is read by some programs
and not by others.

## What to do
Restore the file from where the run was made.

## Source
RFC 1952 (GZIP file format), section 2.2.
"""

import gzip
from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("S108", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering(reseal=True)
def cut_the_stream(directory: Path) -> None:
    samples = directory / "samples.csv.gz"
    samples.write_bytes(samples.read_bytes()[:-100])


@RULE.tampering(reseal=True)
def append_garbage(directory: Path) -> None:
    with (directory / "batches.csv.gz").open("ab") as batches:
        batches.write(b"garbage")


@RULE.tampering(reseal=True)
def append_a_second_stream(directory: Path) -> None:
    with (directory / "log.txt.gz").open("ab") as log:
        log.write(gzip.compress(b"one more line\n", mtime=0))


@RULE.tampering(reseal=True)
def do_not_pack(directory: Path) -> None:
    (directory / "log.txt.gz").write_text("11 epochs done\n")


@RULE.tampering(reseal=True)
def pack_what_is_no_text(directory: Path) -> None:
    (directory / "log.txt.gz").write_bytes(gzip.compress(b"\xff\xfe", mtime=0))
