"""Meters that are files of the kernel, on trees that the test writes: Cray's pm_counters and
hwmon."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.harness.node_power import METER

from harness.errors import MeterError
from harness.meter_tables import parse_meters
from harness.power.feeds import feed as feed_module
from harness.power.node_meter import MeterAccess, NodeMeter
from harness.power.node_reader import NodeReaders
from harness.power.nodes import open_node_meter
from rules.bundle_format.records import FeedReading

PERIOD_S = 0.1
FIRST_US = 1_763_800_000_000_000


class Controller:
    """The files of a node controller. `renew` writes the measurement of that number: 100 ms after
    the one before, with 10 W more."""

    def __init__(self, directory: Path) -> None:
        self.tree, self.number, self.generation = directory / "pm_counters", 0, 17
        self.renew()

    def write(self, name: str, text: str) -> None:
        (self.tree / name).write_text(f"{text}\n")

    def renew(self) -> None:
        self.number += 1
        # All files change at the same instant: the tree is a link that is replaced.
        files = self.tree.with_name(f"files{self.number}")
        files.mkdir()
        self._fill(files)
        link = self.tree.with_name("link")
        link.symlink_to(files)
        link.rename(self.tree)

    def _fill(self, files: Path) -> None:
        texts = {
            "generation": str(self.generation),
            "raw_scan_hz": "10",
            "freshness": str(self.number),
        }
        stamp = f"{FIRST_US + 100_000 * self.number} us"
        for prefix, base_w in (("", 2000), ("cpu_", 300), ("accel0_", 500)):
            power_w = base_w + 10 * self.number
            texts[f"{prefix}power"] = f"{power_w} W {stamp}"
            texts[f"{prefix}energy"] = f"{100 * self.number} J {stamp}"
        for name, text in texts.items():
            (files / name).write_text(f"{text}\n")

    @contextmanager
    def run(self) -> Iterator[None]:
        """Renew the files ten times a second."""
        end = threading.Event()

        def renew_on_time() -> None:
            start_s = time.monotonic()
            ticks = 0
            while not end.is_set():
                ticks += 1
                end.wait(max(0.0, start_s + ticks * PERIOD_S - time.monotonic()))
                self.renew()

        thread = threading.Thread(target=renew_on_time)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()


@pytest.fixture
def controller(tmp_path: Path) -> Controller:
    return Controller(tmp_path)


def open_counters(tree: Path, *feeds: str) -> NodeMeter:
    options = {"tree": str(tree)}
    return open_node_meter(
        MeterAccess("cray", "pm_counters", {feed: feed for feed in feeds}, options=options)
    )


def test_node_and_parts_of_a_controller_are_read(controller: Controller) -> None:
    stamp_ns = 1000 * (FIRST_US + 100_000)
    assert open_counters(controller.tree, "node").read() == [
        ("node", FeedReading(2_010_000, 100_000, meter_ns=stamp_ns, fresh=1))
    ]
    assert open_counters(controller.tree, "cpu", "accel0").read() == [
        ("cpu", FeedReading(310_000, 100_000, meter_ns=stamp_ns, fresh=1)),
        ("accel0", FeedReading(510_000, 100_000, meter_ns=stamp_ns, fresh=1)),
    ]


def test_readings_of_a_live_controller_are_consistent_and_tell_repeats(
    controller: Controller,
) -> None:
    meter = open_counters(controller.tree, "node")
    with controller.run():
        end_s = time.monotonic() + 1.5
        readings = []
        while time.monotonic() < end_s:
            readings += [reading for _, reading in meter.read()]
            time.sleep(0.004)
    readings = [reading for reading in readings if reading.status == "ok"]
    numbers = {reading.fresh for reading in readings}
    # Many more readings than measurements, of which none was missed.
    assert len(readings) > 5 * len(numbers)
    assert len(numbers) >= 8
    for reading in readings:
        assert reading.fresh is not None
        assert reading.power_mw == 1000 * (2000 + 10 * reading.fresh)
        assert reading.meter_ns == 1000 * (FIRST_US + 100_000 * reading.fresh)


def test_a_renewal_during_a_reading_makes_the_meter_read_again(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = open_counters(controller.tree, "node")
    renewals = 2
    read_feed = type(meter)._read_feed  # type: ignore[attr-defined]

    def renew_meanwhile(self: NodeMeter, part: str, fresh: int) -> FeedReading:
        nonlocal renewals
        reading: FeedReading = read_feed(self, part, fresh)
        if renewals:
            renewals -= 1
            controller.renew()
        return reading

    monkeypatch.setattr(type(meter), "_read_feed", renew_meanwhile)
    ((_, reading),) = meter.read()
    assert (reading.fresh, reading.power_mw) == (3, 2_030_000)


def test_changes_of_a_power_cap_during_a_run_are_counted_and_logged(
    controller: Controller, tmp_path: Path
) -> None:
    access_file = tmp_path / "meters.toml"
    access_file.write_text(
        f'[cray]\nkind = "pm_counters"\ntree = "{controller.tree}"\nfeeds = {{ node = "node" }}\n'
    )
    access_file.chmod(0o600)
    entry = METER | {"id": "cray", "kind": "pm_counters", "interval_ms": 50}
    meters = parse_meters({"meters": [entry | {"feeds": [{"feed": "node", "node": "node0"}]}]})
    lines: list[str] = []
    with NodeReaders(meters, "node0", tmp_path, access_file, lines.append).run() as readers:
        controller.generation += 2
        controller.renew()
        (sampling,) = readers.stop()
    assert sampling.cap_changes == 2
    assert lines == ["meter cray: the power caps of the node changed while it was read (times: 2)"]


def test_a_controller_without_a_generation_tells_no_changes_of_caps(controller: Controller) -> None:
    (controller.tree / "generation").unlink()
    meter = open_counters(controller.tree, "node")
    assert (meter.read()[0][1].status, meter.count_cap_changes()) == ("ok", None)


def test_a_controller_that_stands_still_is_stale(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "STALE_AFTER_S", 0.05)
    meter = open_counters(controller.tree, "node")
    assert meter.read()[0][1].status == "ok"
    time.sleep(0.06)
    assert meter.read()[0][1].status == "stale"
    controller.renew()
    assert meter.read()[0][1].status == "ok"


def test_files_without_a_time_have_no_stamp(controller: Controller) -> None:
    controller.write("power", "125 W")
    controller.write("energy", "77 J")
    assert open_counters(controller.tree, "node").read() == [
        ("node", FeedReading(125_000, 77_000, fresh=1))
    ]


@pytest.mark.parametrize(
    ("name", "text", "status"),
    [
        ("power", None, "absent"),
        ("power", "", "malformed"),
        ("power", "-5 W 1 us", "malformed"),
        ("power", "12 kW 1 us", "malformed"),
        ("energy", "12 W 1 us", "malformed"),
        ("freshness", "x", "malformed"),
        ("freshness", "\xff", "malformed"),
    ],
)
def test_a_file_that_fails_during_a_run_is_a_status(
    controller: Controller, name: str, text: str | None, status: str
) -> None:
    meter = open_counters(controller.tree, "node")
    if text is None:
        (controller.tree / name).unlink()
    else:
        (controller.tree / name).write_bytes(text.encode("latin-1"))
    assert meter.read() == [("node", FeedReading(status=status))]
    controller.renew()
    assert meter.read()[0][1].status == "ok"


def test_feeds_that_the_controller_lacks_or_that_overlap_are_refused(
    controller: Controller, tmp_path: Path
) -> None:
    with pytest.raises(MeterError, match=r"no accel7_power; the feeds here are accel0, cpu, node"):
        open_counters(controller.tree, "accel7")
    with pytest.raises(MeterError, match="parts, which do not add up"):
        open_counters(controller.tree, "node", "cpu")
    with pytest.raises(MeterError, match=r"no Cray or HPE node"):
        open_counters(tmp_path / "other", "node")


def write_sensor(directory: Path, **texts: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (directory / name).write_text(f"{text}\n")
    return directory


@pytest.fixture
def grace(tmp_path: Path) -> Path:
    """A node with two Grace modules, whose sensors are in `device`, and another power sensor."""
    for number, label in enumerate(("Module Power Socket 0", "Grace Power Socket 0")):
        write_sensor(tmp_path / f"hwmon{number}", name="power_meter")
        write_sensor(
            tmp_path / f"hwmon{number}" / "device",
            power1_average=str(512_345_678 + number),
            power1_average_interval="50",
            power1_oem_info=label,
        )
    write_sensor(
        tmp_path / "hwmon2",
        name="amdgpu",
        power1_average="90000000",
        power1_input="91000000",
        power1_label="PPT",
        energy1_input="5000000",
        power1_cap="300000000",
    )
    return tmp_path


def open_sensors(tree: Path, **feeds: str) -> NodeMeter:
    return open_node_meter(MeterAccess("hw", "hwmon", feeds, options={"tree": str(tree)}))


def test_sensors_are_found_by_label_or_place(grace: Path) -> None:
    meter = open_sensors(grace, module="module power socket 0", gpu="hwmon2/power1")
    assert meter.read() == [
        ("module", FeedReading(power_mw=512_346)),
        ("gpu", FeedReading(power_mw=90_000, energy_mj=5_000)),
    ]


def test_a_label_of_no_sensor_or_of_several_is_refused_with_those_that_exist(grace: Path) -> None:
    with pytest.raises(MeterError, match=r"0 power sensors .*hwmon0/power1 \(Module Power Soc"):
        open_sensors(grace, node="Node Power")
    write_sensor(grace / "hwmon3", name="amdgpu", power1_average="1", power1_label="PPT")
    with pytest.raises(MeterError, match=r"2 power sensors .*name it by its place"):
        open_sensors(grace, gpu="PPT")
    with pytest.raises(MeterError, match="the sensors are none"):
        open_sensors(grace / "other", node="x")


@pytest.mark.parametrize(
    ("text", "status"),
    [(None, "absent"), ("", "malformed"), ("-1", "malformed"), ("4294967295000", "absent")],
)
def test_a_sensor_that_fails_during_a_run_is_a_status(
    grace: Path, text: str | None, status: str
) -> None:
    meter = open_sensors(grace, module="Module Power Socket 0", gpu="PPT")
    path = grace / "hwmon0" / "device" / "power1_average"
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    (module, gpu) = meter.read()
    assert module == ("module", FeedReading(status=status))
    assert gpu[1].status == "ok"


def test_a_sensor_that_does_not_answer_is_refused_when_the_meter_is_opened(grace: Path) -> None:
    path = grace / "hwmon0" / "device" / "power1_average"
    path.unlink()
    # Reading a directory fails with an error of the operating system, as a dead sensor does.
    path.mkdir()
    with pytest.raises(MeterError, match=r"hwmon0/power1 .*power1_average cannot be read"):
        open_sensors(grace, module="Module Power Socket 0")
