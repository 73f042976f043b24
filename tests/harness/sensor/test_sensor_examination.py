"""`bench-submit doctor --sensor` on simulated boards with declared filters, in simulated time."""

import csv
import gzip
import json
import signal
import time
from functools import cache, partial

import pytest
from click.testing import CliRunner

from harness.cli import main
from harness.errors import MeterError
from harness.power.source import Device, Readback
from harness.power.sources.simulated import SimulatedSource
from harness.sensor import command
from harness.sensor.load import ComputingLoad, SimulatedLoad
from harness.sensor.recording import Recording, record
from harness.sensor.stages import STAGES, Stage
from harness.simulation.boards import Boards
from rules.metrics.sensor.examination import (
    AVERAGE,
    BUFFER,
    COUNTER,
    POWER,
    SensorExamination,
    examine_readings,
)

BOARD = "SIM-H200-0"
STARTED_NS = 10_000_037_000_000


def test_pulses_begin_once_a_period():
    pulses = Stage("pulses", duration_s=6.0, period_s=2.0, on_s=0.5).make_pulses(7)
    assert pulses == [(start + 7, start + 500_000_007) for start in (0, 2 * 10**9, 4 * 10**9)]


SHORT_STAGES = [stage for stage in STAGES if not stage.name.startswith("batches")]


class SimulatedTime:
    """A clock that only sleeping advances."""

    def __init__(self) -> None:
        self.now_ns = STARTED_NS

    def __call__(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        # Twice as long as asked: half of the reads are enough.
        self.now_ns += round(2e9 * seconds)


def open_boards(argument: str) -> tuple[SimulatedSource, SimulatedTime]:
    clock = SimulatedTime()
    boards = Boards(argument, load=lambda: 0.0, clock=clock)
    ask = lambda method, **arguments: boards.answer(method, arguments)  # noqa: E731
    return SimulatedSource(ask, clock=clock), clock


@cache
def examine(argument: str) -> SensorExamination:
    source, clock = open_boards(argument)
    load = SimulatedLoad(source, BOARD, clock)
    recording = record(source, BOARD, load, SHORT_STAGES, clock, clock.sleep)
    return examine_readings(
        recording.get_readings(), recording.get_pulses(), recording.get_stages()
    )


@pytest.mark.parametrize(
    ("refresh", "window", "delay", "coverage"), [(100, 25, 10, 100), (50, 80, 40, 20)]
)
def test_declared_filters_are_found(refresh: int, window: int, delay: int, coverage: int) -> None:
    responses = examine(
        f"h200,refresh={refresh},window={window},delay={delay},coverage={coverage}"
    ).responses
    power, counter = responses[POWER], responses[COUNTER]
    assert 1e3 * power.period_s == pytest.approx(refresh, abs=1)
    assert 1e3 * power.window_s == pytest.approx(window, abs=3)
    assert 1e3 * power.delay_s == pytest.approx(delay, abs=3)
    assert 1e3 * counter.period_s == pytest.approx(refresh, abs=1)
    # Whether the counter adds up all of the time shows in its window.
    assert 1e3 * counter.window_s == pytest.approx(coverage, abs=3)
    assert 1e3 * counter.delay_s == pytest.approx(delay, abs=3)
    assert 1e3 * responses[BUFFER].window_s == pytest.approx(20, abs=2)
    # Of all sensors, the power of the board follows its load with the lag of the simulation.
    assert 1e3 * counter.rise_s == pytest.approx(50, abs=3)


def test_board_without_declared_filters_has_no_buffer_and_no_window() -> None:
    responses = examine("h200").responses
    assert BUFFER not in responses
    assert responses[POWER].window_s < 0.02
    assert responses[COUNTER].window_s == pytest.approx(0.1, abs=0.005)
    # The simulated average is an exponential one of 1 s.
    assert responses[AVERAGE].rise_s == pytest.approx(1.0, abs=0.05)


def test_counter_that_covers_a_part_misses_energy_of_short_bursts_only_by_chance() -> None:
    whole, quarter = (
        examine("h200,refresh=100,window=25,delay=10,coverage=100"),
        examine("h200,refresh=50,window=80,delay=40,coverage=20"),
    )
    for examination in (whole, quarter):
        stages = {stage.name: stage for stage in examination.stages}
        assert stages["steady, on"].mean_w[COUNTER] == pytest.approx(696.5, abs=0.5)
        bursts = stages["bursts of 50 ms"]
        assert 0.15 < bursts.load_share < 0.18
        assert bursts.mean_w[COUNTER] == pytest.approx(bursts.expected_w, rel=0.02)


def test_pulse_that_is_on_when_its_stage_ends_ends_with_it() -> None:
    source, clock = open_boards("h200")
    load = SimulatedLoad(source, BOARD, clock)
    load.play([(clock(), clock() + 1_000_000), (clock() + 2_000_000, clock() + 9_000_000)])
    times_ns = []
    for _ in range(3):
        load.advance()
        times_ns.append(clock())
        clock.sleep(0.001)
    assert load.finish() == [tuple(times_ns[:2]), (times_ns[1], clock())]


def test_command_prints_80_columns_and_writes_all_reads(tmp_path, monkeypatch) -> None:
    source, clock = open_boards("h200,refresh=100,window=25")
    monkeypatch.setattr(source, "devices", lambda: [Device(BOARD, "Simulated H200", "simulated")])
    monkeypatch.setattr(command, "open_source", lambda meter: source)
    monkeypatch.setattr(command, "STAGES", STAGES[:4])
    monkeypatch.setattr(command, "record", partial(record, clock=clock, sleep=clock.sleep))
    monkeypatch.setattr(time, "monotonic_ns", clock)
    arguments = ["doctor", "--meter", "simulated:h200,refresh=100", "--sensor", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert all(len(line.rstrip()) <= 80 for line in lines if not line.startswith("all reads"))
    assert any(line.split()[:2] == ["power", "100.0"] for line in lines), result.output
    document = json.loads((tmp_path / f"sensor-{BOARD}.json").read_text())
    assert document["responses"][POWER]["window_s"] == pytest.approx(0.025, abs=0.003)
    with gzip.open(tmp_path / f"sensor-{BOARD}.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    assert {"load", POWER, AVERAGE, COUNTER, BUFFER, "sm_mhz"} <= {row["quantity"] for row in rows}
    assert sum(row["quantity"] == "load" for row in rows) == 1 + 8 + 25


def test_board_on_which_others_compute_is_refused(tmp_path, monkeypatch) -> None:
    source, _ = open_boards("h200")
    monkeypatch.setattr(source, "readback", lambda *_: Readback(foreign_processes=2))
    monkeypatch.setattr(command, "open_source", lambda meter: source)
    result = CliRunner().invoke(main, ["doctor", "--meter", "simulated", "--sensor", str(tmp_path)])
    assert result.exit_code == 3
    assert f"{BOARD}: 2 processes compute on this board" in result.output
    assert "Traceback" not in result.output


def test_no_meter_is_a_clear_error(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(command, "measuring_meters", lambda: ["rapl"])

    def refuse(meter: str) -> None:
        raise MeterError("there is no RAPL here")

    monkeypatch.setattr(command, "open_source", refuse)
    result = CliRunner().invoke(main, ["doctor", "--sensor", str(tmp_path)])
    assert result.exit_code == 3
    assert "no meter can be used: rapl: there is no RAPL here" in result.output


def test_computing_process_keeps_to_its_pulses_and_its_end_is_told() -> None:
    with ComputingLoad({}, "cpu") as load:
        start_ns = time.monotonic_ns() + 50_000_000
        pulses = [(start_ns, start_ns + 30_000_000), (start_ns + 80_000_000, start_ns + 90_000_000)]
        load.play(pulses)
        played = load.finish()
        for (planned_start, planned_end), (start, end) in zip(pulses, played, strict=True):
            assert planned_start <= start < end and end >= planned_end
        load._child.process.kill()
        # The pulses still reach the pipe of a process that is ending, and not that of an ended one.
        with pytest.raises(MeterError, match="has ended with status -9"):
            load.play(pulses)
            load.finish()


def test_computing_process_that_hangs_is_told(monkeypatch) -> None:
    monkeypatch.setattr("harness.sensor.load.ANSWER_TIMEOUT_S", 0.2)
    with ComputingLoad({}, "cpu") as load:
        load._child.process.send_signal(signal.SIGSTOP)
        load.play([])
        with pytest.raises(MeterError, match="did not answer within 0 s; see whether other proc"):
            load.finish()


def test_recording_without_pulses_has_none() -> None:
    recording = Recording(stages=[("steady, off", 0, 10)])
    assert [len(times) for times in recording.get_pulses()] == [0, 0]
