"""Restores the power limits, power states and SM clocks that a journal holds."""

import contextlib
import os
import platform
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from harness.errors import BoardsEndedError, MeterError
from harness.power.caps.host import read_boot_id
from harness.power.caps.journal import (
    BY_HAND,
    DamagedError,
    Journal,
    SavedLimit,
    lock_directory,
)
from harness.power.caps.limits import format_limit, limit_to_restore, set_cap, set_state
from harness.power.caps.registry import (
    is_registered_by,
    read_copies,
    refuse_living_owner,
    remove_journal,
    unregister_boards,
)
from harness.power.rocm_devices import VISIBLE_VARIABLES
from harness.power.source import PowerSource, cap_control, clock_control
from harness.power.sources import open_source


class RestoreError(MeterError):
    """The limits could not be restored on every accelerator; the journal keeps those. It does not
    mean that the run itself failed."""


def restore(path: Path) -> list[tuple[str, bool]]:
    """Restore what the journal at `path` holds: a line for each board, and whether it is restored.
    Where the journal is lost, damaged or altered, its copies on this host count.

    Raises MeterError while the run of the journal is running, if it is of another host, if the
    meter cannot be used, or if the journal is damaged and has no copy.
    """
    # A directory that is gone has no lock, and is not made again.
    has_lock = path.parent.exists()
    with lock_directory(path.parent, is_restoring=True) if has_lock else contextlib.nullcontext():
        fault, journal, copies = "", None, read_copies(path)
        try:
            journal = Journal.read(path)
        except DamagedError as error:
            if not copies:
                raise MeterError(
                    f"{error.fault}, and this host has no copy of it; {BY_HAND} the file"
                ) from None
            fault = error.fault
        if copies and journal is not None and not _is_confirmed(journal, copies):
            fault = f"{path}: differs from its copy on this host"
        if journal is not None and not copies:
            copies = [_leave_out_others(path, journal)]
        results = []
        for copy in copies:
            if journal is None or not journal.is_same_run(copy):
                refuse_living_owner(path, copy)
            results += _restore_journal(path, copy, is_contradicted=bool(fault))
    return [*results, (f"{fault}, so the copy counted", True)] if fault else results


def _is_confirmed(journal: Journal, copies: Sequence[Journal]) -> bool:
    """Whether a journal says what one of its copies says. The order of the boards is free."""
    return any(
        journal.is_same_run(copy) and {*journal.accelerators} == {*copy.accelerators}
        for copy in copies
    )


def _leave_out_others(path: Path, journal: Journal) -> Journal:
    """The journal, which no copy confirms, as those of earlier versions, without the boards that
    another run has registered."""
    limits = [
        limit
        for limit in journal.accelerators
        if is_registered_by(journal, path, limit.uuid) is not False
    ]
    return replace(journal, accelerators=tuple(limits))


def _restore_journal(path: Path, journal: Journal, is_contradicted: bool) -> list[tuple[str, bool]]:
    with closing(_open_source_of(path, journal)) as source:
        if is_contradicted:
            # Otherwise it would stay, as that of another run. A disk that fails keeps no limit.
            with contextlib.suppress(MeterError):
                journal.write(path)
        return restore_boards(source, path, journal)


def open_all_boards(meter: str) -> PowerSource:
    """Open the meter with all boards of the node. Raises MeterError.

    The journal names the boards to restore. The shell of an administrator can make other boards
    visible than the run had, and a lost board that a variable names keeps all from being opened.
    """
    for variable in VISIBLE_VARIABLES:
        os.environ.pop(variable, None)
    return open_source(meter)


def _open_source_of(path: Path, journal: Journal) -> PowerSource:
    """Open the meter of a journal. Raises MeterError if the journal is of another host.

    The state directory can lie on a file system that several nodes share, and the journal can be of
    a container, which has a host name of its own. The journal is of this host if it is of the same
    boot, if this host has one of its boards, or if it has the same host name.
    """
    is_of_this_boot = journal.boot_id is not None and journal.boot_id == read_boot_id()
    is_known = is_of_this_boot or journal.host == platform.node()
    foreign = MeterError(
        f"{path}: {journal.owner} set limits on {journal.host}; restore them there"
    )
    try:
        source = open_all_boards(journal.meter)
    except MeterError:
        if is_known:
            raise
        raise foreign from None
    # The PCI address, the name of a board without an id, exists on every host.
    uuids = {limit.uuid for limit in journal.accelerators if not limit.uuid.startswith("PCI-")}
    if not is_known and not uuids & {device.uuid for device in source.devices()}:
        source.close()
        raise foreign
    return source


def restore_boards(source: PowerSource, path: Path, journal: Journal) -> list[tuple[str, bool]]:
    """Restore every board of `journal` that can be, and keep the others in the journal at `path`.

    Returns a line for each board, and whether it is restored, and a line for a journal that cannot
    be removed. The caller holds the lock.
    """
    results, remaining = [], []
    for limit in journal.accelerators:
        target = describe_limit(limit)
        try:
            # A board that fails must not keep the others from being restored.
            _restore_board(source, limit)
        except BoardsEndedError:
            results.append((f"{limit.uuid}: its simulator has ended, and its limit with it", True))
        except (MeterError, LookupError, OSError) as error:
            # LookupError: the source does not know the board (any more).
            remaining.append(limit)
            reason = str(error) if isinstance(error, MeterError) else f"{limit.uuid}: {error!r}"
            results.append((f"{reason}; not restored to {target}", False))
        else:
            results.append((f"{limit.uuid}: restored to {target}", True))
    if remaining:
        # If this fails, the journal keeps all boards. To restore a board twice does no harm.
        with contextlib.suppress(MeterError):
            if not journal.is_in_place_of_another(path):
                replace(journal, accelerators=tuple(remaining)).write(path)
        # What is registered is left to restore. Other runs may have the restored boards now.
        restored = {*journal.accelerators} - {*remaining}
        unregister_boards(journal, path, {limit.uuid for limit in restored})
    else:
        # Removed last: if this process is killed before, the watchdog restores all boards again.
        try:
            remove_journal(journal, path)
        except OSError as error:
            results.append((f"{path}: the journal cannot be removed ({error.strerror})", False))
    return results


def _restore_board(source: PowerSource, limit: SavedLimit) -> None:
    uuid = limit.uuid
    with ExitStack() as stack:
        if limit.locked_mhz is not None:
            # At the end of the block, also if the board refuses its limit or its state.
            stack.callback(clock_control(source).reset_sm_clock, uuid)
        if limit.found_mw is not None:
            control = cap_control(source)
            current_mw = limit_to_restore(control.readback(uuid, frozenset()))
            # Setting a limit takes root. A board that has its limit again needs no right.
            if current_mw != limit.found_mw:
                set_cap(control, uuid, limit.found_mw, limit_to_restore)
        if limit.found_state is not None and source.read(uuid).power_state != limit.found_state:
            set_state(source, cap_control(source), uuid, limit.found_state)


def describe_limit(limit: SavedLimit) -> str:
    """The limit, the power state and the clock to restore on a board."""
    parts = []
    if limit.found_mw is not None:
        parts.append(format_limit(limit.found_mw))
    if limit.found_state:
        parts.append(limit.found_state)
    if limit.locked_mhz is not None:
        parts.append("unlocked SM clock")
    return " and ".join(parts)
