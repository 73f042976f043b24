"""The SNMP meter: gufo-snmp against net-snmp's snmpd (tests/support/meters/pdu.py)."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.meters.pdu import COMMUNITY, PASSWORD, PRIVACY_PASSWORD, USER, Pdu, needs_snmpd

from harness.errors import MeterError
from harness.power.feeds import feed as feed_module
from harness.power.feeds import frame
from harness.power.feeds.counter import CounterUnwrapper
from harness.power.node_meter import MeterAccess
from harness.power.nodes import open_node_meter, snmp
from rules.bundle_format.records import FeedReading

RARITAN = "1.3.6.1.4.1.13742.6.5.4.3.1"
DIGITS = "1.3.6.1.4.1.13742.6.3.5.4.1.7"
PX = {
    f"{RARITAN}.4.1.8.5": ("gauge", 1234),
    f"{RARITAN}.4.1.8.8": ("gauge", 7),
    f"{RARITAN}.4.1.8.1": ("gauge", 5432),
    f"{RARITAN}.4.1.8.4": ("gauge", 2301),
    f"{RARITAN}.4.1.8.7": ("gauge", 98),
    f"{RARITAN}.5.1.8.5": ("gauge", 1_795_348_800),
    f"{DIGITS}.1.8.5": ("gauge", 1),
    f"{DIGITS}.1.8.8": ("gauge", 0),
    f"{DIGITS}.1.8.1": ("gauge", 3),
    f"{DIGITS}.1.8.4": ("gauge", 1),
    f"{DIGITS}.1.8.7": ("gauge", 2),
}
PX_READING = FeedReading(
    power_mw=123_400,
    energy_mj=7 * 3_600_000,
    voltage_mv=230_100,
    current_ma=5432,
    pf_ppm=980_000,
    meter_ns=1_795_348_800_000_000_000,
)
VENDORS = {
    "sentry4": ("1.1.8", "1718.4.1.8.3.1.7.1.1.8", "1718.4.1.8.3.1.14.1.1.8", 3_600_000),
    "apc-rpdu2": ("8", "318.1.1.26.9.4.3.1.7.8", "318.1.1.26.9.4.3.1.11.8", 360_000_000),
    "vertiv-v5": ("8", "21239.5.2.3.6.1.12.8", "21239.5.2.3.6.1.15.8", 3_600_000),
    "eaton-epdu": ("0.8", "534.6.6.7.6.5.1.3.0.8", "534.6.6.7.6.5.1.4.0.8", 3_600_000),
}
V3 = {"user": USER, "auth": "sha256", "privacy": "aes128"}


@pytest.fixture
def pdu(tmp_path: Path) -> Iterator[Pdu]:
    pdu = Pdu(tmp_path, PX)
    yield pdu
    pdu.stop()


@pytest.fixture(autouse=True)
def secrets(monkeypatch):
    monkeypatch.setenv("PDU_COMMUNITY", COMMUNITY)
    monkeypatch.setenv("PDU_PASSWORD", PASSWORD)
    monkeypatch.setenv("PDU_PRIVACY", PRIVACY_PASSWORD)


def make_access(pdu: Pdu, model: str = "raritan-px", feeds=None, **options: str) -> MeterAccess:
    secrets = {"community_env": "PDU_COMMUNITY"}
    if "user" in options:
        secrets = {"password_env": "PDU_PASSWORD", "privacy_password_env": "PDU_PRIVACY"}
    feeds = feeds or {"left": "1.8"}
    return MeterAccess(
        "pdu-a", "snmp", feeds, "127.0.0.1", pdu.port, {"model": model, **options}, secrets
    )


@needs_snmpd
@pytest.mark.parametrize("options", [{}, V3], ids=["v2c", "v3"])
def test_a_reading_has_the_scaled_quantities_and_the_stamp_of_the_pdu(pdu, monkeypatch, options):
    meter = open_node_meter(make_access(pdu, **options))
    session = meter._session
    assert meter.read() == [("left", PX_READING)] and meter._session is session
    monkeypatch.setattr(snmp, "SESSION_S", 0.0)
    assert meter.read() == [("left", PX_READING)] and meter._session is not session


@needs_snmpd
@pytest.mark.parametrize("model", VENDORS)
def test_the_objects_of_each_vendor_give_power_and_energy(pdu, model):
    index, power, energy, count_mj = VENDORS[model]
    prefix = "1.3.6.1.4.1."
    pdu.set({prefix + power: ("integer", 2345), prefix + energy: ("integer", 11)})
    meter = open_node_meter(make_access(pdu, model, {"left": index}))
    assert meter.read() == [("left", FeedReading(power_mw=2_345_000, energy_mj=11 * count_mj))]


@needs_snmpd
def test_an_absent_outlet_is_absent_and_the_others_are_read(pdu):
    meter = open_node_meter(make_access(pdu, feeds={"left": "1.8", "right": "1.9"}))
    assert meter.read() == [("left", PX_READING), ("right", FeedReading(status="absent"))]


@needs_snmpd
def test_a_stamp_that_no_longer_advances_is_stale(pdu, monkeypatch):
    meter, statuses = open_node_meter(make_access(pdu)), []
    for elapsed_s in (0, 14, 16):
        clock = SimpleNamespace(monotonic=lambda ahead_s=elapsed_s: time.monotonic() + ahead_s)
        monkeypatch.setattr(frame, "time", clock)
        statuses.append(meter.read()[0][1].status)
    # A new measurement may have the power of the last.
    pdu.set(PX | {f"{RARITAN}.5.1.8.5": ("gauge", 1_795_348_801)})
    assert [*statuses, meter.read()[0][1].status] == ["ok", "ok", "stale", "ok"]


@needs_snmpd
def test_the_minus_one_of_a_sentry_is_absent(pdu):
    pdu.set({"1.3.6.1.4.1.1718.4.1.8.3.1.7.1.1.8": ("integer", -1)})
    meter = open_node_meter(make_access(pdu, "sentry4", {"left": "1.1.8"}))
    assert meter.read() == [("left", FeedReading(status="absent"))]


@needs_snmpd
def test_an_answer_of_another_type_is_malformed(pdu):
    meter = open_node_meter(make_access(pdu))
    pdu.set({**PX, f"{RARITAN}.4.1.8.5": ("string", "1234 W")})
    assert meter.read() == [("left", FeedReading(status="malformed"))]


@needs_snmpd
@pytest.mark.parametrize("options", [{}, V3], ids=["v2c", "v3"])
def test_a_pdu_that_is_killed_and_comes_back_is_read_again(pdu, options):
    meter = open_node_meter(make_access(pdu, **options))
    pdu.stop()
    statuses = {meter.read()[0][1].status for _ in range(2)}
    assert statuses <= {"timeout", "refused"}
    pdu.start()
    # After a restart, the first v3 request may carry the time of the former agent.
    assert "ok" in [meter.read()[0][1].status for _ in range(2)]
    assert meter.read() == [("left", PX_READING)]


@needs_snmpd
def test_a_wrong_community_is_not_answered_and_not_repeated_in_the_message(pdu, monkeypatch):
    monkeypatch.setenv("PDU_COMMUNITY", "wrong-community")
    with pytest.raises(MeterError) as caught:
        open_node_meter(make_access(pdu))
    assert "it does not answer" in str(caught.value)
    assert "wrong-community" not in str(caught.value) and "127.0.0.1" not in str(caught.value)


@needs_snmpd
@pytest.mark.parametrize("variable", ["PDU_PASSWORD", "PDU_PRIVACY"])
def test_a_wrong_password_is_told_without_repeating_it(pdu, monkeypatch, variable):
    monkeypatch.setenv(variable, "wrong-password")
    with pytest.raises(MeterError) as caught:
        open_node_meter(make_access(pdu, **V3))
    assert "check" in str(caught.value) and "password" in str(caught.value)
    assert "wrong-password" not in str(caught.value) and "127.0.0.1" not in str(caught.value)


@needs_snmpd
def test_a_counter_of_32_bits_goes_on_after_it_wraps(pdu):
    meter = open_node_meter(make_access(pdu))
    counts = (2**32 - 2, 2**32 - 1, 1, 5)
    energies_wh = []
    for count in counts:
        pdu.set({**PX, f"{RARITAN}.4.1.8.8": ("gauge", count)})
        energies_wh.append(meter.read()[0][1].energy_mj / 3.6e6)
    assert energies_wh == [2**32 - 2, 2**32 - 1, 2**32 + 1, 2**32 + 5]


def test_a_counter_that_is_set_back_falls():
    counter = CounterUnwrapper(32)
    assert [counter.unwrap("left", count) for count in (5000, 5001, 0, 1)] == [5000, 5001, 0, 1]


def test_each_feed_wraps_by_itself():
    counter = CounterUnwrapper(8)
    assert [counter.unwrap(feed, n) for feed, n in (("a", 255), ("b", 3), ("a", 0), ("b", 4))] == [
        *(255, 3, 256, 4)
    ]


@pytest.mark.parametrize(
    ("model", "index", "says"),
    [
        ("raritan", "1.8", "model = 'raritan' is not one of raritan-px, sentry4"),
        ("raritan-px", "eight", "'eight' is no PDU.OUTLET, such as 1.8"),
    ],
)
def test_an_entry_with_a_mistake_says_what_is_expected(model, index, says):
    access = MeterAccess("pdu-a", "snmp", {"left": index}, "127.0.0.1", 1, {"model": model})
    with pytest.raises(MeterError) as caught:
        open_node_meter(access)
    assert says in str(caught.value)


@needs_snmpd
def test_after_a_refused_login_the_next_one_waits(pdu, monkeypatch):
    meter = open_node_meter(make_access(pdu, **V3))
    monkeypatch.setenv("PDU_PASSWORD", "wrong-password")
    meter._session = None
    assert meter.read() == [("left", FeedReading(status="refused"))]
    monkeypatch.setenv("PDU_PASSWORD", PASSWORD)
    assert meter.read() == [("left", FeedReading(status="refused"))], "the login is paused"
    monkeypatch.setattr(feed_module, "LOGIN_PAUSE_S", 0.0)
    meter._pause.begin(0.0)
    assert meter.read() == [("left", PX_READING)]
