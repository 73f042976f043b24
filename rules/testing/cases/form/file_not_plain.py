"""Mutations that the rule `file-not-plain` must find."""

import os
from pathlib import Path

from rules.checks.form.file_not_plain import RULE
from rules.testing.case import tampering


@tampering(RULE)
def link_a_table(directory: Path) -> None:
    (directory / "samples.csv.gz").rename(directory.parent / "elsewhere.csv.gz")
    (directory / "samples.csv.gz").symlink_to("../elsewhere.csv.gz")


@tampering(RULE, "I105")
def link_the_signatures(directory: Path) -> None:
    (directory / "signatures").rename(directory.parent / ".signatures")
    (directory / "signatures").symlink_to("../.signatures")


@tampering(RULE)
def put_a_fifo(directory: Path) -> None:
    (directory / "log.txt.gz").unlink()
    os.mkfifo(directory / "log.txt.gz")


@tampering(RULE)
def add_a_link(directory: Path) -> None:
    (directory / "notes.txt").symlink_to("/etc/hostname")
