"""Find what there is to judge below a path."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rules.bundle_format.records import EVIDENCE_FILES, KEYRING_DIR, MANIFEST_FILE

PUBLISHED_DIR = "published"
BUNDLE_FILES = frozenset({*EVIDENCE_FILES, MANIFEST_FILE})
MAX_DEPTH = 16
"""How many levels below a path are searched. A bundle of a round is three levels below it."""


@dataclass(frozen=True)
class Places:
    """What lies below a path. Each list is sorted."""

    bundles: list[Path] = field(default_factory=list)
    """Directories that hold a file of a bundle, and directories that cannot be searched: links and
    unreadable ones."""
    published: list[Path] = field(default_factory=list)
    """JSON files in a directory `published`, or one level below it."""
    keyrings: list[Path] = field(default_factory=list)
    """Directories called `keyring`. They are not searched."""
    skipped: list[Path] = field(default_factory=list)
    """Hidden directories: unfinished runs."""
    too_deep: list[Path] = field(default_factory=list)
    """Directories more than `MAX_DEPTH` levels below the path. They are not searched."""


def find_places(root: Path) -> Places:
    """Find everything to judge at or below `root`, a directory or one file of published figures. No
    link is followed below it."""
    places = Places()
    if not root.is_dir():
        # Any other file is judged as a bundle and so refused with a reason.
        (places.published if _is_published(root) else places.bundles).append(root)
        return places
    # A list and no recursion: the depth of a tree that a stranger made must not end the search.
    unsearched = [(root, 0)]
    while unsearched:
        directory, depth = unsearched.pop()
        inner = _search_directory(directory, places)
        if depth < MAX_DEPTH:
            unsearched += [(path, depth + 1) for path in inner]
        else:
            places.too_deep.extend(inner)
    for paths in vars(places).values():
        paths.sort()
    return places


def _search_directory(directory: Path, places: Places) -> list[Path]:
    """Add what lies in a directory to `places`; return the directories in it that are to be
    searched."""
    try:
        with os.scandir(directory) as scan:
            entries = list(scan)
    except OSError:
        # Bundles in an unreadable directory must not be overlooked, so it is judged and refused.
        places.bundles.append(directory)
        return []
    if not BUNDLE_FILES.isdisjoint(entry.name for entry in entries):
        places.bundles.append(directory)
        return []  # a bundle holds no other bundles
    inner = []
    for entry in entries:
        path = directory / entry.name
        if not _is_directory(entry):
            if _is_published(path):
                places.published.append(path)
        elif entry.name.startswith("."):
            # The harness writes a bundle into a hidden directory and renames it at the end.
            places.skipped.append(path)
        elif entry.is_symlink():
            # A link is judged, and refused as not plain. Following it could leave the submission.
            places.bundles.append(path)
        elif entry.name == KEYRING_DIR:
            places.keyrings.append(path)
        else:
            inner.append(path)
    return inner


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    # A link whose target cannot be looked at.
    except OSError:
        return False


def display_path(path: Path, roots: Sequence[Path]) -> Path:
    """The absolute `path` as the user would write it who named `roots`: below one of them, or else
    relative to the working directory."""
    for root in roots:
        resolved = resolve(root)
        if path.is_relative_to(resolved):
            return root / path.relative_to(resolved)
    return path if all(root.is_absolute() for root in roots) else Path(os.path.relpath(path))


def resolve(path: Path) -> Path:
    """The absolute path without links. `Path.resolve` raises RuntimeError for a link to itself."""
    return Path(os.path.realpath(path))


def _is_published(path: Path) -> bool:
    # Make the path absolute first: the parent of `.` or `..` has no name.
    directories = path.absolute().parents[:2]
    return path.suffix == ".json" and PUBLISHED_DIR in (place.name for place in directories)
