"""Sets power limits and SM clocks for a run and restores the former ones, however the run ends.

The former limits are written to a journal before anything is set, and a watchdog process
(`harness.power.caps.watchdog`) runs from before the first change on.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from harness import interrupts
from harness.errors import MeterError, NotAllowedError
from harness.interrupts import Interrupted
from harness.power.caps.host import explain_container
from harness.power.caps.journal import (
    JOURNAL_FILE,
    Journal,
    SavedLimit,
    lock_directory,
    new_journal,
    refuse_stale_journal,
    state_directory,
)
from harness.power.caps.lifetime import warn_of_state_directory
from harness.power.caps.limits import (
    ABOUT_CAPS,
    ABOUT_CLOCKS,
    SETTABLE_STATE,
    format_limit,
    is_same_limit,
    limit_to_restore,
    set_cap,
    set_state,
)
from harness.power.caps.registry import refuse_foreign_limits, register_journal
from harness.power.caps.restore import RestoreError, describe_limit, restore_boards
from harness.power.caps.watchdog import Watchdog
from harness.power.source import (
    CapControl,
    Device,
    PowerSource,
    cap_control,
    clock_control,
    read_back,
)
from harness.power.sources import open_source, source_class


class CapPlan(Protocol):
    """The fields of a run's plan (`harness.run.plan.Plan`) that its caps need. A protocol, so that
    this package does not depend on harness.run."""

    @property
    def run_id(self) -> str: ...

    @property
    def meter(self) -> str: ...

    @property
    def devices(self) -> tuple[Device, ...]: ...

    @property
    def cap_w(self) -> float | None: ...

    @property
    def state(self) -> str | None: ...

    @property
    def found_mw(self) -> Mapping[str, int] | None: ...

    @property
    def found_state(self) -> Mapping[str, str] | None: ...

    @property
    def sm_clock_mhz(self) -> int | None: ...


def explain_refusal(meter: str, about: str = ABOUT_CAPS) -> str | None:
    """Why this process cannot set caps and clocks with `meter`, as far as can be told without
    trying; None if nothing is known to prevent it. `about` is the reason if it takes root."""
    source = source_class(meter)
    if not issubclass(source, CapControl):
        return f"the meter {meter} cannot set power caps"
    if source.simulated:
        return None
    if os.geteuid() != 0:
        return about
    directory = state_directory(meter)
    return None if directory is None else explain_container(directory, source.board_directory())


def warn_before_caps(plan: CapPlan) -> str | None:
    """A warning to print before the plan's settings are applied; None if there is none, or if the
    plan sets nothing."""
    return warn_of_state_directory(plan.meter) if _sets_anything(plan) else None


def _sets_anything(plan: CapPlan) -> bool:
    return any(
        setting is not None for setting in (plan.found_mw, plan.found_state, plan.sm_clock_mhz)
    )


@contextmanager
def applied_cap(plan: CapPlan) -> Iterator[Callable[[], None]]:
    """Apply the plan's cap, its SM clock, and the performance level `auto` on AMD, to its
    accelerators while the block runs.

    Yields a function that starts another watchdog if the watchdog died; call it now and then. It
    raises WatchdogError. If the accelerators have the planned settings already, nothing is set.

    Raises MeterError (NotAllowedError without the right to set) that names the board, the requested
    and the actual limit, or why the journal cannot be written. Raises RestoreError at the end.
    """
    directory = state_directory(plan.meter)
    # A run as found sets nothing. It needs no lock, journal or watchdog.
    if not _sets_anything(plan):
        # Limits that another run set and has not restored are not "as found".
        refuse_foreign_limits(plan.meter, [device.uuid for device in plan.devices])
        with closing(open_source(plan.meter)) as source:
            _check_unchanged(source, plan)
        yield lambda: None
        return
    # A watchdog could not reach boards that exist in the memory of this process only.
    if directory is None:
        raise MeterError(
            f"{plan.meter}: a cap can be set on simulated boards in a process of their own only"
        )
    source_type = source_class(plan.meter)
    if not source_type.simulated and (
        reason := explain_container(directory, source_type.board_directory())
    ):
        raise NotAllowedError(reason)
    path = directory / JOURNAL_FILE
    # The source stays open: a driver without clients may be unloaded, which resets the limits.
    with lock_directory(directory), closing(open_source(plan.meter)) as source:
        # To overwrite the journal of a killed run would lose the limits that it found.
        refuse_stale_journal(path)
        # Boards that have the planned settings already, but from another run.
        refuse_foreign_limits(plan.meter, [device.uuid for device in plan.devices])
        _check_unchanged(source, plan)
        with _restoring(source, path, plan) as watchdog:
            yield watchdog.ensure_running


@contextmanager
def _restoring(source: PowerSource, path: Path, plan: CapPlan) -> Iterator[Watchdog]:
    """Write the journal, start the watchdog and set the cap; restore all when the block ends."""
    journal = new_journal(plan.meter, plan.run_id, _limits_to_save(plan))
    watchdog, cause = None, None
    unlocked = {limit.uuid for limit in journal.accelerators}
    try:
        # The journal is on disk and the watchdog runs before the first limit changes. A process
        # killed at any moment thus leaves limits that something can restore.
        register_journal(journal, path)
        watchdog = Watchdog(path, journal)
        _apply(source, plan, journal.accelerators, unlocked)
        yield watchdog
    # Not only Exception: `_report_failures` must know whether an interrupt ended the run.
    except BaseException as error:
        cause = error
        raise
    finally:
        # A signal during this block takes effect after it, so that it cannot end the restoring.
        with interrupts.defer_signals() as signals:
            # Without journal and watchdog, `_apply` has not run, so there is nothing to restore.
            may_be_set = watchdog is not None or path.exists()
            journal = _leave_out_locks(journal, unlocked)
            results = restore_boards(source, path, journal) if may_be_set else []
            failures = [line for line, is_restored in results if not is_restored]
            if watchdog is not None:
                # After a failure the watchdog tries once more, when it gets the lock that this
                # block still holds. Waiting for it here would end in a timeout that kills it.
                watchdog.end(is_restored=not failures)
            if failures:
                _report_failures(failures, cause, bool(signals))
            elif results and (signals or isinstance(cause, Interrupted)):
                limits = [
                    f"{limit.uuid} to {describe_limit(limit)}" for limit in journal.accelerators
                ]
                _print_error(f"restored: {', '.join(limits)}")


def _leave_out_locks(journal: Journal, unlocked: Container[str]) -> Journal:
    """Return the journal without the locks of boards that were not locked. To unlock a board takes
    a right that this process may lack."""
    limits = [
        replace(limit, locked_mhz=None) if limit.uuid in unlocked else limit
        for limit in journal.accelerators
    ]
    return replace(journal, accelerators=tuple(filter(describe_limit, limits)))


def _report_failures(
    failures: Sequence[str], cause: BaseException | None, is_interrupted: bool
) -> None:
    """Raise RestoreError, together with the error that ended the run. An interrupt takes precedence
    over it, so the failures are then printed instead."""
    text = f"{'; '.join(failures)}; try: bench-submit restore"
    if is_interrupted or not isinstance(cause, Exception | None):
        _print_error(f"wattmark: {text}")
    else:
        raise RestoreError(text if cause is None else f"{cause}; {text}")


def _print_error(line: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may be gone
        print(line, file=sys.stderr, flush=True)


def _check_unchanged(source: PowerSource, plan: CapPlan) -> None:
    """Raise MeterError if a limit or a power state is no longer the one that was planned with."""
    for uuid in (device.uuid for device in plan.devices):
        readback = read_back(source, uuid)
        # As found, the plan compares the limit in force. A run that sets a cap compares the
        # requested limit, because that is the one it restores.
        if plan.found_mw is None:
            # The plan is in W, as users write it. The meters count in whole mW.
            planned_mw = None if plan.cap_w is None else round(1e3 * plan.cap_w)
            current_mw = readback.enforced_mw
        else:
            planned_mw, current_mw = plan.found_mw[uuid], limit_to_restore(readback)
        if not is_same_limit(current_mw, planned_mw):
            raise _changed(uuid, "power limit", format_limit(planned_mw), format_limit(current_mw))
        if plan.state == SETTABLE_STATE:
            planned_state = (plan.found_state or {}).get(uuid, plan.state)
            current_state = source.read(uuid).power_state
            # None: the board did not tell its state, which is no evidence of a change.
            if current_state not in (planned_state, None):
                raise _changed(uuid, "performance level", planned_state, current_state)


def _changed(uuid: str, setting: str, planned: str, current: str | None) -> MeterError:
    return MeterError(
        f"{uuid}: the {setting} was {planned} when the run was planned and is {current} now; "
        "something else sets it, start again when that is done"
    )


def _limits_to_save(plan: CapPlan) -> tuple[SavedLimit, ...]:
    """The former settings of the boards that the run changes."""
    limits_mw, states = plan.found_mw or {}, plan.found_state or {}
    return tuple(
        SavedLimit(
            device.uuid, limits_mw.get(device.uuid), states.get(device.uuid), plan.sm_clock_mhz
        )
        for device in plan.devices
        if device.uuid in {*limits_mw, *states} or plan.sm_clock_mhz is not None
    )


def _apply(
    source: PowerSource, plan: CapPlan, limits: Sequence[SavedLimit], unlocked: set[str]
) -> None:
    """Set the planned cap and state on each board and read them back, and lock its SM clock, which
    cannot be read back. A board that may be locked is removed from `unlocked`. Raises MeterError,
    or NotAllowedError that says what an administrator can do."""
    for limit in limits:
        try:
            if limit.found_mw is not None:
                assert plan.cap_w is not None
                control, cap_mw = cap_control(source), round(1e3 * plan.cap_w)
                # The limit in force must be the planned one: a requested limit alone does not cap a
                # board.
                set_cap(control, limit.uuid, cap_mw, lambda readback: readback.enforced_mw)
            if limit.found_state is not None:
                assert plan.state is not None
                set_state(source, cap_control(source), limit.uuid, plan.state)
        except NotAllowedError as error:
            raise NotAllowedError(f"{error}; {ABOUT_CAPS}") from None
        if limit.locked_mhz is not None:
            # Before the call, which a signal can interrupt.
            unlocked.discard(limit.uuid)
            try:
                clock_control(source).lock_sm_clock(limit.uuid, limit.locked_mhz)
            except NotAllowedError as error:
                unlocked.add(limit.uuid)
                raise NotAllowedError(f"{error}; {ABOUT_CLOCKS}") from None
