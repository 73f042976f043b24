"""Mutations that the rule `manifest-of-another-place` must find."""

import json
from pathlib import Path

from rules.bundle_format.records import MANIFEST_FILE
from rules.checks.integrity.manifest_of_another_place import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


@tampering(RULE)
def sign_for_another_center(directory: Path) -> None:
    manifest = json.loads((directory / MANIFEST_FILE).read_text())
    forge.sign_manifest(directory, {**manifest, "center": "elsewhere"})


@tampering(RULE)
def sign_for_another_system(directory: Path) -> None:
    manifest = json.loads((directory / MANIFEST_FILE).read_text())
    forge.sign_manifest(directory, {**manifest, "system": "another-system"})


@tampering(RULE)
def sign_for_no_place(directory: Path) -> None:
    manifest = json.loads((directory / MANIFEST_FILE).read_text())
    forge.sign_manifest(directory, {"format": manifest["format"], "files": manifest["files"]})


@tampering(RULE)
def sign_the_first_version_of_a_manifest(directory: Path) -> None:
    manifest = json.loads((directory / MANIFEST_FILE).read_text())
    forge.sign_manifest(directory, {"format": "wattmark-manifest/1", "files": manifest["files"]})
