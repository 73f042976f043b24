"""Mutations that the rule `gzip-damaged` must find."""

import gzip
from pathlib import Path

from rules.checks.form.gzip_damaged import RULE
from rules.testing.case import tampering


@tampering(RULE, reseal=True)
def cut_the_stream(directory: Path) -> None:
    samples = directory / "samples.csv.gz"
    samples.write_bytes(samples.read_bytes()[:-100])


@tampering(RULE, reseal=True)
def append_garbage(directory: Path) -> None:
    with (directory / "batches.csv.gz").open("ab") as batches:
        batches.write(b"garbage")


@tampering(RULE, reseal=True)
def append_a_second_stream(directory: Path) -> None:
    with (directory / "log.txt.gz").open("ab") as log:
        log.write(gzip.compress(b"one more line\n", mtime=0))


@tampering(RULE, reseal=True)
def do_not_pack(directory: Path) -> None:
    (directory / "log.txt.gz").write_text("11 epochs done\n")


@tampering(RULE, reseal=True)
def pack_what_is_no_text(directory: Path) -> None:
    (directory / "log.txt.gz").write_bytes(gzip.compress(b"\xff\xfe", mtime=0))
