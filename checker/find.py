"""Find what there is to judge below a path."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rules.bundle_format.records import EVIDENCE_FILES, KEYRING_DIR, MANIFEST_FILE

PUBLISHED_DIR = "published"
BUNDLE_FILES = frozenset({*EVIDENCE_FILES, MANIFEST_FILE})


@dataclass(frozen=True)
class Places:
    """What lies below a path. Each list is sorted."""

    bundles: list[Path] = field(default_factory=list)
    """Directories that hold a file of a bundle, and directories that cannot be searched: links and
    unreadable ones."""
    published: list[Path] = field(default_factory=list)
    """JSON files in a directory `published`."""
    keyrings: list[Path] = field(default_factory=list)
    """Directories called `keyring`. They are not searched."""
    skipped: list[Path] = field(default_factory=list)
    """Hidden directories: unfinished runs."""


def find_places(root: Path) -> Places:
    """Find everything to judge at or below `root`, a directory or one file of published figures. No
    link is followed below it."""
    places = Places()
    if not root.is_dir():
        # Any other file is judged as a bundle and so refused with a reason.
        (places.published if _is_published(root) else places.bundles).append(root)
        return places
    # `os.walk` skips unreadable directories silently. Bundles in them must not be overlooked.
    for parent, directories, files in os.walk(
        root, onerror=lambda error: places.bundles.append(Path(error.filename))
    ):
        directory = Path(parent)
        if not BUNDLE_FILES.isdisjoint((*directories, *files)):
            places.bundles.append(directory)
            directories.clear()  # a bundle holds no other bundles
            continue
        places.published.extend(
            directory / name for name in files if _is_published(directory / name)
        )
        # The harness writes a bundle into a hidden directory and renames it at the end.
        hidden = [directory / name for name in directories if name.startswith(".")]
        linked = [directory / name for name in directories if (directory / name).is_symlink()]
        places.skipped.extend(hidden)
        # A link is judged, and refused as not plain. Following it could leave the submission.
        places.bundles.extend(path for path in linked if path not in hidden)
        # os.walk descends into what is left in this list.
        directories[:] = [d for d in directories if directory / d not in (*hidden, *linked)]
        if KEYRING_DIR in directories:
            places.keyrings.append(directory / KEYRING_DIR)
            directories.remove(KEYRING_DIR)
    for paths in (places.bundles, places.published, places.keyrings, places.skipped):
        paths.sort()
    return places


def display_path(path: Path, roots: Sequence[Path]) -> Path:
    """The absolute `path` as the user would write it who named `roots`: below one of them, or else
    relative to the working directory."""
    for root in roots:
        if path.is_relative_to(root.resolve()):
            return root / path.relative_to(root.resolve())
    return path if all(root.is_absolute() for root in roots) else Path(os.path.relpath(path))


def _is_published(path: Path) -> bool:
    # Make the path absolute first: the parent of `.` or `..` has no name.
    return path.suffix == ".json" and path.absolute().parent.name == PUBLISHED_DIR
