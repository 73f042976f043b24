"""Restores the power limits and power states that a journal holds."""

import contextlib
import os
import platform
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from harness.power.cap_journal import Journal, SavedLimit, lock_directory
from harness.power.limits import format_limit, limit_to_restore, set_cap, set_state
from harness.power.rocm_devices import VISIBLE_VARIABLES
from harness.power.source import MeterError, PowerSource, cap_control
from harness.power.sources import open_source


class RestoreError(MeterError):
    """The limits could not be restored on every accelerator; the journal keeps those. It does not
    mean that the run itself failed."""


def restore(path: Path) -> list[tuple[str, bool]]:
    """Restore what the journal at `path` holds: a line for each board, and whether it is restored.

    Raises MeterError while the run of the journal is running, if it is of another host, or if the
    meter cannot be used.
    """
    with lock_directory(path.parent):
        journal = Journal.read(path)
        if journal is None:
            return []
        # The state directory can lie on a file system that several nodes share.
        if journal.host != platform.node():
            raise MeterError(
                f"{path}: {journal.owner} set limits on {journal.host}; restore them there"
            )
        # The shell of an administrator can make other boards visible than the run had.
        for variable in VISIBLE_VARIABLES:
            os.environ.pop(variable, None)
        with closing(open_source(journal.meter)) as source:
            return restore_boards(source, path, journal)


def restore_boards(source: PowerSource, path: Path, journal: Journal) -> list[tuple[str, bool]]:
    """Restore every board of `journal` that can be, and keep the others in the journal at `path`.

    Returns a line for each board, and whether it is restored. The caller holds the lock.
    """
    results, remaining = [], []
    for limit in journal.accelerators:
        target = describe_limit(limit)
        try:
            # A board that fails must not keep the others from being restored.
            _restore_board(source, limit)
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
            replace(journal, accelerators=tuple(remaining)).write(path)
    else:
        # Removed last: if this process is killed before, the watchdog restores all boards again.
        journal.remove(path)
    return results


def _restore_board(source: PowerSource, limit: SavedLimit) -> None:
    control, uuid = cap_control(source), limit.uuid
    if limit.found_mw is not None:
        current_mw = limit_to_restore(control.readback(uuid, frozenset()))
        # Setting a limit takes root. A board that has its limit again needs no right.
        if current_mw != limit.found_mw:
            set_cap(control, uuid, limit.found_mw, limit_to_restore)
    if limit.found_state is not None and source.read(uuid).power_state != limit.found_state:
        set_state(source, control, uuid, limit.found_state)


def describe_limit(limit: SavedLimit) -> str:
    """The limit and the power state to restore on a board."""
    parts = []
    if limit.found_mw is not None:
        parts.append(format_limit(limit.found_mw))
    if limit.found_state:
        parts.append(limit.found_state)
    return " and ".join(parts)
