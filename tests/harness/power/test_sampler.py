"""The sampling process: its rhythm, its table, its end; with the loop alone where a fault is
needed."""

import csv
import io
import itertools
import json
import os
import threading
import time

import pytest
from support.kills import wait_for

from harness.power.reading_process import SamplerError, SamplesUnwritable
from harness.power.sampler import LatestReading, Sampler, Settings, _Loop
from harness.power.source import Device, PowerSource, Readback
from rules.bundle_format.records import OPTIONAL_SAMPLE_COLUMNS, SAMPLE_COLUMNS, Reading

NAMES = ("SIM-H200-0", "SIM-H200-3")
MS = 1_000_000


def read_rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def make_settings(tmp_path, meter="simulated:h200", accelerators=NAMES):
    return Settings(meter, accelerators, "node0", 100, str(tmp_path))


def test_samples_lie_on_an_absolute_grid_and_say_when_they_were_taken(tmp_path):
    with Sampler(make_settings(tmp_path)) as sampler:
        time.sleep(1.0)
        messages = sampler.stop()
    rows_read = read_rows(tmp_path / "samples.csv")
    assert tuple(rows_read[0]) == SAMPLE_COLUMNS + OPTIONAL_SAMPLE_COLUMNS
    for name in NAMES:
        board_rows = [r for r in rows_read if r["accelerator"] == name]
        scheduled = [int(r["scheduled_ns"]) for r in board_rows]
        assert all(s % (100 * MS) == 0 for s in scheduled)
        assert len(board_rows) == messages["ticks"]
        assert (scheduled[-1] - scheduled[0]) // (100 * MS) + 1 == messages["ticks"] + messages[
            "missed"
        ]
        assert all(int(r["read_ns"]) >= int(r["scheduled_ns"]) for r in board_rows)
        assert {r["status"] for r in board_rows} == {"ok"} and all(
            r["power_mw"] and not r["mem_temp_c"] for r in board_rows
        )


def test_flush_puts_every_sample_so_far_on_disk(tmp_path):
    with Sampler(make_settings(tmp_path)) as sampler:
        time.sleep(1.0)
        assert len(read_rows(tmp_path / "samples.csv")) == 0
        sampler.flush()
        assert len(read_rows(tmp_path / "samples.csv")) >= 6


def test_latest_readings_are_those_of_the_last_tick_also_directly_after_a_flush(tmp_path):
    with Sampler(make_settings(tmp_path)) as sampler:
        time.sleep(0.7)
        before = sampler.read_latest()
        sampler.flush()
        flushed = len(read_rows(tmp_path / "samples.csv")) // len(NAMES)
        after = sampler.read_latest()
    rows_read = read_rows(tmp_path / "samples.csv")
    assert len(before) == len(after) == len(NAMES)
    for uuid, earlier, later in zip(NAMES, before, after, strict=True):
        ticks = [
            LatestReading(*(int(row[name]) for name in LatestReading._fields))
            for row in rows_read
            if row["accelerator"] == uuid
        ]
        # Ticks may lie between the commands.
        assert earlier in ticks[max(1, flushed - 3) : flushed]
        assert later in ticks[ticks.index(earlier) :]


def test_power_of_an_epoch_is_the_mean_of_its_samples(tmp_path):
    with Sampler(make_settings(tmp_path)) as sampler:
        time.sleep(0.5)
        start_ns = time.monotonic_ns()
        time.sleep(1.0)
        end_ns = time.monotonic_ns()
        time.sleep(0.5)
        power_w = sampler.measure_power(start_ns, end_ns)
        nothing = sampler.measure_power(start_ns - 1, start_ns)
        sampler.stop()
    for uuid, mean_w in zip(NAMES, power_w, strict=True):
        epoch_w = [
            int(r["power_mw"]) / 1e3
            for r in read_rows(tmp_path / "samples.csv")
            if r["accelerator"] == uuid and start_ns <= int(r["read_ns"]) <= end_ns
        ]
        assert len(set(epoch_w)) > 5, "or a mean is no other than a reading"
        assert mean_w == pytest.approx(sum(epoch_w) / len(epoch_w))
    assert nothing == (None, None)


def test_window_has_the_samples_on_either_side_also_directly_after_a_flush(tmp_path):
    with Sampler(make_settings(tmp_path)) as sampler:
        wait_for(lambda: None not in sampler.measure_power(0, time.monotonic_ns()))
        sampler.flush()
        start_ns = time.monotonic_ns()
        end_ns = start_ns + 150 * MS
        windows = sampler.read_window(start_ns, end_ns)
        sampler.stop()
    assert len(windows) == len(NAMES)
    for uuid, window in zip(NAMES, windows, strict=True):
        assert window[0].read_ns <= start_ns < window[1].read_ns
        assert window[-2].read_ns < end_ns <= window[-1].read_ns
        rows_read = read_rows(tmp_path / "samples.csv")
        row = {name: int(value) for name, value in window[-1]._asdict().items() if value}
        assert [
            {name: int(r[name]) for name in row}
            for r in rows_read
            if r["accelerator"] == uuid and int(r["read_ns"]) == row["read_ns"]
        ] == [row]


def test_readback_gives_limits_of_every_accelerator(tmp_path):
    with Sampler(make_settings(tmp_path)) as sampler:
        states = sampler.readback([os.getpid()])
    assert [s["accelerator"] for s in states] == list(NAMES)
    assert {s["enforced_mw"] for s in states} == {700_000}


def test_samples_are_on_disk_when_the_harness_is_gone(tmp_path):
    sampler = Sampler(make_settings(tmp_path)).__enter__()
    time.sleep(1.0)
    sampler._child.process.stdin.close()  # what the kernel does when the harness is killed
    sampler._child.process.wait(60)
    assert len(read_rows(tmp_path / "samples.csv")) >= 6


def test_a_meter_that_cannot_be_opened_is_said(tmp_path):
    with (
        pytest.raises(SamplerError, match="no simulated accelerator 'abacus'"),
        Sampler(make_settings(tmp_path, "simulated:abacus")),
    ):
        pass


def test_a_sampler_that_dies_is_noticed(tmp_path):
    with Sampler(make_settings(tmp_path)) as sampler:
        sampler._child.process.kill()
        with pytest.raises(SamplerError, match="ended by itself"):
            sampler.flush()
            sampler.flush()


def test_samples_that_cannot_be_written_are_named_with_a_remedy(tmp_path):
    (tmp_path / "samples.csv").symlink_to("/dev/full")
    with Sampler(make_settings(tmp_path)) as sampler:
        time.sleep(0.3)
        with pytest.raises(SamplesUnwritable) as caught:
            sampler.flush()
    message = f"{tmp_path}/samples.csv: cannot be written: No space left on device ("
    assert str(caught.value).startswith(message) and "make room" in str(caught.value)


def test_a_slow_disk_does_not_hold_up_the_next_reading(tmp_path, monkeypatch):
    table, source = (tmp_path / "table.csv").open("w"), SteadySource()
    messages: list[dict] = []
    reads_meanwhile: list[int] = []

    def sync_slowly(descriptor: int) -> None:
        if not reads_meanwhile:
            first, end_s = source.reads, time.monotonic() + 60
            while source.reads < first + 3 and time.monotonic() < end_s:
                time.sleep(0.01)
            reads_meanwhile.append(source.reads - first)

    monkeypatch.setattr("harness.power.reading_process.os.fsync", sync_slowly)
    read_end, write_end = os.pipe()
    loop = _Loop(source, make_settings(tmp_path, accelerators=("X",)), table, messages.append)
    os.write(write_end, b'{"command": "flush"}\n')
    with os.fdopen(read_end, "rb", buffering=0) as commands:
        threading.Timer(1.5, lambda: os.write(write_end, b'{"command": "stop"}\n')).start()
        loop.run(commands)
    os.close(write_end)
    assert reads_meanwhile == [3]
    assert {"kind": "flushed"} in messages


class SteadySource:
    def __init__(self) -> None:
        self.reads = 0

    def read(self, uuid: str) -> Reading:
        self.reads += 1
        return Reading(power_mw=1000)


class SlowSource:
    """A meter whose fourth reading takes 350 ms and whose sixth fails."""

    def __init__(self) -> None:
        self.calls = 0

    def read(self, uuid: str) -> Reading:
        self.calls += 1
        if self.calls == 4:
            time.sleep(0.35)
        return Reading(status="lost") if self.calls == 6 else Reading(power_mw=self.calls * 1000)

    def readback(self, uuid: str, own_pids: frozenset[int]) -> Readback:
        return Readback()


def test_missed_ticks_are_counted_and_never_caught_up(tmp_path):
    table, messages = (tmp_path / "table.csv").open("w"), []
    read_end, write_end = os.pipe()
    loop = _Loop(SlowSource(), make_settings(tmp_path, accelerators=("X",)), table, messages.append)
    with os.fdopen(read_end, "rb", buffering=0) as commands:
        real_tick = loop.tick

        def tick(scheduled_ns: int) -> None:
            real_tick(scheduled_ns)
            if loop.ticks == 8:
                os.write(write_end, json.dumps({"command": "stop"}).encode() + b"\n")

        loop.tick = tick
        loop.run(commands)
    os.close(write_end)
    rows_read = list(csv.DictReader(io.StringIO((tmp_path / "table.csv").read_text())))
    steps = [
        (int(b["scheduled_ns"]) - int(a["scheduled_ns"])) / (100 * MS)
        for a, b in itertools.pairwise(rows_read)
    ]
    assert steps[3] >= 4 and all(step in range(1, 100) for step in steps)
    assert loop.missed == sum(steps) - len(steps)
    assert len(rows_read) == loop.ticks == 9  # one more after the word to stop
    assert (rows_read[5]["status"], rows_read[5]["power_mw"]) == ("lost", "")


def test_rows_are_forced_to_disk_after_they_are_written(tmp_path, monkeypatch):
    path, forced = tmp_path / "table.csv", []
    monkeypatch.setattr(
        "harness.power.reading_process.os.fsync", lambda descriptor: forced.append(path.read_text())
    )
    with path.open("w") as table:
        loop = _Loop(SteadySource(), make_settings(tmp_path, accelerators=("X",)), table, print)
        loop.tick(100 * MS)
        loop.flush().result()
        assert forced == [path.read_text()] and len(read_rows(path)) == 1


class StampedSource(PowerSource):
    """Notes when it is read, and has averaged power alone, as CPU packages have."""

    def __init__(self) -> None:
        self.read_ns: list[int] = []

    @classmethod
    def open(cls, argument: str) -> "StampedSource":
        return cls()

    def devices(self) -> list[Device]:
        return []

    def read(self, uuid: str) -> Reading:
        self.read_ns.append(time.monotonic_ns())
        return Reading(power_avg_mw=42_000)


def test_a_sample_has_the_time_at_which_its_reading_began(tmp_path):
    """The reading itself can take a while, so its end would be late."""
    source, path = StampedSource(), tmp_path / "table.csv"
    with path.open("w") as table:
        loop = _Loop(
            source, make_settings(tmp_path, accelerators=("X", "Y")), table, lambda _: None
        )
        before_ns = time.monotonic_ns()
        loop.tick(100 * MS)
        loop.flush().result()
    stamps = [before_ns, *(int(row["read_ns"]) for row in read_rows(path))]
    assert stamps[0] <= stamps[1] <= source.read_ns[0] <= stamps[2] <= source.read_ns[1]


def test_power_shown_is_the_average_where_a_meter_has_no_other(tmp_path):
    messages: list[dict] = []
    with (tmp_path / "table.csv").open("w") as table:
        loop = _Loop(
            StampedSource(), make_settings(tmp_path, accelerators=("X",)), table, messages.append
        )
        loop.tick(100 * MS)
        loop.execute({"command": "power", "start_ns": 0, "end_ns": time.monotonic_ns()})
    assert messages == [{"kind": "power", "power_w": [42.0]}]


def test_the_sampler_is_in_a_session_of_its_own(tmp_path):
    """An interrupt typed at the terminal goes to the process group of the harness; the sampler ends
    when the harness tells it to."""
    with Sampler(make_settings(tmp_path)) as sampler:
        pid = sampler._child.process.pid
        assert os.getsid(pid) == os.getpgid(pid) == pid != os.getsid(0)


def test_files_of_the_working_directory_do_not_shadow_modules_of_the_sampler(tmp_path, monkeypatch):
    (tmp_path / "harness.py").write_text("raise SystemExit('the wrong module')\n")
    monkeypatch.chdir(tmp_path)
    with Sampler(make_settings(tmp_path)) as sampler:
        assert sampler.stop()["ticks"] >= 1


def test_commands_that_arrive_together_are_all_answered(tmp_path):
    with Sampler(make_settings(tmp_path)) as sampler:
        sampler._child.process.stdin.write(
            '{"command": "flush"}\n{"command": "flush"}\n{"command": "flush"}\n'
        )
        sampler._child.process.stdin.flush()
        for _ in range(3):
            sampler._receive("flushed")


def test_the_sampler_has_ended_when_its_block_is_left(tmp_path):
    with Sampler(make_settings(tmp_path)) as sampler:
        pass
    assert sampler._child.process.poll() is not None


class TimedBoards:
    """Two boards, the second of which is read 2 ns after the first."""

    def __init__(self) -> None:
        self.read_ns = 0

    def choose_phase_ns(self) -> int:
        return 30 * MS

    def read(self) -> list[tuple[int, Reading]]:
        self.read_ns += 10
        return [(self.read_ns + late_ns, Reading(power_mw=1000)) for late_ns in (0, 2)]


@pytest.fixture
def timed_loop(tmp_path):
    """A loop over `TimedBoards`, and the messages that it sends."""
    messages: list[dict] = []
    with (tmp_path / "table.csv").open("w") as table:
        loop = _Loop(SteadySource(), make_settings(tmp_path), table, messages.append)
        loop._boards = TimedBoards()
        yield loop, messages


def ask_window(loop: _Loop, start_ns: int, end_ns: int) -> None:
    loop.execute({"command": "window", "start_ns": start_ns, "end_ns": end_ns})


def read_times(message: dict) -> list[list[int]]:
    return [[sample.read_ns for sample in board] for board in message["samples"]]


@pytest.mark.parametrize(
    ("window_ns", "first_board_ns", "second_board_ns"),
    [
        ((20, 40), [20, 30, 40], [12, 22, 32, 42]),
        ((22, 42), [20, 30, 40, 50], [22, 32, 42]),
        ((21, 29), [20, 30], [12, 22, 32]),
        ((5, 25), [10, 20, 30], [12, 22, 32]),
    ],
)
def test_window_has_the_samples_from_the_last_before_it_to_the_first_after_it(
    timed_loop, window_ns, first_board_ns, second_board_ns
):
    loop, messages = timed_loop
    for _ in range(5):
        loop.tick(100 * MS)
    ask_window(loop, *window_ns)
    assert [read_times(message) for message in messages] == [[first_board_ns, second_board_ns]]


def test_window_is_sent_once_when_a_sample_of_each_board_follows_it(timed_loop):
    loop, messages = timed_loop
    loop.tick(100 * MS)
    # The second board has been read at 12 ns, the first one has not.
    ask_window(loop, 10, 11)
    assert messages == []
    for _ in range(2):
        loop.tick(100 * MS)
    assert [read_times(message) for message in messages] == [[[10, 20], [12]]]


def test_window_has_the_sample_before_it_also_after_two_flushes(timed_loop):
    loop, messages = timed_loop
    loop.tick(100 * MS)
    for _ in range(2):
        loop.flush().result()
    ask_window(loop, 15, 19)
    loop.tick(100 * MS)
    assert [read_times(message) for message in messages] == [[[10, 20], [12, 22]]]


@pytest.mark.parametrize(("asked_ms", "deadline_ms"), [(100, 530), (460, 530), (500, 630)])
def test_first_tick_is_the_phase_after_the_next_multiple_of_the_interval(
    timed_loop, monkeypatch, asked_ms, deadline_ms
):
    """Finding the phase takes time, so the multiple is the next one after it."""
    loop, _ = timed_loop
    monkeypatch.setattr("harness.power.sampler.time.monotonic_ns", lambda: 450 * MS)
    assert loop.first_deadline_ns(asked_ms * MS) == deadline_ms * MS
