"""The SCPI meter against instruments on a socket (tests/support/meters/instrument.py)."""

import os
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace

import pytest
from support.meters.instrument import SocketServer, Yokogawa, ZesZimmer

from harness.errors import MeterError
from harness.power.feeds import frame
from harness.power.node_meter import MeterAccess, NodeMeter
from harness.power.nodes import open_node_meter, scpi
from rules.bundle_format.records import FeedReading

RANGES = {"voltage_range_v": "300", "current_range_a": "10", "update_ms": "50"}


@pytest.fixture
def instrument() -> Yokogawa:
    return Yokogawa()


@pytest.fixture
def server(instrument: Yokogawa) -> Iterator[SocketServer]:
    server = SocketServer(instrument)
    yield server
    server.stop()


def access(
    port: int, instrument: str = "yokogawa-wt310e", elements: str = "1", **options: str
) -> MeterAccess:
    feeds = {f"feed{number}": element for number, element in enumerate(elements.split())}
    settings = {"instrument": instrument, **RANGES, **options}
    return MeterAccess("analyser", "scpi", feeds, "127.0.0.1", port, settings)


@pytest.fixture
def meter(server: SocketServer) -> Iterator[NodeMeter]:
    meter = open_node_meter(access(server.port))
    yield meter
    meter.close()


def read_one(meter: NodeMeter) -> FeedReading:
    ((_, reading),) = meter.read()
    return reading


def test_a_yokogawa_gives_all_quantities_of_an_element(meter):
    assert read_one(meter) == FeedReading(
        power_mw=1_234_500, voltage_mv=230_000, current_ma=5477, pf_ppm=980_000
    )


def test_each_reading_waits_for_the_next_update_of_the_instrument(instrument, meter):
    # The instrument answers with six digits, and the clock counts from the start of the machine.
    instrument.power_w = lambda: time.monotonic() // instrument.update_s % 1000
    powers = [read_one(meter).power_mw for _ in range(10)]
    assert len(set(powers)) == 10
    assert instrument.messages[-1].startswith(":STATUS:EESR?;:COMMUNICATE:WAIT 1;")


def test_energy_is_read_while_the_instrument_integrates(instrument, meter):
    instrument.replacement = "1.2345E+03,2.3E+02,5.477E+00,0.98,1.5E+00"
    assert read_one(meter).energy_mj == 5_400_000
    instrument.replacement = "1.2345E+03,2.3E+02,5.477E+00,0.98,0.0E+00"
    assert read_one(meter).energy_mj is None


def test_ranges_are_fixed(instrument, meter):
    assert instrument.autos == {"VOLTAGE": False, "CURRENT": False}
    assert instrument.ranges == {"VOLTAGE": 300.0, "CURRENT": 10.0}


def test_a_range_that_the_instrument_lacks_is_named(server):
    with pytest.raises(MeterError, match=r"does not set current_range_a to 7;"):
        open_node_meter(access(server.port, current_range_a="7"))


def test_crest_factor_6_has_half_the_ranges(instrument, server):
    with pytest.raises(MeterError, match=r"voltage_range_v to 600; .* half the ranges"):
        open_node_meter(access(server.port, voltage_range_v="600", crest_factor="6"))
    open_node_meter(access(server.port, crest_factor="6", current_range_a="2.5"))
    assert (instrument.crest_factor, instrument.ranges["CURRENT"]) == (6, 2.5)


def test_a_wt5000_has_several_elements(instrument, server):
    instrument.identity = "YOKOGAWA,WT5000,91X1,F1.0"
    meter = open_node_meter(access(server.port, "yokogawa-wt5000", "1 2 3"))
    assert [(feed, reading.power_mw) for feed, reading in meter.read()] == [
        ("feed0", 1_234_500),
        ("feed1", 1_234_500),
        ("feed2", 1_234_500),
    ]
    assert instrument.items[6] == ("P", "2") and instrument.count == 15


def test_an_element_that_the_instrument_lacks_is_absent(server):
    with pytest.raises(MeterError, match="check the elements of its feeds"):
        open_node_meter(access(server.port, elements="9"))


def test_a_zes_zimmer_gives_the_stamp_of_its_cycle():
    instrument = ZesZimmer()
    server = SocketServer(instrument)
    meter = open_node_meter(access(server.port, "zes-lmg600", "1 2"))
    (_, reading), (feed, _) = meter.read()
    assert reading == FeedReading(
        power_mw=1_234_500, voltage_mv=230_000, current_ma=5477, pf_ppm=980_000, fresh=500_000
    )
    assert feed == "feed1"
    assert instrument.settings["CYCL"] == 0.05 and instrument.settings["IAUTO2"] == 0
    server.stop()


@pytest.mark.parametrize(
    "values, status",
    [
        ("1E+03,2.3E+02,4.4E+00,0.98,NAN", "ok"),
        ("9.9E+37,2.3E+02,4.4E+00,0.98,NAN", "over-range"),
        ("9.90000E+37,2.3E+02,4.4E+00,0.98,NAN", "over-range"),
        ("INF,2.3E+02,4.4E+00,0.98,NAN", "over-range"),
        ("-9.9E+37,2.3E+02,4.4E+00,0.98,NAN", "over-range"),
        ("1E+03,2.3E+02,9.9E+37,0.98,NAN", "over-range"),
        ("9.91E+37,2.3E+02,4.4E+00,0.98,NAN", "absent"),
        ("NAN,2.3E+02,4.4E+00,0.98,NAN", "absent"),
        ("1E+03,9.91E+37,NAN,NAN,NAN", "ok"),
        ("1E+12,2.3E+02,4.4E+00,0.98,NAN", "malformed"),
        ("1E+03,2.3E+02", "malformed"),
        ("1E+03,2.3E+02,4.4E+00,0.98,NAN,7", "malformed"),
        ("watts,2.3E+02,4.4E+00,0.98,NAN", "malformed"),
        ("1E+03" * 20_000, "malformed"),
    ],
)
def test_an_answer_has_its_status(instrument, meter, values, status):
    instrument.replacement = values
    assert read_one(meter).status == status
    instrument.replacement = None
    assert read_one(meter).power_mw == 1_234_500


def test_a_server_that_stops_is_refused_and_read_again_when_it_is_back(instrument, server, meter):
    server.stop()
    assert [read_one(meter).status for _ in range(2)] == ["refused", "refused"]
    instrument.ranges["CURRENT"], instrument.items = 20.0, {}  # it was switched off
    server.start()
    assert read_one(meter).status == "ok"
    assert instrument.ranges["CURRENT"] == 10.0


def test_a_late_answer_is_a_timeout_and_does_not_answer_the_next_request(
    instrument, server, meter, monkeypatch
):
    meter._transport._timeout_s = 0.2
    server.delay_s = 0.4
    assert read_one(meter).status == "timeout"
    server.delay_s, instrument.power_w = 0.0, lambda: 500.0
    time.sleep(0.4)
    assert read_one(meter).power_mw == 500_000


def test_an_answer_that_trickles_ends_at_the_timeout(server, meter):
    meter._transport._timeout_s = 0.3
    (connection,) = server.connections

    def trickle() -> None:
        with suppress(OSError):
            for _ in range(1200):
                connection.sendall(b"1")
                time.sleep(0.05)

    server.instrument.handle = lambda message: None
    thread = threading.Thread(target=trickle)
    thread.start()
    start_s = time.monotonic()
    assert read_one(meter).status == "timeout"
    assert time.monotonic() - start_s < 30, "the answer takes a minute"
    thread.join()


def test_power_that_no_longer_changes_is_stale(instrument, meter, monkeypatch):
    statuses = []
    for elapsed_s in (0, 14, 16):
        clock = SimpleNamespace(monotonic=lambda ahead_s=elapsed_s: time.monotonic() + ahead_s)
        monkeypatch.setattr(frame, "time", clock)
        statuses.append(read_one(meter).status)
    instrument.power_w = lambda: 1235.0
    assert [*statuses, read_one(meter).status] == ["ok", "ok", "stale", "ok"]


def test_another_instrument_is_refused(instrument, server):
    instrument.identity = "KEYSIGHT,34465A,MY1,A.1"
    with pytest.raises(MeterError, match="it is not a yokogawa-wt310e") as failure:
        open_node_meter(access(server.port))
    assert "127.0.0.1" not in str(failure.value)


@pytest.mark.parametrize(
    "changes, problem",
    [
        ({"instrument": "fluke"}, r"'fluke' is not one of yokogawa-wt310e, .*zes-lmg600"),
        ({"elements": "1;*RST"}, r"feed feed0: '1;\*RST' is no input element"),
        ({"voltage_range": "300"}, "has the key voltage_range, which"),
        ({"update_ms": "5000"}, "update_ms must be above 0 and at most 2000"),
        ({"current_range_a": "much"}, "needs current_range_a, a number"),
    ],
)
def test_a_wrong_entry_is_named(changes, problem):
    with pytest.raises(MeterError, match=problem):
        open_node_meter(access(1, **changes))


def test_a_closed_port_is_named_without_its_address(server):
    server.stop()
    with pytest.raises(MeterError, match="refuses the connection; check host") as failure:
        open_node_meter(access(server.port))
    assert "127.0.0.1" not in f"{failure.value!r} {failure.value.__cause__!r}"


def test_a_device_file_takes_the_place_of_the_socket(instrument):
    """A pseudoterminal stands in for /dev/usbtmc0: both pass messages by write and read."""
    controller, device = os.openpty()
    tty.setraw(device)

    def serve() -> None:
        with suppress(OSError), os.fdopen(controller, "r+b", buffering=0) as lines:
            while message := lines.readline():
                if (answer := instrument.handle(message.decode().strip())) is not None:
                    lines.write(answer.encode() + b"\n")

    threading.Thread(target=serve, daemon=True).start()
    meter = open_node_meter(access(0, device=os.ttyname(device)))
    assert read_one(meter).power_mw == 1_234_500
    meter.close()
    os.close(device)


def test_a_missing_device_file_is_absent():
    with pytest.raises(MeterError, match=r"its device cannot be opened \(No such file"):
        open_node_meter(access(0, device="/dev/usbtmc77"))
    assert scpi.USBTMC_SET_TIMEOUT == 1 << 30 | 4 << 16 | 91 << 8 | 10  # _IOW(91, 10, __u32)
