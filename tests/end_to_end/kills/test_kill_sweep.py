"""Sweeps that are ended at random moments: no finished run is lost, the caps that were found come
back, and the sweep resumes to the same set of runs.

`WATTMARK_KILLS` says how many moments of a SIGKILL to the harness are tried, and half as many of
each other kind (default 2: two and one; six sweeps of two caps, about four minutes on two cores).
"""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.kills import (
    KILLS,
    SEED,
    Sandbox,
    fill_disk,
    find_processes,
    limit_files,
    mount_small_disk,
    open_sandbox,
    read_command_line,
    wait_for,
)  # fmt: skip

from checker.engine import judge
from harness.cli import main
from harness.power.caps.journal import JOURNAL_FILE
from harness.processes import list_descendants

CAPS_W = (300, 500)
FOUND_MW = 700_000
SWEEP = (
    "sweep",
    "resnet50-train",
    "--simulate",
    "h200",
    "--epoch-seconds",
    "0.3",
    "--caps",
    ",".join(map(str, CAPS_W)),
)
SIGNS = ("repeat 1", "built in", *(f"epoch {epoch:2d}" for epoch in range(11)), "bundle:")
"""What a run says on its way, so that a kill comes when it is to come on any machine."""
pytestmark = pytest.mark.xdist_group("kill-sweep")


def parametrize_moments(
    kind: str, kills: int = (KILLS + 1) // 2, signs: tuple[str, ...] = SIGNS
) -> pytest.MarkDecorator:
    """Of which run, after which of its signs, and how many seconds later."""
    generator = random.Random(f"{SEED} sweep {kind}")
    moments = [
        (generator.choice((1, 2)), generator.choice(signs), round(generator.uniform(0, 0.5), 2))
        for _ in range(kills)
    ]
    return pytest.mark.parametrize(
        "moment", moments, ids=lambda m: "-".join(f"run {m[0]} {m[1]} {m[2]}".split())
    )


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with open_sandbox(tmp_path) as new_sandbox:
        yield new_sandbox


def start_sweep(sandbox: Sandbox, moment: tuple[int, str, float]) -> Path:
    """Start a sweep and wait for a moment of it; the plan's path."""
    place, sign, later_s = moment
    sandbox.start(*SWEEP, "-o", str(sandbox.out))
    wait_for(
        lambda: (
            sign in sandbox.output.partition(f"run {place} of {len(CAPS_W)}:")[2]
            or has_ended(sandbox)
        )
    )
    time.sleep(later_s)
    (path,) = sandbox.out.glob("*.sweep.json")
    return path


def has_ended(sandbox: Sandbox) -> bool:
    assert sandbox.process is not None
    return sandbox.process.poll() is not None


def read_manifests(sandbox: Sandbox) -> dict[str, bytes]:
    """The manifest of every bundle that passes, by the bundle's name. It vouches for the other
    files."""
    return {
        path.name: (path / "MANIFEST.json").read_bytes()
        for path in sandbox.bundles
        if judge(path, signed=False).status == "pass"
    }


def assert_caps_restored(sandbox: Sandbox) -> None:
    """Wait for it; where the watchdog was killed too, or the kill came before it stood by,
    `restore` brings them back."""
    wait_for(
        lambda: not find_processes(sandbox.out) and not find_processes(sandbox.state / JOURNAL_FILE)
    )
    restored = CliRunner().invoke(main, ["restore"])
    assert restored.exit_code == 0, restored.output
    assert sandbox.caps_mw == {FOUND_MW} and not (sandbox.state / JOURNAL_FILE).exists()


def assert_resumes_to_the_same_set(
    sandbox: Sandbox, path: Path, plan: bytes, finished_bundles: dict[str, bytes]
) -> None:
    """A disturbed machine may spoil a run, which is then made again by another resume; a finished
    one is never touched."""
    for _ in range(3):
        sandbox.start("sweep", "--resume", str(path))
        status = sandbox.wait_for_exit()
        assert (
            f"{len(finished_bundles)} of {len(CAPS_W)} runs finished so far" in sandbox.output
            and "Traceback" not in sandbox.output
        ), sandbox.output
        assert finished_bundles.items() <= read_manifests(sandbox).items()
        assert sandbox.caps_mw == {FOUND_MW} and not (sandbox.state / JOURNAL_FILE).exists()
        if status == 0:
            break
        finished_bundles = read_manifests(sandbox)
    assert status == 0, sandbox.output
    assert path.read_bytes() == plan
    results = [
        json.loads((sandbox.out / name / "result.json").read_text())
        for name in read_manifests(sandbox)
    ]
    planned = [
        (entry["place"], entry["cap_w"], entry["repeat"]) for entry in json.loads(plan)["entries"]
    ]
    assert Counter(
        (r["sweep"]["place"], r["power"]["cap_w"], r["sweep"]["repeat"]) for r in results
    ) == Counter(planned)
    stray = [line for line in sandbox.output.splitlines() if line.startswith("not needed")]
    assert all(
        any(str(unfinished_run) in line for line in stray) for unfinished_run in sandbox.unfinished
    ), sandbox.output


@parametrize_moments("sigkill", KILLS)
def test_sigkill_to_the_sweep(sandbox: Sandbox, moment: tuple[int, str, float]) -> None:
    path = start_sweep(sandbox, moment)
    plan = path.read_bytes()
    sandbox.process.kill()
    sandbox.wait_for_exit()
    assert_caps_restored(sandbox)
    assert_resumes_to_the_same_set(sandbox, path, plan, read_manifests(sandbox))


@parametrize_moments("sigterm")
def test_sigterm_to_the_sweep(sandbox: Sandbox, moment: tuple[int, str, float]) -> None:
    path = start_sweep(sandbox, moment)
    plan = path.read_bytes()
    sandbox.process.terminate()
    status = sandbox.wait_for_exit()
    assert status in (0, 128 + signal.SIGTERM), sandbox.output
    assert status == 0 or f"resume it with: bench-submit sweep --resume {path}" in sandbox.output
    assert (
        sandbox.caps_mw == {FOUND_MW} and not (sandbox.state / JOURNAL_FILE).exists()
    )  # nothing is left to restore
    assert_resumes_to_the_same_set(sandbox, path, plan, read_manifests(sandbox))


@pytest.mark.parametrize("part", ["worker", "sampler"])
@parametrize_moments("part", signs=SIGNS[1:6])
def test_sigkill_to_a_part_of_a_run_costs_that_run_alone(
    sandbox: Sandbox, part: str, moment: tuple[int, str, float]
) -> None:
    path = start_sweep(sandbox, moment)
    plan = path.read_bytes()
    wait_for(lambda: sandbox.find_process(part) is not None or has_ended(sandbox))
    # The run, or the sweep, can have ended meanwhile.
    pid = sandbox.find_process(part)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not read_command_line(pid))
    status = sandbox.wait_for_exit()
    finished_bundles = read_manifests(sandbox)
    assert status in (0, 1) and "Traceback" not in sandbox.output, sandbox.output
    assert (
        len(finished_bundles) == len(CAPS_W) if status == 0 else len(finished_bundles) < len(CAPS_W)
    ), sandbox.output  # 0 where the part had done its work
    assert (
        "run 2 of 2" in sandbox.output
        and sandbox.caps_mw == {FOUND_MW}
        and not (sandbox.state / JOURNAL_FILE).exists()
    )
    assert_resumes_to_the_same_set(sandbox, path, plan, finished_bundles)


@parametrize_moments("disk")
def test_a_disk_that_becomes_full_and_has_room_again(
    tmp_path: Path, moment: tuple[int, str, float]
) -> None:
    with mount_small_disk(tmp_path) as small_disk, open_sandbox(tmp_path, small_disk) as sandbox:
        path = start_sweep(sandbox, moment)
        plan = path.read_bytes()
        if small_disk is None:
            limit_files([sandbox.pid, *list_descendants([sandbox.pid])])
        else:
            fill_disk(small_disk)
        sandbox.wait_for_exit()
        assert "Traceback" not in sandbox.output, sandbox.output
        if small_disk is not None:
            (small_disk / "filler").unlink()
        assert_caps_restored(sandbox)
        assert_resumes_to_the_same_set(sandbox, path, plan, read_manifests(sandbox))
