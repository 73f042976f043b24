"""Finds what there is to judge below a path."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rules.bundle_format.records import EVIDENCE_FILES, KEYRING_DIR, MANIFEST_FILE

PUBLISHED_DIR = "published"
BUNDLE_FILES = frozenset({*EVIDENCE_FILES, MANIFEST_FILE})


@dataclass(frozen=True)
class Places:
    """What lies below a path, each list sorted."""

    bundles: list[Path] = field(default_factory=list)
    """Directories that hold a file of a bundle, and those that cannot be looked into: links and
    unreadable ones."""
    published: list[Path] = field(default_factory=list)
    """JSON files in a directory `published`."""
    keyrings: list[Path] = field(default_factory=list)
    """Directories called `keyring`. They are not looked into."""
    skipped: list[Path] = field(default_factory=list)
    """Hidden directories: unfinished runs."""


def below(root: Path) -> Places:
    """Everything to judge at or below `root`, a directory or one published file. No link is
    followed below it."""
    places = Places()
    if not root.is_dir():
        (places.published if _is_published(root) else places.bundles).append(root)
        return places
    for parent, directories, files in os.walk(
        root, onerror=lambda e: places.bundles.append(Path(e.filename))
    ):
        here = Path(parent)
        if not BUNDLE_FILES.isdisjoint((*directories, *files)):
            places.bundles.append(here)
            directories.clear()
            continue
        places.published.extend(here / name for name in files if _is_published(here / name))
        hidden = [here / name for name in directories if name.startswith(".")]
        linked = [here / name for name in directories if (here / name).is_symlink()]
        places.skipped.extend(hidden)
        places.bundles.extend(path for path in linked if path not in hidden)
        directories[:] = [d for d in directories if here / d not in (*hidden, *linked)]
        if KEYRING_DIR in directories:
            places.keyrings.append(here / KEYRING_DIR)
            directories.remove(KEYRING_DIR)
    for found in (places.bundles, places.published, places.keyrings, places.skipped):
        found.sort()
    return places


def as_given(path: Path, roots: Sequence[Path]) -> Path:
    """The absolute `path` as somebody calls it who named `roots`: by one of them, or else from the
    working directory."""
    for root in roots:
        if path.is_relative_to(root.resolve()):
            return root / path.relative_to(root.resolve())
    return path if all(root.is_absolute() for root in roots) else Path(os.path.relpath(path))


def _is_published(path: Path) -> bool:
    # A path given as `.` or `..` has no telling name of its own.
    return path.suffix == ".json" and path.absolute().parent.name == PUBLISHED_DIR
