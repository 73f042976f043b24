"""Mutations that the rule `table-malformed` must find."""

import gzip
from pathlib import Path

from rules.checks.form.table_malformed import RULE
from rules.testing.case import tampering


def replace_text(table: Path, original: bytes, replacement: bytes) -> None:
    text = gzip.decompress(table.read_bytes())
    table.write_bytes(gzip.compress(text.replace(original, replacement, 1), mtime=0))


def replace_last_cell(table: Path, cell: bytes) -> None:
    text = gzip.decompress(table.read_bytes()).rstrip(b"\n").rpartition(b",")[0]
    table.write_bytes(gzip.compress(text + b"," + cell + b"\n", mtime=0))


@tampering(RULE, reseal=True)
def rename_a_column(directory: Path) -> None:
    replace_text(directory / "samples.csv.gz", b"power_mw", b"power_w")


@tampering(RULE, reseal=True)
def drop_a_cell(directory: Path) -> None:
    replace_text(directory / "samples.csv.gz", b",ok\n", b"\n")


@tampering(RULE, reseal=True)
def add_a_cell(directory: Path) -> None:
    replace_text(directory / "samples.csv.gz", b",ok\n", b",ok,\n")


@tampering(RULE, reseal=True)
def write_text_for_a_number(directory: Path) -> None:
    replace_last_cell(directory / "batches.csv.gz", b"many")


@tampering(RULE, reseal=True)
def write_a_fraction(directory: Path) -> None:
    replace_last_cell(directory / "batches.csv.gz", b"1024.5")


@tampering(RULE, reseal=True)
def write_nan(directory: Path) -> None:
    replace_last_cell(directory / "batches.csv.gz", b"nan")


@tampering(RULE, reseal=True)
def write_not_available(directory: Path) -> None:
    replace_text(directory / "samples.csv.gz", b",3201,", b",N/A,")
