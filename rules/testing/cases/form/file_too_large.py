"""Mutations that the rule `file-too-large` must find."""

import gzip
from pathlib import Path

from rules.checks.form.file_too_large import RULE
from rules.testing.case import tampering


@tampering(RULE, reseal=True)
def unpack_to_a_lot(directory: Path) -> None:
    with gzip.open(directory / "log.txt.gz", "wb", compresslevel=1) as log:
        for _ in range(65):
            log.write(bytes(2**20))


@tampering(RULE, reseal=True)
def pad_the_result(directory: Path) -> None:
    with (directory / "result.json").open("a") as result:
        result.write(" " * 2**24)
