"""Mutations that the rule `manifest-path-unsafe` must find."""

import json
from pathlib import Path

from rules.checks.integrity.manifest_path_unsafe import RULE
from rules.testing.case import tampering


def list_file(directory: Path, path: str) -> None:
    manifest = directory / "MANIFEST.json"
    document = json.loads(manifest.read_text())
    document["files"].append({"path": path, "size": 0, "sha256": "0" * 64})
    manifest.write_text(json.dumps(document))


@tampering(RULE, "I106")
def climb_out(directory: Path) -> None:
    list_file(directory, "../../../../etc/passwd")


@tampering(RULE, "I106")
def begin_at_the_root(directory: Path) -> None:
    list_file(directory, "/etc/passwd")
