"""The IPMI meter: ipmitool against pyghmi's server (tests/support/meters/bmc.py)."""

import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.meters.bmc import USER, Bmc

from harness.errors import MeterError
from harness.meter_checks import read_meter
from harness.power.feeds import feed as feed_module
from harness.power.feeds import frame
from harness.power.feeds.feed import FeedError
from harness.power.node_meter import MeterAccess, NodeMeter
from harness.power.nodes import ipmi, open_node_meter
from harness.power.nodes.ipmi import parse_power_reading
from rules.bundle_format.records import FeedReading

needs_ipmitool = pytest.mark.skipif(
    not shutil.which("ipmitool"), reason="ipmitool is missing: apt-get install ipmitool"
)


@pytest.fixture
def bmc(tmp_path: Path) -> Iterator[Bmc]:
    bmc = Bmc(tmp_path)
    yield bmc
    bmc.stop()


def access(bmc: Bmc, host: str = "127.0.0.1", **options: str) -> MeterAccess:
    password_file = bmc._state_file.with_name("password")
    password_file.write_text(bmc.password + "\n")
    return MeterAccess(
        "bmc",
        "ipmi",
        {"node": ""},
        host,
        bmc.port,
        {"user": USER, **options},
        {"password_file": str(password_file)},
    )


@pytest.fixture
def meter(bmc: Bmc) -> Iterator[NodeMeter]:
    meter = open_node_meter(access(bmc))
    yield meter
    meter.close()


def read_one(meter: NodeMeter) -> FeedReading:
    ((feed, reading),) = meter.read()
    assert feed == "node"
    return reading


@needs_ipmitool
def test_a_reading_has_power_and_the_stamp_of_the_bmc(meter):
    assert read_one(meter) == FeedReading(power_mw=350_000, meter_ns=1_795_348_800_000_000_000)


@needs_ipmitool
@pytest.mark.parametrize(
    "state, status",
    [
        ({"power_w": 65_534}, "ok"),
        ({"power_w": 65_535}, "over-range"),
        ({"active": False}, "absent"),
        ({"code": 0xC1}, "absent"),
        ({"code": 0xD4}, "refused"),
        ({"body": "dc5e01"}, "malformed"),
        ({"body": "00" * 18}, "malformed"),
    ],
)
def test_an_answer_has_its_status(bmc, meter, state, status):
    bmc.set(**state)
    assert read_one(meter).status == status


@needs_ipmitool
def test_a_bmc_that_stops_is_a_timeout_and_read_again_when_it_is_back(bmc, meter):
    bmc.stop()
    start_s = time.monotonic()
    assert read_one(meter).status == "timeout"
    # By itself, ipmitool repeats the request for 20 s.
    assert time.monotonic() - start_s < 3 * meter.blocking_timeout_s
    bmc.start()
    assert read_one(meter).status == "ok"


@needs_ipmitool
def test_a_late_answer_is_a_timeout_and_does_not_answer_the_next_request(bmc, meter, monkeypatch):
    monkeypatch.setattr(ipmi.IpmiMeter, "blocking_timeout_s", 0.5)
    bmc.set(delay_s=0.8)
    assert read_one(meter).status == "timeout"
    bmc.set(delay_s=0.0, power_w=500)
    monkeypatch.undo()
    assert read_one(meter).power_mw == 500_000


@needs_ipmitool
def test_a_changed_password_is_refused_once_and_not_tried_again_at_once(bmc, meter, monkeypatch):
    password_file = Path(meter._access.secrets["password_file"])
    password_file.write_text("wrong")
    commands = count_commands(monkeypatch)
    assert [read_one(meter).status for _ in range(5)] == ["refused"] * 5
    assert len(commands) == 1
    password_file.write_text(bmc.password)
    after_s = time.monotonic() + feed_module.LOGIN_PAUSE_S
    monkeypatch.setattr(ipmi, "time", SimpleNamespace(monotonic=lambda: after_s))
    assert read_one(meter).status == "ok"


class FailingSession:
    """A program in place of ipmitool: it sends requests, waits for an answer and fails. While the
    file `output` exists, it prints this file instead, and fails if it has a completion code."""

    def __init__(self, directory: Path, requests: int) -> None:
        self.output = directory / "output"
        program = directory / "ipmitool"
        program.write_text(
            f"#!{sys.executable}\nimport pathlib, socket, sys\n"
            f"output = pathlib.Path({str(self.output)!r})\n"
            "if output.exists():\n"
            "    text = output.read_text()\n"
            "    sys.exit(text if 'rsp=' in text else print(text))\n"
            "address = '127.0.0.1', int(sys.argv[sys.argv.index('-p') + 1])\n"
            "end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            f"for _ in range({requests}):\n    end.sendto(b'request', address)\n"
            "end.recv(100)\nsys.exit(1)\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        password_file = directory / "password"
        password_file.write_text("secret")
        self.server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.server.bind(("127.0.0.1", 0))
        threading.Thread(target=self._answer, args=(requests,), daemon=True).start()
        port = self.server.getsockname()[1]
        secrets = {"password_file": str(password_file)}
        entry = MeterAccess("bmc", "ipmi", {"node": ""}, "127.0.0.1", port, {"user": USER}, secrets)
        self.meter = ipmi.IpmiMeter(entry, str(program))

    def _answer(self, requests: int) -> None:
        """Answer the last of each so many requests."""
        with suppress(OSError):
            while True:
                for _ in range(requests):
                    _, client = self.server.recvfrom(100)
                self.server.sendto(b"answer", client)

    def close(self) -> None:
        self.meter.close()
        self.server.close()


@pytest.mark.parametrize(
    ("requests", "statuses"),
    [(1, ["refused", "refused"]), (2, ["timeout", "refused", "refused"])],
)
def test_a_session_refused_behind_a_repeated_request_counts_the_second_time(
    requests: int, statuses: list[str], tmp_path: Path
) -> None:
    session = FailingSession(tmp_path, requests)
    assert [read_one(session.meter).status for _ in statuses] == statuses
    session.close()


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("dc 5e 01 64 00 f4 01 54 01 00 00 00 60 e8 03 00 00 40", "ok"),
        ("Unable to send RAW command (channel=0x0 netfn=0x2c lun=0x0 cmd=0x2 rsp=0xc1)", "absent"),
    ],
)
def test_an_accepted_session_between_two_late_refusals_shows_that_the_password_is_right(
    output: str, status: str, tmp_path: Path
) -> None:
    session = FailingSession(tmp_path, requests=2)
    assert read_one(session.meter).status == "timeout"
    session.output.write_text(output)
    assert read_one(session.meter).status == status
    session.output.unlink()
    assert read_one(session.meter).status == "timeout"
    session.close()


def count_commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    commands: list[list[str]] = []
    run = subprocess.run

    def note_command(command: list[str], **settings: object) -> object:
        commands.append(command)
        return run(command, **settings)

    monkeypatch.setattr(ipmi.subprocess, "run", note_command)
    return commands


@needs_ipmitool
def test_the_command_line_has_neither_address_nor_password_and_the_environment_no_password(
    bmc, tmp_path, monkeypatch
):
    """A program in place of ipmitool notes its command line and environment, and runs it."""
    seen = tmp_path / "seen"
    program = tmp_path / "bin" / "ipmitool"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        f"open({str(seen)!r}, 'w').write(repr((sys.argv, dict(os.environ))))\n"
        f"os.execv({shutil.which('ipmitool')!r}, sys.argv)\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setenv("METER_SECRET", bmc.password)
    meter = open_node_meter(access(bmc, host="localhost"))
    assert read_one(meter).status == "ok"
    text = seen.read_text()
    assert "0xdc" in text
    assert bmc.password not in text and str(bmc.port) not in text and "localhost" not in text
    meter.close()


@needs_ipmitool
@pytest.mark.parametrize("cipher", ["3", "17"])
def test_the_entry_chooses_the_cipher_suite(bmc, cipher):
    entry = access(bmc, cipher=cipher)
    if cipher == "3":
        assert read_one(open_node_meter(entry)).status == "ok"
    else:  # pyghmi's server has suite 3 only
        with pytest.raises(MeterError, match="refuses the session; check user, password"):
            open_node_meter(entry)


@needs_ipmitool
def test_power_that_no_longer_changes_is_stale(bmc, meter, monkeypatch):
    statuses = []
    for elapsed_s in (0, 14, 16):
        clock = SimpleNamespace(monotonic=lambda ahead_s=elapsed_s: time.monotonic() + ahead_s)
        monkeypatch.setattr(frame, "time", clock)
        bmc.set(stamp_s=1_795_348_800 + elapsed_s)
        statuses.append(read_one(meter).status)
    bmc.set(power_w=351)
    assert [*statuses, read_one(meter).status] == ["ok", "ok", "stale", "ok"]


@needs_ipmitool
def test_no_message_contains_address_or_secret(bmc):
    bmc.stop()
    with pytest.raises(MeterError, match="does not answer; check host, port") as failure:
        open_node_meter(access(bmc))
    text = f"{failure.value!r} {failure.value.__cause__!r}"
    assert "127.0.0.1" not in text and bmc.password not in text
    bmc.start()


@needs_ipmitool
def test_a_password_that_cannot_be_read_names_its_place(bmc):
    entry = access(bmc)
    Path(entry.secrets["password_file"]).unlink()
    with pytest.raises(MeterError, match=r"meter bmc: no password: .* cannot be read \(No such"):
        open_node_meter(entry)


@needs_ipmitool
def test_a_host_without_an_address_is_named_by_its_meter(bmc):
    with pytest.raises(MeterError, match="meter bmc: it cannot be reached") as failure:
        open_node_meter(access(bmc, host="no-such-host.invalid"))
    assert "no-such-host" not in str(failure.value)


def test_a_node_without_ipmitool_is_told_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MeterError, match="there is no ipmitool; install"):
        open_node_meter(MeterAccess("bmc", "ipmi", {"node": ""}, "localhost", None, {"user": "u"}))


@pytest.mark.parametrize(
    "feeds, options, problem",
    [
        ({"node": ""}, {}, "has no user"),
        ({"node": ""}, {"user": USER, "suite": "3"}, "has the key suite"),
        ({"a": "", "b": ""}, {"user": USER}, "the meter 2 feeds; declare one"),
    ],
)
def test_a_wrong_entry_is_named(feeds, options, problem):
    with pytest.raises(MeterError, match=problem):
        open_node_meter(MeterAccess("bmc", "ipmi", feeds, "localhost", None, options))


READING = bytes.fromhex("dc 5e01 6400 f401 5401 00000060 e8030000 40")


@pytest.mark.parametrize("stamp", ["01000000", "00000020", "ffffffff"])
def test_a_bmc_without_a_set_clock_has_no_stamp(stamp):
    content = READING[:9] + bytes.fromhex(stamp) + READING[13:]
    assert parse_power_reading(content.hex(" ").encode()).meter_ns is None


def test_the_bytes_of_ipmitool_span_several_lines():
    text = b" dc 5e 01 64 00 f4 01 54 01 00 00 00 60 e8 03 00\n 00 40\n"
    assert parse_power_reading(text) == FeedReading(power_mw=350_000, meter_ns=0x60000000 * 10**9)


@pytest.mark.parametrize("text", [b"", b"dc", b"Watt: 350", b"\xff", READING.hex()[:-2].encode()])
def test_other_output_of_ipmitool_is_malformed(text):
    with pytest.raises(FeedError) as failure:
        parse_power_reading(text)
    assert failure.value.status == "malformed"


@pytest.mark.parametrize("stamp", ["00000000", "01000000", "ffffffff"])
def test_power_without_state_and_stamp_counts(stamp: str) -> None:
    """As OpenBMC answers."""
    content = READING[:9] + bytes.fromhex(stamp) + READING[13:17] + b"\0"
    assert parse_power_reading(content.hex(" ").encode()) == FeedReading(power_mw=350_000)


@needs_ipmitool
def test_power_without_state_and_stamp_brings_a_warning(bmc: Bmc) -> None:
    bmc.set(body=(READING[:9] + bytes(4) + READING[13:17] + b"\0").hex())
    (reading,) = read_meter(access(bmc), 0, 1)
    assert reading.feeds["node"].power_mw == 350_000
    assert reading.warning.startswith("it says that it does not measure power, and gives power")


@pytest.mark.parametrize("power", ["0000 00000000", "5e01 00000060"])
def test_a_bmc_that_does_not_measure_is_absent(power: str) -> None:
    power_now, stamp = power.split()
    content = f"dc {power_now} 6400 f401 5401 {stamp} e8030000 00"
    with pytest.raises(FeedError) as failure:
        parse_power_reading(bytes.fromhex(content).hex(" ").encode())
    assert failure.value.status == "absent"
