"""Runs at a set cap, and on NVIDIA's boards at a locked SM clock, that are killed, on the real
bindings of NVIDIA and AMD over C libraries that stand in for those of the drivers: the found limits
come back and the lock is removed, or the next command says so and restores them.

`WATTMARK_KILLS` is the number of moments of each kind (default 2; `make test-kill` takes 20). The
first moment is when the cap is set. The others are drawn from a seeded generator.
"""

import csv
import gzip
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import cycle
from pathlib import Path

import pytest
from support.bindings.boards import AMD_LEVEL_HIGH, FOUND_MW
from support.bindings.build import needs_cc
from support.bindings.fixtures import libraries as libraries
from support.bindings.sandbox import (
    CAP_W,
    METERS,
    LibrarySandbox,
    kill_every_process,
    kill_harness,
    kill_harness_and_watchdog,
    kill_process_group,
    open_library_sandbox,
    terminate_harness,
)
from support.kills import KILLS, SEED, draw_moments, wait_for

from checker.engine import judge
from rules.bundle_format.records import SAMPLES_FILE
from rules.finding import Severity

FOUND = [(FOUND_MW, AMD_LEVEL_HIGH, 0)] * 2
pytestmark = [needs_cc, pytest.mark.xdist_group("kill-bindings")]


WITH_WATCHDOG = (kill_harness, terminate_harness, kill_process_group)
WITHOUT_WATCHDOG = (kill_harness_and_watchdog, kill_every_process)


def parametrize_kills(*kills: Callable[[LibrarySandbox], None]) -> pytest.MarkDecorator:
    """Each kind of kill at KILLS moments, on NVIDIA's and AMD's boards in turn. None is the moment
    when the cap is set; the others are shares of the time of a run."""
    cases = []
    for number, kill in enumerate(kills):
        moments = (None, *draw_moments(f"bindings {kill.__name__}", KILLS - 1))
        meters = cycle(METERS if number % 2 else METERS[::-1])
        for moment, meter in zip(moments, meters, strict=False):
            name = f"{kill.__name__}-{'set' if moment is None else moment}-{meter}"
            cases.append(pytest.param(kill, moment, meter, id=name))
    return pytest.mark.parametrize(("kill", "moment", "meter"), cases)


@pytest.fixture(scope="module")
def measure_duration(
    tmp_path_factory: pytest.TempPathFactory, libraries: Path
) -> Callable[[str], float]:
    """Measures how many seconds a run takes that nothing ends, by its meter, and checks its
    bundle."""

    @cache
    def measure(meter: str) -> float:
        root = tmp_path_factory.mktemp("usual")
        with open_library_sandbox(root, libraries, meter) as sandbox:
            began_s = time.monotonic()
            sandbox.start_run()
            assert sandbox.wait_for_exit() == 0, sandbox.output
            duration_s = time.monotonic() - began_s
            assert_run_is_sound(sandbox)
        return duration_s

    return measure


def assert_run_is_sound(sandbox: LibrarySandbox) -> None:
    """The bundle of a run that nothing ended says what the boards did."""
    assert sandbox.settings == FOUND and not sandbox.journal.exists()
    assert [board.sets for board in sandbox.boards.board[:2]] == [2, 0]
    (bundle,) = sandbox.bundles
    result = json.loads((bundle / "result.json").read_text())
    assert (result["power"]["mode"], result["power"]["cap_w"]) == ("set", CAP_W)
    assert set(result["power"]["found_mw"].values()) == {FOUND_MW}
    assert {readback["enforced_mw"] for readback in result["readbacks"]} == {CAP_W * 1000}
    assert result["power"].get("sm_clock_mhz") == sandbox.sm_clock_mhz
    if sandbox.sm_clock_mhz is not None:
        with gzip.open(bundle / SAMPLES_FILE, "rt") as samples:
            clocks = {row["sm_mhz"] for row in csv.DictReader(samples)}
        assert clocks == {str(sandbox.sm_clock_mhz)}
    # A busy machine may disturb the rhythm of samples, which rules of other families judge.
    errors = [f for f in judge(bundle, signed=False).findings if f.severity == Severity.ERROR]
    assert not [finding for finding in errors if finding.rule[0] in "SICMT"], errors


@pytest.fixture
def sandbox(tmp_path: Path, libraries: Path, meter: str) -> Iterator[LibrarySandbox]:
    with open_library_sandbox(tmp_path, libraries, meter) as new_sandbox:
        yield new_sandbox


def start_and_kill(
    sandbox: LibrarySandbox,
    kill: Callable[[LibrarySandbox], None],
    moment: float | None,
    measure_duration: Callable[[str], float],
) -> int:
    """Start a run, kill it at the moment, and wait for all of its processes. Returns its status."""
    delay_s = 0 if moment is None else moment * measure_duration(sandbox.meter)
    sandbox.start_run()
    if moment is None:
        wait_for(lambda: CAP_W * 1000 in sandbox.caps_mw)
    time.sleep(delay_s)
    with suppress(ProcessLookupError):
        kill(sandbox)
    return sandbox.wait_for_exit()


def assert_restored_or_said(sandbox: LibrarySandbox) -> None:
    """The found settings are back, or `doctor` and `run` say what to do, and it helps."""
    if sandbox.journal.exists():
        doctor = sandbox.run_command("doctor", "--meter", sandbox.meter)
        assert doctor.returncode == 1 and "bench-submit restore" in doctor.stdout
        next_run = sandbox.run_command(*sandbox.make_run_arguments())
        assert next_run.returncode == 3
        assert "restore them with: bench-submit restore" in next_run.stdout
        restored = sandbox.run_command("restore")
        assert restored.returncode == 0, restored.stdout
        assert "restored to 700 W" in restored.stdout
    assert sandbox.settings == FOUND and not sandbox.journal.exists()


@parametrize_kills(*WITH_WATCHDOG)
def test_the_watchdog_restores_what_a_killed_run_has_set(sandbox, measure_duration, kill, moment):
    start_and_kill(sandbox, kill, moment, measure_duration)
    assert sandbox.settings == FOUND, sandbox.output
    # A kill between the journal and the first watchdog leaves a journal of limits as they are.
    assert_restored_or_said(sandbox)


@parametrize_kills(*WITHOUT_WATCHDOG)
def test_the_next_command_restores_what_a_run_killed_with_its_watchdog_has_set(
    sandbox, measure_duration, kill, moment
):
    start_and_kill(sandbox, kill, moment, measure_duration)
    assert_restored_or_said(sandbox)


@pytest.mark.parametrize("meter", METERS)
def test_caps_of_two_boards_come_back_after_a_kill_while_they_are_set_or_restored(sandbox):
    """The moments that a whole run has few of, at three times as many of them: up to 0.1 s after
    the limits were set a number of times."""
    sandbox.start_caps(times=3, hold_s=0.1)
    assert sandbox.wait_for_exit() == 0, sandbox.output
    assert sandbox.settings == FOUND
    usual_sets = count_sets(sandbox)
    assert usual_sets == 12, "three times set and three times restored, on two boards"
    generator = random.Random(f"{SEED} {sandbox.meter}")
    for _ in range(3 * KILLS):
        kill = generator.choice((*WITH_WATCHDOG, *WITHOUT_WATCHDOG))
        sets, delay_s = generator.randrange(usual_sets), generator.uniform(0, 0.1)
        moment = f"{kill.__name__} {delay_s:.3f} s after {sets} limits were set"
        sets += count_sets(sandbox)
        sandbox.start_caps(times=3, hold_s=0.1)
        wait_for(lambda sets=sets: count_sets(sandbox) >= sets, step_s=0.001)
        time.sleep(delay_s)
        kill(sandbox)
        sandbox.wait_for_exit()
        if kill in WITH_WATCHDOG:
            assert sandbox.settings == FOUND, moment
        if sandbox.journal.exists():
            restored = sandbox.run_command("restore")
            assert restored.returncode == 0, (moment, restored.stdout)
        assert sandbox.settings == FOUND and not sandbox.journal.exists(), moment


def count_sets(sandbox: LibrarySandbox) -> int:
    return sum(board.sets for board in sandbox.boards.board[:2])
