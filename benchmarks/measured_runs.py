"""Bundles of runs as the scripts of this directory read them."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rules.bundle_format.files import read_files
from rules.bundle_format.records import STUDY
from rules.testing.frames import EvidenceFrames, read_frames


def read_runs(paths: Iterable[str]) -> Iterator[tuple[Path, EvidenceFrames]]:
    """The directory and the evidence of each run, without studies. Ends the script with a message
    at a bundle that cannot be read."""
    for path in map(Path, paths):
        files = read_files(path)
        if files.kind is STUDY:
            continue
        evidence, problems = read_frames(files)
        if evidence is None:
            sys.exit(f"{path}: {problems[0].violation.found}")
        yield path, evidence
