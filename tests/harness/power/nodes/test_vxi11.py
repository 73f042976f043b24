"""The VXI-11 meter: pyvisa-py against a server (tests/support/meters/vxi11_server.py)."""

import logging
import sys
import time
from collections.abc import Iterator

import pytest
from support.meters.instrument import Yokogawa
from support.meters.vxi11_server import Vxi11Server

from harness.errors import MeterError
from harness.power.node_meter import MeterAccess, NodeMeter
from harness.power.nodes import open_node_meter
from harness.power.nodes.vxi11 import Vxi11Meter
from rules.bundle_format.records import FeedReading

PORTMAPPER_HOST = "127.0.0.111"
"""Port 111 of 127.0.0.1 can belong to the portmapper of the machine."""


@pytest.fixture
def server() -> Iterator[Vxi11Server]:
    server = Vxi11Server(Yokogawa())
    yield server
    server.stop()


def access(port: int | None, host: str = "127.0.0.1", **options: str) -> MeterAccess:
    settings = {
        "instrument": "yokogawa-wt310e",
        "voltage_range_v": "300",
        "current_range_a": "10",
        "update_ms": "50",
    }
    return MeterAccess("analyser", "vxi11", {"node": "1"}, host, port, settings | options)


@pytest.fixture
def meter(server: Vxi11Server) -> Iterator[NodeMeter]:
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


def test_close_destroys_the_link(server, meter):
    assert server.links == 1
    meter.close()
    assert server.links == 0


def test_the_portmapper_tells_the_port():
    try:
        server = Vxi11Server(Yokogawa(), PORTMAPPER_HOST, portmapper=True)
    except OSError as error:
        pytest.skip(f"port 111 cannot be used: {error.strerror}; run as root")
    meter = open_node_meter(access(None, PORTMAPPER_HOST))
    assert read_one(meter).status == "ok"
    meter.close()
    server.stop()


def test_a_server_that_stops_is_refused_and_read_again_when_it_is_back(server, meter, caplog):
    server.stop()
    assert [read_one(meter).status for _ in range(2)] == ["refused", "refused"]
    server.start()
    assert read_one(meter).status == "ok"
    assert caplog.text == ""


def test_a_late_answer_is_a_timeout_and_does_not_answer_the_next_request(
    server, meter, monkeypatch
):
    monkeypatch.setattr(Vxi11Meter, "blocking_timeout_s", 0.3)
    meter.close()
    server.delay_s = 30.0
    start_s = time.monotonic()
    assert read_one(meter).status == "timeout"
    assert time.monotonic() - start_s < 20
    monkeypatch.undo()
    server.delay_s, server.instrument.power_w = 0.0, lambda: 500.0
    assert read_one(meter).power_mw == 500_000


@pytest.mark.parametrize(
    "answer, status",
    [
        (b"1;9.9E+37,2.3E+02,4.4E+00,0.98,NAN\n", "over-range"),
        (b"1;NAN,2.3E+02,4.4E+00,0.98,NAN\n", "absent"),
        (b"1;1E+03\n", "malformed"),
        (b"\xff\xfe\n", "malformed"),
        (b"", "malformed"),
    ],
)
def test_an_answer_has_its_status(server, meter, answer, status):
    server.read_bytes = answer
    assert read_one(meter).status == status
    server.read_bytes = None
    assert read_one(meter).status == "ok"


def test_neither_message_nor_log_contains_the_address(server, caplog, capfd):
    logging.getLogger("pyvisa").setLevel(logging.NOTSET)
    server.stop()
    with pytest.raises(MeterError, match="refuses the connection; check host") as failure:
        open_node_meter(access(server.port))
    texts = f"{failure.value!r} {failure.value.__cause__!r}", caplog.text, *capfd.readouterr()
    assert "127.0.0.1" not in "".join(texts)


def test_a_node_without_pyvisa_is_told_what_to_install(server, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyvisa", None)
    with pytest.raises(MeterError, match=r"needs pyvisa-py; pip install "):
        open_node_meter(access(server.port))
