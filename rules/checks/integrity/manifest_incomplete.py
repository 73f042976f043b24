"""The manifest does not list the files of the bundle

## What it does
Asks that MANIFEST.json lists every file of evidence exactly once, and nothing that is not one.

## Why it is bad
A signature covers what the manifest lists. A file that is left out could be changed at any time.

## What to do
Make manifest and signature anew with the harness, before any other change.

## Source
Bundle format, `docs/design.md` section 6.
"""

import json
from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("I104", Severity.ERROR)
RULE.check(RULE.problems)


@RULE.tampering("I106")
def leave_a_file_out(directory: Path) -> None:
    manifest = directory / "MANIFEST.json"
    document = json.loads(manifest.read_text())
    document["files"] = [entry for entry in document["files"] if entry["path"] != "samples.csv.gz"]
    manifest.write_text(json.dumps(document))


@RULE.tampering("I106")
def list_a_file_twice(directory: Path) -> None:
    manifest = directory / "MANIFEST.json"
    document = json.loads(manifest.read_text())
    document["files"].append(document["files"][0])
    manifest.write_text(json.dumps(document))
