"""The manifest lists a path outside the bundle

## What it does
Asks that every path in MANIFEST.json is a plain relative path: not absolute, without `..`, without
a backslash, in its shortest form. Such a path is never opened.

## Why it is bad
Whoever verifies the bundle with `sha256sum -c` reads the listed paths. One that leaves the bundle
makes them read files of their own.

## What to do
Make the manifest anew with the harness.

## Source
CWE-22, Improper Limitation of a Pathname to a Restricted Directory.
"""

import json
from pathlib import Path

from rules.rule import Rule, Severity

RULE = Rule("I103", Severity.ERROR)
RULE.check(RULE.problems)


def _list(directory: Path, path: str) -> None:
    manifest = directory / "MANIFEST.json"
    document = json.loads(manifest.read_text())
    document["files"].append({"path": path, "size": 0, "sha256": "0" * 64})
    manifest.write_text(json.dumps(document))


@RULE.tampering("I106")
def climb_out(directory: Path) -> None:
    _list(directory, "../../../../etc/passwd")


@RULE.tampering("I106")
def begin_at_the_root(directory: Path) -> None:
    _list(directory, "/etc/passwd")
