"""The Redfish meter against a service over TLS (tests/support/meters/redfish_service.py)."""

import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.meters.redfish_service import (
    CHASSIS,
    ENVIRONMENT,
    FIRST_CONTROL,
    OUTLET,
    POWER,
    SENSOR,
    SESSIONS,
    USER,
    RedfishService,
)

from harness.errors import MeterError
from harness.power.feeds import feed as feed_module
from harness.power.node_meter import MeterAccess, NodeMeter
from harness.power.nodes import _redfish_session, open_node_meter
from rules.bundle_format.records import FeedReading


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RedfishService]:
    service = RedfishService(tmp_path)
    yield service
    service.stop()


def access(service: RedfishService, resource: str = ENVIRONMENT, **options: str) -> MeterAccess:
    feeds = {f"feed{n}": path for n, path in enumerate(resource.split())}
    password_file = service.ca_file.with_name("password")
    password_file.write_text(service.password + "\n")
    if "pin_sha256" not in options:
        options = {"ca_file": str(service.ca_file), **options}
    return MeterAccess(
        "bmc",
        "redfish_power_control" if FIRST_CONTROL in resource else "redfish",
        feeds,
        "127.0.0.1",
        service.port,
        {"user": USER, **options},
        {"password_file": str(password_file)},
    )


@pytest.fixture
def meter(service: RedfishService) -> Iterator[NodeMeter]:
    meter = open_node_meter(access(service))
    yield meter
    meter.close()


def read_one(meter: NodeMeter) -> FeedReading:
    ((_, reading),) = meter.read()
    return reading


def read_status(meter: NodeMeter) -> str:
    return read_one(meter).status


def test_environment_metrics_give_power_energy_and_power_factor(meter):
    assert read_one(meter) == FeedReading(
        power_mw=374_000, energy_mj=45_000_000_000, pf_ppm=980_000
    )


@pytest.mark.parametrize("pointer", ["", "/PowerConsumedWatts"])
def test_a_member_of_power_control_gives_the_power_consumed(service, pointer):
    meter = open_node_meter(access(service, FIRST_CONTROL + pointer))
    assert read_one(meter) == FeedReading(power_mw=344_000)


def test_a_sensor_gives_its_own_stamp_in_ns(service):
    reading = read_one(open_node_meter(access(service, SENSOR)))
    assert (reading.power_mw, reading.meter_ns) == (374_000, 1_795_348_800_250_000_000)


def test_an_outlet_gives_voltage_and_current(service):
    reading = read_one(open_node_meter(access(service, OUTLET)))
    assert reading == FeedReading(power_mw=374_000, voltage_mv=230_500, current_ma=1625)


def test_feeds_of_one_resource_take_one_request(service):
    meter = open_node_meter(access(service, f"{FIRST_CONTROL} {POWER}#/PowerControl/1"))
    service.requests.clear()
    assert [reading.power_mw for _, reading in meter.read()] == [344_000, 100_000]
    assert service.requests == [f"GET {POWER}"]


@pytest.mark.parametrize(
    "resource, kind, reading_kind",
    [
        (FIRST_CONTROL, "redfish", "PowerConsumedWatts, which the kind redfish_power_control"),
        (ENVIRONMENT, "redfish_power_control", "PowerWatts, which the kind redfish "),
        (SENSOR, "redfish_power_control", "Reading, which the kind redfish "),
    ],
)
def test_a_kind_reads_its_own_property_only(service, resource, kind, reading_kind):
    entry = dataclasses.replace(access(service, resource), kind=kind)
    with pytest.raises(MeterError, match=f"feed feed0: the resource has {reading_kind}"):
        open_node_meter(entry)


def test_a_property_that_disappears_is_not_replaced_by_another_one(service, meter):
    service.answers[ENVIRONMENT] = b'{"PowerConsumedWatts": 344}'
    assert read_status(meter) == "absent"


def test_several_members_of_power_control_need_a_number(service):
    with pytest.raises(MeterError, match=r"2 members of PowerControl; add #/PowerControl/NUMBER"):
        open_node_meter(access(service, POWER))


def test_a_chassis_with_several_systems_is_read_only_if_the_entry_says_so(service):
    service.systems = 4
    with pytest.raises(MeterError, match=r"4 computer systems .* nodes_covered = 4"):
        open_node_meter(access(service))
    assert read_status(open_node_meter(access(service, systems="4"))) == "ok"


def test_close_deletes_the_session(service, meter):
    assert len(service.sessions) == 1
    meter.close()
    assert service.sessions == set()
    assert service.requests[-1].startswith(f"DELETE {SESSIONS}/")


def test_a_failed_open_deletes_the_session(service):
    with pytest.raises(MeterError):
        open_node_meter(access(service, "/redfish/v1/Chassis/2U/EnvironmentMetrics"))
    assert service.logins == ["created"] and service.sessions == set()


def test_an_expired_session_is_renewed_without_a_failed_reading(service, meter):
    service.sessions.clear()
    assert read_status(meter) == "ok"
    assert service.logins == ["created", "created"]


def test_a_changed_password_is_refused_once_and_not_tried_again_at_once(
    service, meter, monkeypatch
):
    service.sessions.clear()
    service.password, former = "changed", service.password
    assert [read_status(meter) for _ in range(5)] == ["refused"] * 5
    assert service.logins == ["created", "refused"]
    service.password = former
    after_s = time.monotonic() + feed_module.LOGIN_PAUSE_S
    monkeypatch.setattr(_redfish_session, "time", SimpleNamespace(monotonic=lambda: after_s))
    assert read_status(meter) == "ok"


def test_a_wrong_password_at_the_start_says_what_to_check(service):
    wrong = access(service)
    service.password = "changed"
    with pytest.raises(MeterError, match="refuses the login; check user and password"):
        open_node_meter(wrong)


@pytest.mark.parametrize(
    "answer",
    [
        (503, b"{}"),
        (
            400,
            b'{"error": {"@Message.ExtendedInfo": [{"MessageId": "Base.SessionLimitExceeded"}]}}',
        ),
    ],
)
def test_a_service_without_a_free_session_says_so(service, answer):
    service.full = answer
    with pytest.raises(MeterError, match="it has no free session; close other sessions"):
        open_node_meter(access(service))


def test_a_password_that_cannot_be_read_names_its_place(service):
    entry = access(service)
    Path(entry.secrets["password_file"]).unlink()
    with pytest.raises(MeterError, match=r"feed feed0: no password: .* cannot be read \(No such"):
        open_node_meter(entry)


def test_an_idle_connection_that_the_service_closes_fails_no_reading(service, meter):
    service.close_connections()
    assert read_status(meter) == "ok"
    assert service.logins == ["created"]


def test_a_service_that_stops_is_refused_and_read_again_when_it_is_back(service, meter):
    service.stop()
    assert read_status(meter) == "refused"
    service.start()
    assert read_status(meter) == "ok"


def test_a_late_answer_is_a_timeout_and_does_not_answer_the_next_request(
    service, meter, monkeypatch
):
    meter._session._connection.timeout = 0.2
    meter._session._connection.close()
    service.delay_s = 0.5
    assert read_status(meter) == "timeout"
    meter._session._connection.timeout = 60.0
    service.delay_s, service.power_w = 0.0, lambda: 500.0
    assert read_one(meter).power_mw == 500_000


def test_after_a_timeout_the_other_feeds_do_not_wait_too(service):
    meter = open_node_meter(access(service, f"{ENVIRONMENT} {OUTLET}"))
    meter._session._connection.timeout = 0.2
    meter._session._connection.close()
    service.delay_s, service.requests = 0.5, []
    assert [reading.status for _, reading in meter.read()] == ["timeout", "timeout"]
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    "body, status",
    [
        (b"<html>", "malformed"),
        (b"[]", "malformed"),
        (b"\xff\xfe", "malformed"),
        (b'{"PowerWatts": {"Reading": NaN}}', "malformed"),
        (b'{"PowerWatts": {"Reading": 1e300}}', "malformed"),
        (b'{"PowerWatts": {"Reading": "374"}}', "malformed"),
        (b'{"PowerWatts": {"Reading": true}}', "malformed"),
        (b'{"PowerWatts": {"Reading": null}}', "absent"),
        (b'{"PowerWatts": {"Reading": 0}, "Status": {"State": "Absent"}}', "absent"),
        (b'{"PowerWatts": {"Reading": 374}, "Status": 1}', "ok"),
        (b"{}", "absent"),
    ],
)
def test_an_answer_without_power_has_its_status(service, meter, body, status):
    service.answers[ENVIRONMENT] = body
    assert read_status(meter) == status


def test_a_reading_above_the_range_of_its_sensor_is_over_range(service):
    meter = open_node_meter(access(service, SENSOR))
    service.power_w = lambda: 3001.0
    assert read_status(meter) == "over-range"


def test_power_that_is_refreshed_once_a_minute_is_stale_in_between(service, meter, monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: now_s)
    monkeypatch.setattr("harness.power.feeds.frame.time", clock)
    statuses = []
    for now_s in range(130):
        service.power_w = lambda now_s=now_s: 374.0 + now_s // 60
        statuses.append(read_status(meter))
    assert statuses[:60] == ["ok"] * 15 + ["stale"] * 45
    assert statuses[60:75] == ["ok"] * 15 and statuses[75] == "stale"
    assert read_one(meter).power_mw == 376_000


def test_the_certificate_is_verified(service, tmp_path):
    with pytest.raises(MeterError, match=r"certificate is not the expected one; set ca_file"):
        open_node_meter(access(service, ca_file="/etc/ssl/certs/ca-certificates.crt"))
    assert service.requests == []


def test_a_pinned_certificate_is_accepted_and_another_one_gets_no_password(service):
    pin = service.certificate_sha256
    assert read_status(open_node_meter(access(service, pin_sha256=pin))) == "ok"
    service.requests.clear()
    other_pin = ("0" if pin[0] != "0" else "1") + pin[1:]
    with pytest.raises(MeterError, match="certificate is not the expected one"):
        open_node_meter(access(service, pin_sha256=other_pin))
    assert service.requests == []


@pytest.mark.parametrize(
    "options, problem",
    [
        ({"user": ""}, "has no user"),
        ({"pin_sha265": "ab"}, "has the key pin_sha265, which the kind redfish does not have"),
        ({"pin_sha256": "abc"}, "pin_sha256 is no SHA-256"),
        ({"ca_file": "/nowhere"}, "ca_file cannot be read"),
    ],
)
def test_a_wrong_entry_is_named(service, options, problem):
    with pytest.raises(MeterError, match=problem):
        open_node_meter(access(service, **options))


@pytest.mark.parametrize(
    "resource, problem",
    [
        ("/redfish/v1/Chassis/2U/Power", "no such resource"),
        (f"{POWER}#/PowerControl/7", "the resource has no /PowerControl/7"),
        (CHASSIS, "no power in W"),
    ],
)
def test_a_wrong_resource_is_named(service, resource, problem):
    with pytest.raises(MeterError, match=rf"meter bmc, feed feed0: .*{problem}"):
        open_node_meter(access(service, resource))


def test_no_message_contains_address_or_secret(service):
    entry = access(service)
    service.stop()
    with pytest.raises(MeterError) as failure:
        open_node_meter(entry)
    text = f"{failure.value!r} {failure.value.__cause__!r} {entry!r}"
    assert "127.0.0.1" not in text and service.password not in text


def test_a_number_of_ten_thousand_digits_is_malformed(service, meter):
    service.answers[ENVIRONMENT] = json.dumps({"PowerWatts": {"Reading": 1}}).encode()[:-2] + (
        b"0" * 10_000 + b"}}"
    )
    assert read_status(meter) == "malformed"


WHOLE = {"Name": "System Power Control", "PowerConsumedWatts": 410}
CPU = {"Name": "CPU Power", "PowerConsumedWatts": 200}
MEMORY = {"Name": "Memory Subsystem", "PowerConsumedWatts": 60}
MEMBERS = f"{FIRST_CONTROL} {POWER}#/PowerControl/1"


def set_members(service: RedfishService, *members: dict[str, object]) -> None:
    service.answers[POWER] = json.dumps({"PowerControl": members}).encode()


def test_the_members_of_power_control_are_listed_with_name_and_power(
    service: RedfishService,
) -> None:
    set_members(service, WHOLE, CPU, {"MemberId": "2"})
    with pytest.raises(MeterError) as failure:
        open_node_meter(access(service, POWER))
    assert str(failure.value).endswith(
        "to name one: 0 is 'System Power Control', 410 W; 1 is 'CPU Power', 200 W; "
        "2 is without a name, no power"
    )


@pytest.mark.parametrize(
    "first, second",
    [
        (WHOLE, CPU),
        (MEMORY, WHOLE),
        ({**WHOLE, "Name": "Server Power Control"}, {**CPU, "Name": "Memory Sub-system Power"}),
        ({**WHOLE, "Name": "", "PhysicalContext": "Chassis"}, {**CPU, "PhysicalContext": "GPU"}),
        (
            {**WHOLE, "Name": "a", "RelatedItem": [{"@odata.id": "/redfish/v1/Systems/1"}]},
            {**CPU, "Name": "b", "RelatedItem": [{"@odata.id": "/redfish/v1/Systems/1/Cpu/0"}]},
        ),
    ],
)
def test_a_member_and_a_part_of_it_are_refused_together(service, first, second):
    set_members(service, first, second)
    with pytest.raises(MeterError, match=r"feed feed\d \(.*\) contains the feed feed\d"):
        open_node_meter(access(service, MEMBERS))


@pytest.mark.parametrize(
    "first, second",
    [
        (CPU, MEMORY),
        ({**WHOLE, "Name": "Node 1 Power Control"}, {**WHOLE, "Name": "Node 2 Power Control"}),
        ({"PowerConsumedWatts": 1}, {"PowerConsumedWatts": 2}),
    ],
)
def test_members_that_add_up_are_read_together(service, first, second):
    set_members(service, first, second)
    powers_mw = [
        reading.power_mw for _, reading in open_node_meter(access(service, MEMBERS)).read()
    ]
    assert powers_mw == [1000 * member["PowerConsumedWatts"] for member in (first, second)]


OWN = {"example": {"Chassis": {"NowW": 150, "LimitWatts": 900, "Slots": 4, "Label": "W"}}}


@pytest.mark.parametrize("kind", ["redfish", "redfish_power_control"])
def test_the_power_of_a_maker_is_read_where_the_entry_names_it(service, kind):
    service.answers[POWER] = json.dumps({"Oem": OWN}).encode()

    def open_feed(pointer: str) -> NodeMeter:
        return open_node_meter(dataclasses.replace(access(service, POWER + pointer), kind=kind))

    assert read_one(open_feed("#/Oem/example/Chassis/NowW")) == FeedReading(power_mw=150_000)
    for pointer in ("", "#/Oem/example/Chassis"):
        with pytest.raises(MeterError) as failure:
            open_feed(pointer)
        assert str(failure.value).endswith(
            "#/Oem/example/Chassis/NowW (150 W); #/Oem/example/Chassis/LimitWatts (900 W)"
        )
        assert "the power of this maker is in Oem" in str(failure.value)
    with pytest.raises(MeterError, match="Slots is 4, and its name states no power in W"):
        open_feed("#/Oem/example/Chassis/Slots")
