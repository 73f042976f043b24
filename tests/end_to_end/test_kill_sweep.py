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
    Room,
    command_line,
    fill,
    limit_files,
    opened,
    processes_of,
    small_disk,
    wait_for,
)  # fmt: skip

from checker.engine import judge
from harness.cli import main
from harness.power.cap_journal import JOURNAL_FILE
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


def cases(
    kind: str, kills: int = (KILLS + 1) // 2, signs: tuple[str, ...] = SIGNS
) -> pytest.MarkDecorator:
    """Of which run, after which of its signs, and how many seconds later."""
    drawn = random.Random(f"{SEED} sweep {kind}")
    made = [
        (drawn.choice((1, 2)), drawn.choice(signs), round(drawn.uniform(0, 0.5), 2))
        for _ in range(kills)
    ]
    return pytest.mark.parametrize(
        "moment", made, ids=lambda m: "-".join(f"run {m[0]} {m[1]} {m[2]}".split())
    )


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with opened(tmp_path) as made:
        yield made


def begin(room: Room, moment: tuple[int, str, float]) -> Path:
    """Start a sweep and wait for a moment of it; the plan's path."""
    place, sign, later_s = moment
    room.start(*SWEEP, "-o", str(room.out))
    wait_for(
        lambda: sign in room.said.partition(f"run {place} of {len(CAPS_W)}:")[2] or ended(room)
    )
    time.sleep(later_s)
    (path,) = room.out.glob("*.sweep.json")
    return path


def ended(room: Room) -> bool:
    assert room.process is not None
    return room.process.poll() is not None


def bundles(room: Room) -> dict[str, bytes]:
    """The manifest of every bundle that passes, by the bundle's name. It vouches for the other
    files."""
    return {
        path.name: (path / "MANIFEST.json").read_bytes()
        for path in room.bundles
        if judge(path, signed=False).status == "pass"
    }


def caps_are_back(room: Room) -> None:
    """Wait for it; where the watchdog was killed too, or the kill came before it stood by,
    `restore` brings them back."""
    wait_for(lambda: not processes_of(room.out) and not processes_of(room.state / JOURNAL_FILE))
    restored = CliRunner().invoke(main, ["restore"])
    assert restored.exit_code == 0, restored.output
    assert room.caps_mw == {FOUND_MW} and not (room.state / JOURNAL_FILE).exists()


def resumes_to_the_same_set(room: Room, path: Path, plan: bytes, kept: dict[str, bytes]) -> None:
    """A disturbed machine may spoil a run, which is then made again by another resume; a finished
    one is never touched."""
    for _ in range(3):
        room.start("sweep", "--resume", str(path))
        status = room.ends()
        assert (
            f"{len(kept)} of {len(CAPS_W)} runs finished so far" in room.said
            and "Traceback" not in room.said
        ), room.said
        assert kept.items() <= bundles(room).items()
        assert room.caps_mw == {FOUND_MW} and not (room.state / JOURNAL_FILE).exists()
        if status == 0:
            break
        kept = bundles(room)
    assert status == 0, room.said
    assert path.read_bytes() == plan
    results = [json.loads((room.out / name / "result.json").read_text()) for name in bundles(room)]
    planned = [
        (entry["place"], entry["cap_w"], entry["repeat"]) for entry in json.loads(plan)["entries"]
    ]
    assert Counter(
        (r["sweep"]["place"], r["power"]["cap_w"], r["sweep"]["repeat"]) for r in results
    ) == Counter(planned)
    stray = [line for line in room.said.splitlines() if line.startswith("not needed")]
    assert all(any(str(left) in line for line in stray) for left in room.unfinished), room.said


@cases("sigkill", KILLS)
def test_sigkill_to_the_sweep(room: Room, moment: tuple[int, str, float]) -> None:
    path = begin(room, moment)
    plan = path.read_bytes()
    room.process.kill()
    room.ends()
    caps_are_back(room)
    resumes_to_the_same_set(room, path, plan, bundles(room))


@cases("sigterm")
def test_sigterm_to_the_sweep(room: Room, moment: tuple[int, str, float]) -> None:
    path = begin(room, moment)
    plan = path.read_bytes()
    room.process.terminate()
    status = room.ends()
    assert status in (0, 128 + signal.SIGTERM), room.said
    assert status == 0 or f"resume it with: bench-submit sweep --resume {path}" in room.said
    assert (
        room.caps_mw == {FOUND_MW} and not (room.state / JOURNAL_FILE).exists()
    )  # nothing is left to restore
    resumes_to_the_same_set(room, path, plan, bundles(room))


@pytest.mark.parametrize("part", ["worker", "sampler"])
@cases("part", signs=SIGNS[1:6])
def test_sigkill_to_a_part_of_a_run_costs_that_run_alone(
    room: Room, part: str, moment: tuple[int, str, float]
) -> None:
    path = begin(room, moment)
    plan = path.read_bytes()
    wait_for(lambda: room.part(part) is not None or ended(room))
    pid = room.part(part)
    assert pid is not None, room.said
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not command_line(pid))
    status = room.ends()
    kept = bundles(room)
    assert status in (0, 1) and "Traceback" not in room.said, room.said
    assert len(kept) == len(CAPS_W) if status == 0 else len(kept) < len(CAPS_W), (
        room.said
    )  # 0 where the part had done its work
    assert (
        "run 2 of 2" in room.said
        and room.caps_mw == {FOUND_MW}
        and not (room.state / JOURNAL_FILE).exists()
    )
    resumes_to_the_same_set(room, path, plan, kept)


@cases("disk")
def test_a_disk_that_becomes_full_and_has_room_again(
    tmp_path: Path, moment: tuple[int, str, float]
) -> None:
    with small_disk(tmp_path) as small, opened(tmp_path, small) as room:
        path = begin(room, moment)
        plan = path.read_bytes()
        if small is None:
            limit_files([room.pid, *list_descendants([room.pid])])
        else:
            fill(small)
        room.ends()
        assert "Traceback" not in room.said, room.said
        if small is not None:
            (small / "filler").unlink()
        caps_are_back(room)
        resumes_to_the_same_set(room, path, plan, bundles(room))
