"""Writes the files that a user names for output: whole or not at all, and never over what a round
rests on."""

from pathlib import Path

from checker.find import BUNDLE_FILES
from rules.bundle_format.records import ACCEPTANCE_FILE, KEYRING_DIR, SIGNERS_FILE, WAIVER_DIR
from rules.bundle_format.seal import write_durable

_LOOKED_AT = 4096


class OutputError(Exception):
    """The file is not written; the message names it and says why."""


def refuse_output(path: Path, mark: str) -> None:
    """Raises OutputError where `path` is not for output: in a bundle, of the LOG, keyring or
    waivers, or a file of another kind.

    `mark` stands near the beginning of every file of the kind that is to be written.
    """
    path = path.resolve()
    for parent in path.parents:
        if sum((parent / name).exists() for name in BUNDLE_FILES) > 1:
            raise OutputError(
                f"{path}: this lies in the bundle {parent}, which holds its evidence "
                "alone; write it elsewhere"
            )
        of_round = (parent / KEYRING_DIR / SIGNERS_FILE).exists()
        if of_round and path.relative_to(parent).parts[0] in (
            ACCEPTANCE_FILE,
            KEYRING_DIR,
            WAIVER_DIR,
        ):
            raise OutputError(
                f"{path}: this is of the round in {parent}: its LOG, keyring or waivers; "
                "write it elsewhere"
            )
    try:
        if not path.exists():
            return
        if not path.is_file():
            raise OutputError(f"{path}: there is something that is no file; name another one")
        with path.open("rb") as file:
            begin = file.read(_LOOKED_AT)
    except OSError as error:
        raise OutputError(f"{path}: cannot be looked at: {error.strerror}") from None
    if begin and mark.encode() not in begin:
        raise OutputError(
            f"{path}: there is a file of another kind, which stays as it is; remove it, or "
            "name another one"
        )


def write_output(path: Path, text: str, mark: str) -> None:
    """Write `text`, which holds `mark` near its beginning, to `path`. Raises OutputError where it
    may or can not be written."""
    refuse_output(path, mark)
    try:
        write_durable(path.resolve(), text.encode())
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
