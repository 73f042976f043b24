"""What signed statements and acceptances share: who may make them for a path, and how the command
reports problems."""

import os
from collections.abc import Sequence
from pathlib import Path

from checker.find import display_path, find_places
from checker.printable import printable
from checker.trust.authority import Authority, find_authority, find_keyrings_above
from checker.trust.keyring import PRINCIPAL
from rules.bundle_format.files import Refused
from rules.bundle_format.records import (
    ACCEPTANCE_FILE,
    COMMITMENT_DIR,
    EVIDENCE_FILES,
    MANIFEST_FILE,
)
from rules.finding import Problem


class StatementError(Exception):
    """The statement cannot be made. The message gives the reason and what to do."""


def find_signing_authority(path: Path, principal: str, directories: bool = False) -> Authority:
    """The authority over the bundle `path`, on which `principal` makes a statement. With
    `directories`, `path` may also be a directory that holds bundles. Raises StatementError."""
    # The principal becomes part of a file name.
    if not PRINCIPAL.fullmatch(principal):
        raise StatementError(
            f"--principal {principal!r}: must have the form WHO@example.org, with letters, digits "
            "and . _ + -"
        )
    is_bundle = (path / MANIFEST_FILE).is_file()
    holds_bundles = (
        directories
        # A bundle without its manifest is a damaged bundle and no directory of bundles.
        and not any((path / name).exists() for name in EVIDENCE_FILES)
        and bool(find_places(path).bundles)
    )
    if not is_bundle and not holds_bundles:
        raise StatementError(f"{path}: there is no {MANIFEST_FILE}, so it is no finished bundle")
    authority = _find_authority(path)
    if not (authority.center if is_bundle else authority.place):
        submissions = display_path(authority.keyring.submissions, [path])
        raise StatementError(
            f"{path}: it does not lie in the directory of a center; put it below "
            f"{submissions}/CENTER/SYSTEM/"
        )
    return authority


def find_submissions(path: Path) -> Path:
    """The directory `submissions` that `path` is or lies in. Raises StatementError."""
    # A round may have commitments before it has bundles.
    if not find_places(path).bundles and not (path / COMMITMENT_DIR).is_dir():
        raise StatementError(f"{path}: no bundle at or below it")
    return _find_authority(path).keyring.submissions


def find_log_directory(path: Path) -> Path:
    """The directory `submissions` that `path` is or lies in, which has a LOG. Raises
    StatementError."""
    keyrings = find_keyrings_above(path.resolve())
    if not keyrings:
        raise StatementError(
            f"{path}: no keyring at or above it, so it is no submissions directory"
        )
    submissions = keyrings[0].parent
    if not os.path.lexists(submissions / ACCEPTANCE_FILE):
        raise StatementError(
            f"{display_path(submissions, [path])}: there is no {ACCEPTANCE_FILE} yet; bench-check "
            "accept writes it"
        )
    return submissions


def _find_authority(path: Path) -> Authority:
    try:
        return find_authority(path, None, path)
    except Refused as refusal:
        raise StatementError(f"{path}: {format_problems(refusal.problems)}") from None


def format_problems(problems: Sequence[Problem]) -> str:
    """One line for each problem: rule, file, what was found, what was expected, and what to do."""
    lines = []
    for problem in problems:
        violation = problem.violation
        place = " ".join(filter(None, (problem.rule, violation.file)))
        lines.append(
            f"{place}: {violation.found}; expected: {violation.expected}. {violation.message}"
        )
    return "\n".join(map(printable, lines))
