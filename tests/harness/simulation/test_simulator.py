"""The process that holds the simulated accelerators, and its clients."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.kills import wait_for

from harness.errors import MeterError
from harness.power.source import Readback
from harness.power.sources import open_source
from harness.simulation import server as simulator
from harness.simulation.boards import Boards
from harness.simulation.throughput_model import load_fit
from harness.simulation.work import build
from rules.contract import Job

BOARD = "SIM-H200-0"


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("b300", "no simulated accelerator 'b300'"),
        ("h200,explode", "no fault 'explode'; they have disobey, drift"),
        ("h200,disobey", "'disobey': give a number, as in disobey=400"),
        ("h200,drop=much", "'drop=much': give a number, as in drop=10"),
        ("h200,drop=-1", "'drop=-1': give a number"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_started(argument, message, monkeypatch):
    monkeypatch.delenv(simulator.VARIABLE, raising=False)
    with pytest.raises(MeterError, match=message), simulator.run_simulator(argument):
        pytest.fail("it was started")


@pytest.fixture
def boards(monkeypatch):
    """A simulator of H200s for the test; the path of its socket."""
    monkeypatch.delenv(simulator.VARIABLE, raising=False)
    with simulator.run_simulator("h200"):
        yield os.environ[simulator.VARIABLE]


def test_what_one_client_sets_another_sees_and_it_stays_when_all_have_gone(boards):
    client, other_client = open_source("simulated:h200"), open_source("simulated:h200")
    client.set_cap(BOARD, 400_000)
    assert (
        other_client.readback(BOARD, frozenset()).enforced_mw
        == other_client.read(BOARD).cap_mw
        == 400_000
    )
    client.set_state(BOARD, "P2")
    client.close()
    other_client.close()
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
        with pytest.raises(MeterError, match="is refused; the board takes 200 to 700 W"):
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
    assert worker.ask("work", uuid=BOARD, workload="resnet50-train") == load_fit().name
    assert watcher.ask("rate", uuid=BOARD) == pytest.approx(
        load_fit().curves["H200", "resnet50-train"].compute_items_per_s(700)
    )
    worker.close()
    with pytest.raises(MeterError, match="no work runs on this board"):
        wait_for(lambda: watcher.ask("rate", uuid=BOARD) is None)
    watcher.close()


def test_running_takes_the_simulator_that_is_there_and_leaves_it(boards):
    with simulator.run_simulator("h200") as directory:
        assert os.environ[simulator.VARIABLE] == boards and directory == Path(boards).parent
    open_source("simulated:h200").close()
    with pytest.raises(MeterError, match="holds h200, not h100"), simulator.run_simulator("h100"):
        pass


def test_running_leaves_nothing_behind(monkeypatch):
    monkeypatch.delenv(simulator.VARIABLE, raising=False)
    with simulator.run_simulator("mi300x") as directory:
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
            b'{"method": "answer"}',
            b'{"method": "read"}',
            b'{"method": "read", "uuid": ["x"]}',
            b"\xff",
        ):
            raw.sendall(line + b"\n")
            assert "error" in json.loads(answers.readline())
        raw.sendall(b'{"method": "devi')
        raw.sendall(b'ces"}\n{"method": "devices"}\n')
        assert [json.loads(answers.readline())["result"]["argument"] for _ in range(2)] == [
            "h200",
            "h200",
        ]
    open_source("simulated:h200").close()


def test_it_does_not_outlive_the_process_that_started_it(tmp_path):
    code = (
        "import sys, time; from harness.simulation import server\n"
        "print(server.start('h200', sys.argv[1]).pid, flush=True); time.sleep(600)"
    )
    path = tmp_path / "socket"
    starter = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )
    with starter, starter.stdout as stdout:
        pid = int(stdout.readline())
        simulator.Client(str(path)).close()
        starter.kill()
        wait_for(lambda: not is_alive(pid))


def test_it_ends_on_sigterm_and_takes_its_socket_away(tmp_path):
    path = tmp_path / "socket"
    process = simulator.start("h200", str(path))
    with pytest.raises(MeterError, match=r"the simulator did not start: .*Address already in use"):
        simulator.start("h200", str(path))
    simulator.Client(str(path)).close()
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0 and not path.exists()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
