"""Mutations that the rule `file-altered` must find."""

import gzip
import json
from pathlib import Path

from rules.checks.integrity.file_altered import RULE
from rules.testing.case import tampering


@tampering(RULE)
def edit_the_log(directory: Path) -> None:
    (directory / "log.txt.gz").write_bytes(gzip.compress(b"12 epochs done\n", mtime=0))


@tampering(RULE)
def edit_the_system(directory: Path) -> None:
    system = directory / "system.json"
    document = json.loads(system.read_text())
    system.write_text(json.dumps({**document, "cooling": "a cold wind"}))
