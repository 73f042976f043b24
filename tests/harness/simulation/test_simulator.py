"""The simulated accelerators against the published figures that they are fitted to, their process,
and the work on them."""

import asyncio
import importlib.util
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.power.source import MeterError, Readback
from harness.power.sources import open_source
from harness.run.load_generator import LoadGenerator
from harness.run.recorder import EpochRecorder, HostClock
from harness.simulation import server as simulator
from harness.simulation import work as simulated_work
from harness.simulation.boards import Boards
from harness.simulation.throughput_model import Curve, fit
from harness.simulation.work import Rate, Server, build, train
from rules.contract import Job, Request, RequestSet
from rules.metrics.sweeps import Point, measured_peak
from rules.protocol import CURRENT

ROOT = Path(__file__).parents[3]
ROWS = json.loads((ROOT / "submissions/published/mayr2026.json").read_text())["rows"]
CURVES = sorted({(row["accelerator"], row["workload"]) for row in ROWS})
STATED_PEAKS_W = {  # Mayr et al. 2026, section 5; none is stated of the MI300X
    ("H100", "resnet50-train"): 300,
    ("H100", "sd2-train"): 300,
    ("H100", "llama3-8b-serve"): 300,
    ("H100", "vitl16-train"): 400,
    ("H100", "llama3-8b-pretrain"): 400,
    ("H200", "llama3-8b-pretrain"): 500,
    ("H200", "resnet50-train"): 400,
    ("H200", "vitl16-train"): 400,
    ("H200", "sd2-train"): 400,
    ("H200", "llama3-8b-serve"): 400,
}
S = 1_000_000_000
BOARD = "SIM-H200-0"


class Bench:
    """Boards whose clock a test sets."""

    def __init__(self, argument: str) -> None:
        self.now_ns = 0
        self.boards = Boards(argument, lambda: 0.0, lambda: self.now_ns)
        self.uuid = self.boards.devices()["devices"][0]["uuid"]

    def settled(self, workload: str, cap_w: float, readings: int = 50):
        """Items/s and mean power by the counter, of the workload at a cap, once the board has
        settled."""
        self.boards.set_cap(self.uuid, round(1e3 * cap_w))
        self.boards.work(self.uuid, workload)
        self.now_ns += S
        before = self.boards.read(self.uuid, self.now_ns)
        for _ in range(readings):
            self.now_ns += S // 10
            after = self.boards.read(self.uuid, self.now_ns)
        power_w = (after["energy_mj"] - before["energy_mj"]) / 1e3 / (readings / 10)
        return self.boards.rate(self.uuid), power_w


def rows_of(curve: tuple[str, str]) -> list[dict]:
    return [row for row in ROWS if (row["accelerator"], row["workload"]) == curve]


def points(curve: tuple[str, str]) -> list[Point]:
    """A sweep of simulated boards over the published caps."""
    bench, found = Bench(curve[0].lower()), []
    for row in rows_of(curve):
        items_per_s, power_w = bench.settled(curve[1], row["cap_w"])
        enforced = power_w <= row["cap_w"] * CURRENT.cap_tolerance
        found.append(Point(row["cap_w"], items_per_s, power_w / items_per_s, enforced))
    return found


def test_there_are_95_rows_and_a_curve_for_each():
    assert len(ROWS) == 95 and set(fit().curves) == set(CURVES)


@pytest.mark.parametrize("curve", CURVES, ids="-".join)
def test_every_published_throughput_comes_out_within_4_percent_and_caps_hold_where_they_did(curve):
    for row, point in zip(rows_of(curve), points(curve), strict=True):
        assert point.items_per_s == pytest.approx(row["items_per_s_per_accelerator"], rel=0.04)
        assert point.enforced == row["cap_enforced"]


@pytest.mark.parametrize("curve", STATED_PEAKS_W, ids="-".join)
def test_every_stated_efficiency_peak_comes_out_and_not_narrowly(curve):
    found = points(curve)
    peak = measured_peak(found)
    assert peak.cap_w == STATED_PEAKS_W[curve]
    assert all(
        p.items_per_joule < 0.985 * peak.items_per_joule for p in found if p.cap_w != peak.cap_w
    )


def test_no_peak_of_the_mi300x_is_at_a_cap_that_it_does_not_enforce():
    assert all(
        measured_peak(points(curve)).cap_w >= 400 for curve in CURVES if curve[0] == "MI300X"
    )


def test_the_clock_falls_with_the_cap():
    bench = Bench("h200")
    clocks = []
    for cap_w in (200, 300, 500, 700):
        bench.settled("resnet50-train", cap_w)
        clocks.append(bench.boards.read(bench.uuid, bench.now_ns)["sm_mhz"])
    assert clocks == sorted(set(clocks)) and clocks[-1] <= 1980


@pytest.mark.parametrize(("argument", "state"), [("h200", "P2"), ("mi300x", "low")])
def test_a_slower_state_is_slower_and_draws_less(argument, state):
    bench = Bench(argument)
    items_per_s, power_w = bench.settled("sd2-train", 500)
    bench.boards.set_state(bench.uuid, state)
    slower, less_w = bench.settled("sd2-train", 500)
    assert slower == pytest.approx(0.6 * items_per_s) and less_w < 0.8 * power_w


def test_a_reading_is_of_the_instant_when_it_was_asked_for_though_the_answer_is_late():
    bench = Bench("h200")
    bench.settled("sd2-train", 500)
    begin_ns = bench.now_ns
    bench.now_ns += S // 20
    first, second = (
        bench.boards.read(bench.uuid, begin_ns + after_ns) for after_ns in (S // 10, S // 10 * 3)
    )
    assert second["energy_mj"] - first["energy_mj"] == pytest.approx(500e3 * 0.2, rel=0.01)
    assert (
        bench.boards.read(bench.uuid, begin_ns)["energy_mj"] == second["energy_mj"]
    )  # no board goes back in time


def test_a_fault_of_some_readings_is_spread_evenly():
    bench = Bench("h200,drop=25,sentinel=50")
    bench.boards.work(bench.uuid, "sd2-train")
    readings = [bench.boards.read(bench.uuid, bench.now_ns) for _ in range(40)]
    assert [r["status"] != "ok" for r in readings] == [False, False, False, True] * 10
    assert sum(r["power_avg_mw"] == 65_535_000 for r in readings) == 15


def fitting():
    spec = importlib.util.spec_from_file_location("fit_boards", ROOT / "benchmarks/fit_boards.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_parameters_are_those_that_the_script_finds_and_the_page_shows_their_errors():
    script = fitting()
    stored = json.loads(script.PATH.read_text())["curves"]
    page = (ROOT / "docs/simulated.md").read_text()
    assert script.table(stored, {curve: rows_of(curve) for curve in CURVES}) in page
    stored_one, (key, rows) = stored[4], (CURVES[4], rows_of(CURVES[4]))
    assert (
        (stored_one.pop("accelerator"), stored_one.pop("workload"))
        == key
        == ("H100", "vitl16-train")
    )
    found = {
        name: value
        for name, value in script.curve(key, rows).items()
        if name not in ("accelerator", "workload")
    }
    for cap_w in (200, 400, 700):
        assert Curve(**found).items_per_s(cap_w) == pytest.approx(
            Curve(**stored_one).items_per_s(cap_w), rel=0.003
        )
        assert Curve(**found).power_w(cap_w) == Curve(**stored_one).power_w(cap_w)


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("b300", "no simulated accelerator 'b300'"),
        ("h200,explode", "no fault 'explode'; they have disobey, drift"),
        ("h200,disobey", "'disobey': give a number, as in disobey=400"),
        ("h200,drop=much", "'drop=much': give a number, as in drop=10"),
        ("h200,drop=-1", "'drop=-1': give a number"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_started(argument, told, monkeypatch):
    monkeypatch.delenv(simulator.VARIABLE, raising=False)
    with pytest.raises(MeterError, match=told), simulator.running(argument):
        pytest.fail("it was started")


@pytest.fixture
def boards(monkeypatch):
    """A simulator of H200s for the test; the path of its socket."""
    monkeypatch.delenv(simulator.VARIABLE, raising=False)
    with simulator.running("h200"):
        yield os.environ[simulator.VARIABLE]


def test_what_one_client_sets_another_sees_and_it_stays_when_all_have_gone(boards):
    one, other = open_source("simulated:h200"), open_source("simulated:h200")
    one.set_cap(BOARD, 400_000)
    assert other.readback(BOARD, frozenset()).enforced_mw == other.read(BOARD).cap_mw == 400_000
    one.set_state(BOARD, "P2")
    one.close()
    other.close()
    later = open_source("simulated:h200")
    assert (
        later.readback(BOARD, frozenset()).requested_mw == 400_000
        and later.read(BOARD).power_state == "P2"
    )
    assert (
        later.readback("SIM-H200-1", frozenset()).enforced_mw
        == later.readback(BOARD, frozenset()).default_mw
        == 700_000
    )
    later.close()


def test_limits_and_states_that_the_board_does_not_have_are_refused(boards):
    meter = open_source("simulated:h200")
    for cap_mw in (199_999, 700_001):
        with pytest.raises(MeterError, match="is refused; it takes 200 to 700 W"):
            meter.set_cap(BOARD, cap_mw)
    with pytest.raises(MeterError, match="no power state 'auto'; there are P0, P2"):
        meter.set_state(BOARD, "auto")
    assert meter.read(BOARD).cap_mw == 700_000
    meter.close()


def test_an_mi300x_takes_every_cap_from_0_as_its_driver_does():
    boards = Boards("mi300x")
    boards.set_cap("SIM-MI300X-0", 1000)
    assert boards.readback("SIM-MI300X-0") | {"min_mw": 0, "enforced_mw": 1000} == boards.readback(
        "SIM-MI300X-0"
    )
    with pytest.raises(MeterError, match="takes 0 to 750 W"):
        boards.set_cap("SIM-MI300X-0", 750_001)


def test_work_lasts_as_long_as_the_connection_that_put_it_on(boards):
    worker, watcher = simulator.Client(boards), simulator.Client(boards)
    assert worker.ask("work", uuid=BOARD, workload="resnet50-train") == fit().name
    assert watcher.ask("rate", uuid=BOARD) == pytest.approx(
        fit().curves["H200", "resnet50-train"].items_per_s(700)
    )
    worker.close()
    with pytest.raises(MeterError, match="there is no work on it"):
        wait_for(lambda: watcher.ask("rate", uuid=BOARD) is None)
    watcher.close()


def test_running_takes_the_simulator_that_is_there_and_leaves_it(boards):
    with simulator.running("h200") as directory:
        assert os.environ[simulator.VARIABLE] == boards and directory == Path(boards).parent
    open_source("simulated:h200").close()
    with pytest.raises(MeterError, match="holds h200, not h100"), simulator.running("h100"):
        pass


def test_running_leaves_nothing_behind(monkeypatch):
    monkeypatch.delenv(simulator.VARIABLE, raising=False)
    with simulator.running("mi300x") as directory:
        meter = open_source("simulated:mi300x")
    assert not directory.exists() and simulator.VARIABLE not in os.environ
    reading = meter.read("SIM-MI300X-0")
    assert "does not answer" in reading.status and reading.power_mw is None
    assert meter.readback("SIM-MI300X-0", frozenset()) == Readback()
    with pytest.raises(MeterError, match="does not answer"):
        meter.set_cap("SIM-MI300X-0", 400_000)


def test_a_simulator_that_is_named_and_not_there_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv(simulator.VARIABLE, str(tmp_path / "none"))
    with pytest.raises(
        MeterError, match=rf"{tmp_path}/none \(WATTMARK_SIMULATOR\) does not answer"
    ):
        open_source("simulated:h200")
    with pytest.raises(ValueError, match="does not answer"):
        build(Job("resnet50-train", "tuned", "smoke", 4, 1, "cpu", uuids=(BOARD,)))


def test_nonsense_is_refused_and_the_simulator_goes_on(boards):
    with socket.socket(socket.AF_UNIX) as raw, raw.makefile("rb") as answers:
        raw.connect(boards)
        for line in (
            b"nonsense",
            b"[]",
            b"{}",
            b'{"do": "answer"}',
            b'{"do": "read"}',
            b'{"do": "read", "uuid": ["x"]}',
            b"\xff",
        ):
            raw.sendall(line + b"\n")
            assert "refused" in json.loads(answers.readline())
        raw.sendall(b'{"do": "devi')
        raw.sendall(b'ces"}\n{"do": "devices"}\n')
        assert [json.loads(answers.readline())["said"]["argument"] for _ in range(2)] == [
            "h200",
            "h200",
        ]
    open_source("simulated:h200").close()


def wait_for(condition, within_s: float = 30) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_it_does_not_outlive_the_process_that_started_it(tmp_path):
    code = (
        "import sys, time; from harness import simulator\n"
        "print(simulator.start('h200', sys.argv[1]).pid, flush=True); time.sleep(600)"
    )
    path = tmp_path / "socket"
    starter = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    with starter, starter.stdout as told:
        pid = int(told.readline())
        simulator.Client(str(path)).close()
        starter.kill()
        wait_for(lambda: not alive(pid))


def test_it_ends_on_sigterm_and_takes_its_socket_away(tmp_path):
    path = tmp_path / "socket"
    process = simulator.start("h200", str(path))
    with pytest.raises(MeterError, match=r"the simulator did not start: .*Address already in use"):
        simulator.start("h200", str(path))
    simulator.Client(str(path)).close()
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0 and not path.exists()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class SlowClock:
    """A time module whose sleeps now and then last longer than asked for, as on a busy machine."""

    def __init__(self, late_s: float) -> None:
        self.now_s, self._late_s = 1000.0, itertools.cycle((late_s, 0.0, 0.0, 3 * late_s))

    def monotonic(self) -> float:
        self.now_s += 1e-6
        return self.now_s

    def monotonic_ns(self) -> int:
        return round(self.monotonic() * 1e9)

    def sleep(self, seconds: float) -> None:
        self.now_s += max(0.0, seconds) + next(self._late_s)

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def clock(monkeypatch):
    made = SlowClock(late_s=0.0007)
    monkeypatch.setattr(simulated_work, "time", made)
    monkeypatch.setattr("harness.run.recorder.time", made)
    monkeypatch.setattr("harness.run.load_generator.time", made)
    return made


def test_batches_make_up_for_a_machine_that_is_late(clock):
    epochs = []
    recorder = EpochRecorder(
        HostClock(), 3, 1.5, 0, lambda x: x, lambda *epoch: epochs.append(epoch)
    )
    train(recorder, lambda: 2000.0, 4, seed=1)
    for _, windows, _ in epochs:
        active_s = sum(w.end_ns - w.start_ns for w in windows) / 1e9
        assert sum(w.items for w in windows) / active_s == pytest.approx(2000, rel=0.004)
    losses = [losses[-1] for _, _, losses in epochs]
    assert losses == sorted(set(losses), reverse=True)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_server_makes_up_for_a_machine_that_is_late(clock, monkeypatch, concurrency):
    monkeypatch.setattr(
        simulated_work, "asyncio", SimpleNamespace(sleep=clock.sleep_async, Lock=asyncio.Lock)
    )
    ends, counts = [], []

    def ended(_epoch, answers):
        ends.append(answers[-1].end_ns / 1e9)
        counts.append(sum(a.output_tokens for a in answers))

    load = LoadGenerator(RequestSet(16, 8, concurrency), 512, 1, 4, 1.5, ended, lambda *_: None)
    asyncio.run(Server(lambda: 2000.0).drive(load))
    for begin_s, end_s, tokens in zip(ends, ends[1:], counts[1:], strict=False):
        assert tokens / (end_s - begin_s) == pytest.approx(2000, rel=0.005)
    assert load.tally["client_output_tokens"] == load.tally["server_output_tokens"]


def test_a_server_with_requests_in_line_does_not_wait_for_its_clients(clock, monkeypatch):
    monkeypatch.setattr(
        simulated_work, "asyncio", SimpleNamespace(sleep=clock.sleep_async, Lock=asyncio.Lock)
    )

    class TwoClients:
        async def drive(self, send, generated):
            await asyncio.gather(self._client(send), self._client(send))
            assert await generated() == 2 * 50 * 8

        async def _client(self, send):
            for _ in range(50):
                clock.now_s += 0.0005  # it thinks, while the other's request is served
                assert [p.output_tokens async for p in send(Request([1], 8))] == [1, 8]

    begin_s = clock.now_s
    asyncio.run(Server(lambda: 2000.0).drive(TwoClients()))
    assert 2 * 50 * 8 / (clock.now_s - begin_s) == pytest.approx(2000, rel=0.01)


def test_a_server_makes_up_for_a_standstill_at_no_more_than_twice_its_rate(clock, monkeypatch):
    monkeypatch.setattr(
        simulated_work, "asyncio", SimpleNamespace(sleep=clock.sleep_async, Lock=asyncio.Lock)
    )
    ends_s = []

    class Standstill:
        async def drive(self, send, generated):
            async def client():
                for _ in range(200):
                    [p async for p in send(Request([1], 8))]
                    ends_s.append(clock.now_s)
                    if len(ends_s) == 20:
                        clock.now_s += 10.0

            await asyncio.gather(client(), client())

    asyncio.run(Server(lambda: 2000.0).drive(Standstill()))
    after_s = ends_s[-1] - ends_s[21]
    assert 8 * (len(ends_s) - 22) / after_s < 2 * 2000


def test_the_rate_is_that_of_all_boards_and_follows_a_cap_that_changes(clock):
    bench = Bench("h200")
    uuids = [BOARD, "SIM-H200-1"]
    for uuid in uuids:
        bench.boards.work(uuid, "sd2-train")

    class Direct:
        def ask(self, do, **arguments):
            return bench.boards.answer(do, arguments)

    rate = Rate(Direct(), uuids)
    curve = fit().curves["H200", "sd2-train"]
    assert rate() == pytest.approx(2 * curve.items_per_s(700))
    bench.boards.set_cap(BOARD, 300_000)
    clock.sleep(simulated_work.ASK_AGAIN_S)
    assert rate() == pytest.approx(curve.items_per_s(300) + curve.items_per_s(700))


def test_what_simulated_work_cannot_do_is_refused(boards, monkeypatch):
    job = Job("resnet50-train", "tuned", "smoke", 4, 1, "cpu", uuids=(BOARD,))
    wrong = {
        "no figures are published of sd2-latents-train on H200": {"workload": "sd2-latents-train"},
        "takes no --option": {"options": {"a": "b"}},
        "there is no simulated board GPU-1": {"uuids": ("GPU-1",)},
    }
    for told, change in wrong.items():
        with pytest.raises(ValueError, match=told):
            build(replace(job, **change))
    with monkeypatch.context() as without:
        without.delenv(simulator.VARIABLE)
        with pytest.raises(ValueError, match="WATTMARK_SIMULATOR is not set"):
            build(job)
