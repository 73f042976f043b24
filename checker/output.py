"""Write the output files that a user names: whole or not at all, and never over a file that a round
needs."""

from pathlib import Path

from checker.find import BUNDLE_FILES, resolve
from checker.terminal import UnwritableError, describe_unwritable
from rules.bundle_format.records import ACCEPTANCE_FILE, KEYRING_DIR, SIGNERS_FILE, WAIVER_DIR
from rules.bundle_format.seal import write_durable

_HEADER_BYTES = 4096


class OutputError(Exception):
    """The file is not written. The message names it and gives the reason."""


def refuse_output(path: Path, mark: str) -> None:
    """Raises OutputError if `path` may not be overwritten: it lies in a bundle, belongs to the LOG,
    keyring or waivers, or is a file of another kind.

    Every file of the kind that may be overwritten has `mark` near its beginning.
    """
    # The target of a link counts: a link could lead into a bundle.
    path = resolve(path)
    for parent in path.parents:
        _refuse_inside(parent, path)
    try:
        if not path.exists():
            return
        if not path.is_file():
            raise OutputError(f"{path}: this is no regular file; choose another name")
        with path.open("rb") as file:
            # The mark stands near the beginning, so a large file of another kind is not read whole.
            header = file.read(_HEADER_BYTES)
    except OSError as error:
        raise OutputError(f"{path}: cannot be read: {error.strerror}") from None
    # An empty file holds nothing that could be lost.
    if header and mark.encode() not in header:
        raise OutputError(
            f"{path}: there is a file of another kind, which is not overwritten; remove it, or "
            "choose another name"
        )


def _refuse_inside(parent: Path, path: Path) -> None:
    """Raises OutputError if `parent` is a bundle, or a round with `path` in its LOG, keyring or
    waivers."""
    # One such file may have the same name by chance, two are a bundle.
    if sum((parent / name).exists() for name in BUNDLE_FILES) > 1:
        raise OutputError(
            f"{path}: this lies in the bundle {parent}, which holds evidence only; choose another "
            "directory"
        )
    is_round = (parent / KEYRING_DIR / SIGNERS_FILE).exists()
    reserved = (ACCEPTANCE_FILE, KEYRING_DIR, WAIVER_DIR)
    if is_round and path.relative_to(parent).parts[0] in reserved:
        raise OutputError(
            f"{path}: this belongs to the LOG, keyring or waivers of the round in {parent}; choose "
            "another directory"
        )


def write_output(path: Path, text: str, mark: str) -> None:
    """Write `text`, which has `mark` near its beginning, to `path`. Raises OutputError if it may
    not be written, and UnwritableError if it cannot."""
    refuse_output(path, mark)
    try:
        write_durable(resolve(path), text.encode())
    except OSError as error:
        raise UnwritableError(describe_unwritable(error, path)) from None
