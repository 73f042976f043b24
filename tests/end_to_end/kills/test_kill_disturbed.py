"""Runs at a set cap that are killed while something else goes wrong on the node: its journal is
lost, damaged or altered, another user or run acts, boards are lost or reordered, the clock jumps,
or the container ends. The found limits come back, or `bench-submit restore` restores them.

On the real bindings of NVIDIA and AMD over C libraries in turn, and on simulated boards. These are
not registered, so that the memory of the watchdog is all that restores them where the journal is
lost. `WATTMARK_KILLS` is the number of moments of each disturbance (default 2; `make test-kill`
takes 20). A moment is a number of limits that were set, so that it is while limits are set, held or
restored, and a delay. Both are drawn from a seeded generator.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import cycle
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from support.bindings.boards import AMD_LEVEL_AUTO, FOUND_MW
from support.bindings.build import CLOCK_LIBRARY, needs_cc
from support.bindings.disturbances import (
    CLOCK_VARIABLE,
    OF_BOARDS,
    OF_JOURNAL,
    OF_NODE,
    REMOVE_DIRECTORY,
    AnySandbox,
    Disturbance,
    Kill,
    let_another_user_take_the_lock,
    make_read_only,
)
from support.bindings.fixtures import libraries as libraries
from support.bindings.sandbox import (
    METERS,
    SIMULATED,
    kill_harness,
    kill_harness_and_watchdog,
    list_registered,
    open_library_sandbox,
    open_simulated_sandbox,
)
from support.kills import KILLS, SEED, Sandbox, read_command_line, wait_for
from support.simulated_boards import OTHER_CAP_W

from harness.processes import list_descendants

NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh")
TIMES, HOLD_S = 2, 0.1
SETS = 4 * TIMES
"""Two boards, set and restored each time."""
OTHER_LIMIT_MW = round(1e3 * OTHER_CAP_W)
"""Of the second board, so that a limit on the wrong board shows."""
pytestmark = needs_cc


def can_run(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


needs_namespaces = pytest.mark.skipif(
    not can_run(*NAMESPACE, "true"), reason="this process may not make a PID namespace"
)
needs_rights = {
    let_another_user_take_the_lock: pytest.mark.skipif(
        os.geteuid() != 0, reason="takes root to become another user"
    ),
    make_read_only: pytest.mark.skipif(
        not can_run("unshare", "--mount", "mount", "--bind", "/", "/mnt"),
        reason="this process may not mount a file system read-only",
    ),
}


def end_namespace(sandbox: AnySandbox) -> None:
    """Kill process 1 of the PID namespace of the run. The kernel kills the others."""
    for child in list_descendants([sandbox.pid]):
        with suppress(OSError):
            numbers = Path(f"/proc/{child}/status").read_text().split("NSpid:")[1].split("\n")[0]
            if numbers.split()[1:] == ["1"]:
                os.kill(child, signal.SIGKILL)
    sandbox.process.wait(60)


def if_alive(kill: Kill) -> Kill:
    """The kill, which finds nothing to do after the end of the run."""

    @wraps(kill)
    def kill_living(sandbox: Sandbox) -> None:
        with suppress(ProcessLookupError):
            kill(sandbox)

    return kill_living


@contextmanager
def change_nothing(sandbox: AnySandbox, kill: Kill) -> Iterator[None]:
    kill(sandbox)
    yield


def make_cases(
    disturbances: Sequence[Disturbance], *kills: Kill, meters: Sequence[str] = METERS
) -> list[ParameterSet]:
    """Each disturbance at KILLS moments, with the meters and kills in turn."""
    cases = []
    for disturb in disturbances:
        generator = random.Random(f"{SEED} {disturb.__name__} {kills[0].__name__}")
        for _, meter, kill in zip(range(KILLS), cycle(meters), cycle(kills), strict=False):
            sets, delay_s = generator.randrange(SETS), round(generator.uniform(0, 0.15), 3)
            name = f"{disturb.__name__}-{kill.__name__}-{sets}-sets-{delay_s}-s-{meter}"
            marks = [needs_rights[disturb]] if disturb in needs_rights else []
            marks += [needs_namespaces] if kill is end_namespace else []
            values = disturb, sets, delay_s, meter, kill
            cases.append(pytest.param(*values, id=name, marks=marks))
    return cases


@pytest.fixture
def clock(tmp_path: Path, libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wall clock of the processes that a test starts, which it can let jump."""
    (tmp_path / "clock").write_bytes(bytes(8))
    monkeypatch.setenv("LD_PRELOAD", str(libraries / CLOCK_LIBRARY))
    monkeypatch.setenv(CLOCK_VARIABLE, str(tmp_path / "clock"))


@pytest.fixture
def sandbox(tmp_path: Path, libraries: Path, clock: None, meter: str) -> Iterator[AnySandbox]:
    if meter == SIMULATED:
        with open_simulated_sandbox(tmp_path) as simulated_sandbox:
            yield simulated_sandbox
        return
    with open_library_sandbox(tmp_path, libraries, meter) as library_sandbox:
        second = library_sandbox.boards.board[1]
        second.requested_mw, second.level = OTHER_LIMIT_MW, AMD_LEVEL_AUTO
        yield library_sandbox


@pytest.mark.parametrize(
    ("disturb", "sets", "delay_s", "meter", "kill"),
    [
        *make_cases(
            (*OF_JOURNAL, REMOVE_DIRECTORY, *OF_NODE, *OF_BOARDS),
            *(kill_harness, kill_harness_and_watchdog, kill_harness_and_watchdog, kill_harness),
        ),
        *make_cases(OF_JOURNAL, end_namespace),
        *make_cases(OF_JOURNAL, kill_harness, meters=[SIMULATED]),
        *make_cases(
            (*OF_NODE, *OF_BOARDS), kill_harness, kill_harness_and_watchdog, meters=[SIMULATED]
        ),
        *make_cases([change_nothing], end_namespace, meters=[SIMULATED]),
    ],
)
def test_caps_come_back_after_a_kill_on_a_disturbed_node(sandbox, disturb, sets, delay_s, kill):
    found = sandbox.named_settings
    assert {limit_mw for limit_mw, _, _ in found.values()} == {FOUND_MW, OTHER_LIMIT_MW}
    sandbox.start_caps(TIMES, HOLD_S, *(NAMESPACE if kill is end_namespace else ()))
    process = sandbox.process
    wait_for(lambda: sandbox.sets >= sets or process.poll() is not None, step_s=0.001)
    time.sleep(delay_s)
    stop_harness(sandbox)
    with disturb(sandbox, if_alive(kill)):
        if kill is not kill_harness:
            restored = sandbox.run_command("restore")
            assert sandbox.named_settings == found, restored.stdout
        wait_for(lambda: sandbox.named_settings == found, within_s=60)
    sandbox.wait_for_exit()
    if disturb in OF_JOURNAL and sandbox.meter == SIMULATED:
        return  # a damaged journal that has no copy stays for a person
    restored = sandbox.run_command("restore")
    assert restored.returncode == 0, restored.stdout
    assert sandbox.named_settings == found, restored.stdout
    assert not list_registered(sandbox) and not os.path.lexists(sandbox.journal)


def stop_harness(sandbox: AnySandbox) -> None:
    """Stop the process that sets the caps, which may have a container around it."""
    for pid in list_descendants([sandbox.pid]):
        if read_command_line(pid)[1:2] == [b"-c"] and sandbox.process.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
