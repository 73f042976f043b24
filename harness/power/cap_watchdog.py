"""Sets power limits for a run and brings back what was found, whatever ends the run.

What was found is written to a journal before anything is set, and a watchdog process stands by from
before the first write: `python -m harness.power.cap_watchdog JOURNAL`. It waits for its standard
input to close, which Linux does when the harness ends in any way, and restores what the journal
still holds. Where it cannot (the power failed, or something killed it too), the journal stays, no
run starts on these boards, and `bench-submit restore` restores.
"""

import contextlib
import math
import os
import platform
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from harness import interrupts
from harness.power.cap_journal import (
    JOURNAL_FILE,
    Found,
    Journal,
    begun,
    locked,
    refuse,
    refuse_left,
    state_directory,
)
from harness.power.sources import Meter, MeterError, NotAllowedError, Readback, open_meter
from harness.power.sources.amd import VISIBLE
from harness.run.plan import Plan
from harness.run.preflight import ABOUT_CAPS, ROUNDING_MW, SETTABLE_STATE, found_limit, watts
from harness.run.run_directory import Interrupted

READY_TIMEOUT_S = 60.0
END_TIMEOUT_S = 10.0
SETTLE_TIMEOUT_S = 2.0
SETTLE_STEP_S = 0.02
Value = TypeVar("Value")


class RestoreError(MeterError):
    """What was found could not be restored on every accelerator; the journal keeps those. Of the
    run itself it says nothing."""


class WatchdogError(MeterError):
    """There is no watchdog any more, and no other one starts: nothing would restore the limits
    after a kill."""


def refusal(meter: str) -> str | None:
    """Why this process may not set limits, as far as can be told without trying; None where nothing
    speaks against it."""
    if not meter.startswith("simulated") and os.geteuid() != 0:
        return ABOUT_CAPS
    return None


@contextmanager
def held(plan: Plan) -> Iterator[Callable[[], None]]:
    """Hold the plan's cap, and the performance level `auto` on AMD, on its accelerators while the
    block runs.

    Gives a function that sees to it that a watchdog stands by, to be called now and then; it raises
    WatchdogError. Where the plan is fulfilled by what is found, nothing is set. Raises MeterError
    (NotAllowedError without the right to set) that names the board, what was asked and what was
    found, or what keeps the journal from being written; and RestoreError in the end.
    """
    directory = state_directory(plan.meter)
    if plan.found_mw is None and plan.found_state is None:
        if directory is not None:
            refuse(directory / JOURNAL_FILE, {d.uuid for d in plan.devices})
        with closing(open_meter(plan.meter)) as meter:
            _compare(meter, plan)
        yield lambda: None
        return
    if directory is None:
        raise MeterError(
            f"{plan.meter}: a cap can be set on simulated boards in a process of their own only"
        )
    path = directory / JOURNAL_FILE
    # the meter stays open: a driver without clients may be unloaded and forget the limits
    with locked(directory), closing(open_meter(plan.meter)) as meter:
        refuse_left(path)
        _compare(meter, plan)
        journal = begun(plan.meter, plan.run_id, _to_change(plan))
        watchdog, ended = None, None
        try:
            journal.write(path)
            watchdog = _Watchdog(path)
            _set(meter, plan, journal.accelerators)
            yield watchdog.keep
        except BaseException as error:
            ended = error
            raise
        finally:
            with interrupts.deferred() as arrived:
                may_be_set = watchdog is not None or path.exists()
                failures = (
                    [line for line, done in _put_back(meter, path, journal) if not done]
                    if may_be_set
                    else []
                )
                if watchdog is not None:
                    watchdog.end(wait=not failures)
                if failures:
                    _raise_failures(failures, ended, bool(arrived))
                elif may_be_set and (arrived or isinstance(ended, Interrupted)):
                    limits = [f"{limit.uuid} to {_what(limit)}" for limit in journal.accelerators]
                    _say(f"power limits restored: {', '.join(limits)}")


def _raise_failures(
    failures: Sequence[str], ended: BaseException | None, is_interrupted: bool
) -> None:
    """Raise RestoreError, with what else has `ended` the run. An interrupt goes before it, and the
    failures are told here."""
    told = f"{'; '.join(failures)}; try: bench-submit restore"
    if is_interrupted or not isinstance(ended, Exception | None):
        _say(f"wattmark: {told}")
    else:
        raise RestoreError(told if ended is None else f"{ended}; {told}")


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # who reads it may be gone
        print(line, file=sys.stderr, flush=True)


def restore(path: Path) -> list[tuple[str, bool]]:
    """Restore what the journal at `path` holds; a line for each board, and whether it has what was
    found.

    Raises MeterError while the run of the journal lives, where it is of another host, or where the
    meter cannot be used.
    """
    with locked(path.parent):
        journal = Journal.at(path)
        if journal is None:
            return []
        if journal.host != platform.node():
            raise MeterError(
                f"{path}: {journal.owner} set limits on {journal.host}; restore them there"
            )
        for variable in VISIBLE:  # the choice of whoever restores is not that of the run
            os.environ.pop(variable, None)
        with closing(open_meter(journal.meter)) as meter:
            return _put_back(meter, path, journal)


def watch(path: Path) -> None:
    """The watchdog: say `ready`, wait for the end of the standard input, restore what the journal
    still holds."""
    interrupts.ignore()
    journal = Journal.at(path)
    if journal is None:
        return
    with closing(open_meter(journal.meter)) as meter:  # better known now that it cannot be used
        if missing := {one.uuid for one in journal.accelerators} - {
            d.uuid for d in meter.devices()
        }:
            raise MeterError(
                f"the meter {journal.meter} does not show {', '.join(sorted(missing))}"
            )
    with contextlib.suppress(OSError):  # whoever started it is gone already
        print("ready", flush=True)
    sys.stdin.buffer.read()
    if not path.exists():  # as it is where all went well; the directory may be gone too
        return
    with locked(path.parent, wait_s=math.inf):
        left = Journal.at(path)
        if left is None or not left.is_same(journal):
            return
        with closing(open_meter(journal.meter)) as meter:
            for line, _ in _put_back(meter, path, left):
                _say(f"wattmark: {line}")


class _Watchdog:
    """The harness's end of the watchdog process, which lives until `end`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._process = self._start()
        except WatchdogError as error:
            raise WatchdogError(f"{error}, so no limit was set") from None

    def keep(self) -> None:
        """Start another one where it has died. Raises WatchdogError where none comes up."""
        if self._process.poll() is None:
            return
        try:
            self._process = self._start()
        except WatchdogError as error:
            raise WatchdogError(f"the run was ended: its watchdog died, and {error}") from None

    def end(self, wait: bool) -> None:
        """Let it go; it does nothing where the journal is gone."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        if wait:
            try:
                self._process.wait(END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _start(self) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", "harness.power.cap_watchdog", str(self._path)],
            env={**os.environ, "PYTHONSAFEPATH": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # what ends a process group does not end it
        )
        assert process.stdout is not None
        said = (
            process.stdout.readline()
            if select.select([process.stdout], [], [], READY_TIMEOUT_S)[0]
            else ""
        )
        if said != "ready\n":
            process.kill()
            process.wait()
            raise WatchdogError(
                "the watchdog that would restore the limits did not start (what it said is above)"
            )
        return process


def _compare(meter: Meter, plan: Plan) -> None:
    """Raise MeterError where a limit or a state is no longer the one that the run was planned
    with."""
    for uuid in (d.uuid for d in plan.devices):
        board = meter.readback(uuid, frozenset())
        if plan.found_mw is None:
            planned_mw, now_mw = (
                None if plan.cap_w is None else round(1e3 * plan.cap_w),
                board.enforced_mw,
            )
        else:
            planned_mw, now_mw = plan.found_mw[uuid], found_limit(board)
        planned, now = plan.state, None
        if plan.state == SETTABLE_STATE:
            planned, now = (
                (plan.found_state or {}).get(uuid, plan.state),
                meter.read(uuid).power_state,
            )
        for what, is_same, was, found in (
            ("power limit", _is(now_mw, planned_mw), watts(planned_mw), watts(now_mw)),
            ("performance level", now in (planned, None), planned, now),
        ):
            if not is_same:
                told = f"was {was} when the run was planned and is {found} now"
                raise MeterError(
                    f"{uuid}: the {what} {told}; something else sets it, start again when "
                    "that is done"
                )


def _to_change(plan: Plan) -> tuple[Found, ...]:
    """What is to be restored on the boards that are to change."""
    limits, states = plan.found_mw or {}, plan.found_state or {}
    return tuple(
        Found(d.uuid, limits.get(d.uuid), states.get(d.uuid))
        for d in plan.devices
        if d.uuid in {*limits, *states}
    )


def _set(meter: Meter, plan: Plan, found: Sequence[Found]) -> None:
    """Set and read back. Raises MeterError, or NotAllowedError that says what an administrator can
    do."""
    try:
        for one in found:
            if one.found_mw is not None:
                assert plan.cap_w is not None
                _set_cap(meter, one.uuid, round(1e3 * plan.cap_w), lambda state: state.enforced_mw)
            if one.found_state is not None:
                assert plan.state is not None
                _set_state(meter, one.uuid, plan.state)
    except NotAllowedError as error:
        raise NotAllowedError(f"{error}; {ABOUT_CAPS}") from None


def _put_back(meter: Meter, path: Path, journal: Journal) -> list[tuple[str, bool]]:
    """Restore every board that can be, and leave a journal of the others; a line for each board,
    and whether it is done."""
    told, left = [], []
    for one in journal.accelerators:
        what = _what(one)
        try:
            if (
                one.found_mw is not None
                and found_limit(meter.readback(one.uuid, frozenset())) != one.found_mw
            ):
                _set_cap(meter, one.uuid, one.found_mw, found_limit)
            if one.found_state is not None and meter.read(one.uuid).power_state != one.found_state:
                _set_state(meter, one.uuid, one.found_state)
        except (
            MeterError,
            LookupError,
            OSError,
        ) as error:  # LookupError: the meter shows no such board
            left.append(one)
            reason = str(error) if isinstance(error, MeterError) else f"{one.uuid}: {error!r}"
            told.append((f"{reason}; not restored to {what}", False))
        else:
            told.append((f"{one.uuid}: restored to {what}", True))
    if left:
        with contextlib.suppress(MeterError):  # to restore a board twice does no harm
            replace(journal, accelerators=tuple(left)).write(path)
    else:
        journal.remove(path)
    return told


def _what(found: Found) -> str:
    """What there is to restore on a board."""
    return " and ".join(
        [watts(mw) for mw in (found.found_mw,) if mw is not None]
        + [s for s in (found.found_state,) if s]
    )


def _set_cap(meter: Meter, uuid: str, cap_mw: int, limit: Callable[[Readback], int | None]) -> None:
    """Set a limit; MeterError where a readback then does not give it as the `limit` of the
    board."""
    meter.set_cap(uuid, cap_mw)
    found_mw = _settled(
        lambda: limit(meter.readback(uuid, frozenset())), lambda mw: _is(mw, cap_mw)
    )
    if not _is(found_mw, cap_mw):
        raise MeterError(
            f"{uuid}: a power limit of {watts(cap_mw)} was asked for, and the board has "
            f"{watts(found_mw)}"
        )


def _set_state(meter: Meter, uuid: str, state: str) -> None:
    meter.set_state(uuid, state)
    found = _settled(lambda: meter.read(uuid).power_state, lambda found: found == state)
    if found != state:
        raise MeterError(
            f"{uuid}: the power state {state} was asked for, and the board has {found}"
        )


def _is(found_mw: int | None, cap_mw: int | None) -> bool:
    """Whether two limits are the same, but for rounding; None is no limit."""
    if found_mw is None or cap_mw is None:
        return found_mw is cap_mw
    return abs(found_mw - cap_mw) <= ROUNDING_MW


def _settled(read: Callable[[], Value], done: Callable[[Value], bool]) -> Value:
    """What is read once it is as it should be, or after a while."""
    deadline_s = time.monotonic() + SETTLE_TIMEOUT_S
    while not done(value := read()) and time.monotonic() < deadline_s:
        time.sleep(SETTLE_STEP_S)
    return value


if __name__ == "__main__":
    try:
        watch(Path(sys.argv[1]))
    except MeterError as problem:
        sys.exit(f"wattmark: {problem}")
