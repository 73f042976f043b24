"""Mutations that the rule `manifest-incomplete` must find."""

import json
from pathlib import Path

from rules.checks.integrity.manifest_incomplete import RULE
from rules.testing.case import tampering


@tampering(RULE, "I106")
def leave_a_file_out(directory: Path) -> None:
    manifest = directory / "MANIFEST.json"
    document = json.loads(manifest.read_text())
    document["files"] = [entry for entry in document["files"] if entry["path"] != "samples.csv.gz"]
    manifest.write_text(json.dumps(document))


@tampering(RULE, "I106")
def list_a_file_twice(directory: Path) -> None:
    manifest = directory / "MANIFEST.json"
    document = json.loads(manifest.read_text())
    document["files"].append(document["files"][0])
    manifest.write_text(json.dumps(document))
