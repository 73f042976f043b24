"""A file is not what the manifest says

## What it does
Compares size and SHA-256 of every file of the bundle with MANIFEST.json.

## Why it is bad
The manifest is what was signed. A file that differs from it was changed after the run, by accident
or not.

## What to do
Restore the file from where the run was made. If the change was meant, the run has to be made again:
evidence is never edited.

## Source
FIPS 180-4 (SHA-256); bundle format, `docs/design.md` section 6.
"""

import gzip
import json
from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("I101", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering()
def edit_the_log(directory: Path) -> None:
    (directory / "log.txt.gz").write_bytes(gzip.compress(b"12 epochs done\n", mtime=0))


@RULE.tampering()
def edit_the_system(directory: Path) -> None:
    system = directory / "system.json"
    document = json.loads(system.read_text())
    system.write_text(json.dumps({**document, "cooling": "a cold wind"}))
