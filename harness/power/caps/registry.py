"""The boards that the runs of a host change, and the journals of these runs.

Runs can have different state directories. Each run therefore registers the boards that it changes
in a directory of the host: for each board a link to the journal that names it, and a copy of the
journal. The copy serves where the journal is lost, and counts where the two differ.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote

from harness.errors import MeterError
from harness.power.caps.host import read_boot_id
from harness.power.caps.journal import (
    BY_HAND,
    JOURNAL_FILE,
    BlockedError,
    Journal,
    describe_running,
    lock_directory,
    refuse_limits,
    state_directory,
)
from harness.power.sources import source_class, source_names
from rules.bundle_format.seal import sync_directory

RESTORABLE = "restore its limit from the copy of the journal with: bench-submit restore"
"""What to do about a board whose journal is gone, if it is registered with a copy."""


def state_directories() -> list[Path]:
    """The state directories of this node: that of its accelerators, that of the simulator if
    WATTMARK_SIMULATOR names one, and those in which registered boards have a journal."""
    directories = []
    for name in source_names():
        # A source file with a mistake in it has set no cap, and a directory that cannot be resolved
        # holds no journal.
        with suppress(MeterError):
            directories.append(state_directory(name))
        with suppress(MeterError):
            directories += _find_registered(name)
    return [directory for directory in dict.fromkeys(directories) if directory is not None]


def journal_paths() -> list[Path]:
    """The journals of this node."""
    paths = [directory / JOURNAL_FILE for directory in state_directories()]
    # A link in the place of a journal counts, wherever it leads.
    return [path for path in paths if os.path.lexists(path)]


def _find_registered(meter: str) -> Iterator[Path]:
    """The directories of the journals with which boards are registered, as far as this user may
    look into them."""
    for link in _list_registrations(meter):
        if (path := _target(link)) is not None and os.path.lexists(path):
            yield path.parent


def _list_registrations(meter: str) -> list[Path]:
    """The links of the registered boards, to their journals."""
    board_directory = source_class(meter).board_directory()
    entries = [] if board_directory is None else sorted(board_directory.glob("*"))
    return [entry for entry in entries if entry.is_symlink()]


def _list_links() -> list[Path]:
    links = [link for name in source_names() for link in _list_registrations(name)]
    return list(dict.fromkeys(links))


def register_journal(journal: Journal, path: Path) -> None:
    """Write a journal at `path` and register its boards.

    Raises BlockedError if the journal of another run names one of the boards, and MeterError.
    """
    board_directory = source_class(journal.meter).board_directory()
    if board_directory is None:
        journal.write(path)
        return
    uuids = [limit.uuid for limit in journal.accelerators]
    # Under the lock, so that of two runs the later one sees the journal of the earlier one.
    with lock_directory(board_directory):
        refuse_foreign_limits(journal.meter, uuids)
        # Before the links: a link to a journal that does not exist means that it is lost.
        journal.write(path)
        for uuid in uuids:
            link = _board_link(board_directory, uuid)
            try:
                link.unlink(missing_ok=True)
                journal.write(_copy_of(link))
                link.symlink_to(path)
            except OSError as error:
                raise MeterError(
                    f"{link}: the board cannot be registered ({error.strerror}), and nothing is "
                    "set without that"
                ) from None


def _board_link(board_directory: Path, uuid: str) -> Path:
    return board_directory / quote(uuid, safe="")


def remove_journal(journal: Journal, path: Path) -> None:
    """Unregister the boards of a run, remove its journal at `path`, and return when the removal is
    on disk. The journal of another run at `path` stays."""
    # All boards of the run: the journal may hold only those that were restored last.
    unregister_boards(journal, path)
    if path.parent.is_dir() and not journal.is_in_place_of_another(path):
        path.unlink(missing_ok=True)
        sync_directory(path.parent)


def unregister_boards(journal: Journal, path: Path, uuids: Collection[str] | None = None) -> None:
    """Remove the registrations of these boards that the run of `journal` made. None stands for all
    that are known to be its: those with a copy of the journal, and those that the journal names."""
    named = {limit.uuid for limit in journal.accelerators}
    for link in _list_registrations(journal.meter):
        uuid = unquote(link.name)
        with suppress(OSError):
            is_meant = (
                uuid in named or _read_copy(link) is not None if uuids is None else uuid in uuids
            )
            if is_meant and _is_registration_of(journal, path, link):
                # The copy last: a registered board has one, whenever this process is killed.
                link.unlink()
                _copy_of(link).unlink(missing_ok=True)


def _is_registration_of(journal: Journal, path: Path, link: Path) -> bool:
    """Whether a link is of the run of `journal`, which is or was at `path`. Links of earlier
    versions have no copy. Raises OSError without a link."""
    copy = _read_copy(link)
    return link.readlink() == path and (copy is None or copy.is_same_run(journal))


def _copy_of(link: Path) -> Path:
    """The copy of the journal with which a board is registered, beside its link."""
    return link.with_name(f"{link.name}.json")


def _read_copy(link: Path) -> Journal | None:
    """The copy of the journal of a registered board; None without a good one."""
    try:
        return Journal.read(_copy_of(link))
    except BlockedError:
        return None


def read_copies(path: Path) -> list[Journal]:
    """The journals of the runs that registered boards with `path`, from their copies: usually one.
    Each names the boards that are left to restore."""
    copies = {
        unquote(link.name): _read_copy(link) for link in _list_links() if _target(link) == path
    }
    journals = []
    for run in dict.fromkeys(copy for copy in copies.values() if copy is not None):
        limits = [
            limit
            for limit in run.accelerators
            # A board whose own copy is damaged is in those of the others.
            if limit.uuid in copies and (copies[limit.uuid] or run).is_same_run(run)
        ]
        journals.append(replace(run, accelerators=tuple(limits)))
    return journals


def _target(link: Path) -> Path | None:
    """The journal to which a registration leads, None if it was removed meanwhile."""
    try:
        return link.readlink()
    except OSError:
        return None


def is_registered_by(journal: Journal, path: Path, uuid: str) -> bool | None:
    """Whether a board is registered with `journal`, which is or was at `path`; None if it is not
    registered at all."""
    board_directory = source_class(journal.meter).board_directory()
    if board_directory is None:
        return None
    try:
        return _is_registration_of(journal, path, _board_link(board_directory, uuid))
    except OSError:
        return None


def explain_lost_journals() -> list[str]:
    """A message for each board of this node whose run has not ended and whose journal is gone."""
    return [text for link in _list_links() if (text := _explain_lost(link)) is not None]


def find_lost_paths() -> list[Path]:
    """Where journals are gone whose copies name boards to restore."""
    paths = dict.fromkeys(_target(link) for link in _list_links() if _is_lost(link))
    return [path for path in paths if path is not None and read_copies(path)]


def _is_lost(link: Path) -> bool:
    """Whether the journal of a registered board does not exist, or is of another run."""
    try:
        path = link.readlink()
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        # A run that ends removes the link and then the journal.
        return link.is_symlink()
    except OSError:  # only root may look into the directory
        return False
    copy = _read_copy(link)
    return copy is not None and copy.is_in_place_of_another(path)


def _explain_lost(link: Path) -> str | None:
    """Why the limit of a registered board is not in its journal, None if it is."""
    if not _is_lost(link) or (path := _target(link)) is None:
        return None
    restorable = {limit.uuid for copy in read_copies(path) for limit in copy.accelerators}
    remedy = RESTORABLE if unquote(link.name) in restorable else f"{BY_HAND} the link"
    return (
        f"{link}: a run registered this board with the journal {path}, which is not there; {remedy}"
    )


def refuse_living_owner(path: Path, journal: Journal) -> None:
    """Raise BlockedError if the process of a journal that is gone from `path` is running. The lock
    of a directory that was removed does not show it."""
    try:
        command = Path(f"/proc/{journal.pid}/cmdline").read_bytes()
    except OSError:
        return
    # The number may be that of another process by now.
    if journal.boot_id == read_boot_id() and (b"harness" in command or b"bench-submit" in command):
        raise BlockedError(describe_running(path, journal))


def refuse_foreign_limits(meter: str, uuids: Collection[str], timeout_s: float = 0.0) -> None:
    """Raise BlockedError if, after `timeout_s`, the journal of the state directory or a journal
    with which one of these boards is registered still names one of them, or if such a journal is
    lost."""
    source = source_class(meter)
    paths, links = set(), []
    if (directory := state_directory(meter)) is not None:
        paths.add(directory / JOURNAL_FILE)
    if (board_directory := source.board_directory()) is not None:
        for uuid in uuids:
            with suppress(OSError):  # the board is not registered
                link = _board_link(board_directory, uuid)
                paths.add(link.readlink())
                links.append(link)
    for path in sorted(paths):
        refuse_limits(path, uuids, timeout_s)
    for link in links:
        if (text := _explain_lost(link)) is not None:
            raise BlockedError(text)
