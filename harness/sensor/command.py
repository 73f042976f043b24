"""`bench-submit doctor --sensor`: examines the sensors of the boards one after the other, writes
all reads and the figures to files, and prints the figures."""

import csv
import gzip
import io
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from checker.terminal import describe_unwritable
from harness.errors import MeterError
from harness.power.source import Device, PowerSource, read_back
from harness.power.sources import measuring_meters, open_source
from harness.power.sources.simulated import SimulatedSource
from harness.run.workers.launch import make_board_environment
from harness.sensor.load import ComputingLoad, Load, SimulatedLoad
from harness.sensor.recording import Recording, record
from harness.sensor.stages import STAGES
from rules.metrics.sensor.examination import (
    AVERAGE,
    BUFFER,
    COUNTER,
    MEMORY,
    POWER,
    SensorExamination,
    examine_readings,
)

NAMES = {
    POWER: "power",
    AVERAGE: "average",
    COUNTER: "counter",
    BUFFER: "buffer",
    MEMORY: "memory",
}
FORMAT = "wattmark-sensor/1"


def examine_sensors(meter: str | None, directory: Path) -> Iterator[RenderableType]:
    """Examine every board of the meter, or of the first meter that opens, for about 94 s each.
    Yields what to print. Raises MeterError."""
    with closing(_open_source(meter)) as source:
        devices = source.devices()
        for index, device in enumerate(devices):
            yield f"{escape(device.uuid)}: examining its sensors for {_count_seconds():.0f} s"
            if foreign := read_back(source, device.uuid).foreign_processes:
                raise MeterError(
                    f"{device.uuid}: {foreign} processes compute on this board, so its load is "
                    "not known; end them, or choose another board with CUDA_VISIBLE_DEVICES"
                )
            with _make_load(source, devices, index) as load:
                recording = record(source, device.uuid, load, STAGES)
            examination = examine_readings(
                recording.get_readings(), recording.get_pulses(), recording.get_stages()
            )
            path = _write(directory, source, device, recording, examination)
            yield render_examination(device, examination)
            yield f"all reads: {escape(str(path))}"


def _open_source(meter: str | None) -> PowerSource:
    """The source of the meter, or else the first one that opens. Raises MeterError."""
    names = [meter] if meter else measuring_meters()
    reasons: list[str] = []
    for name in names:
        try:
            return open_source(name)
        except MeterError as error:
            reasons.append(f"{name}: {error}")
    raise MeterError("no meter can be used: " + "; ".join(reasons))


def _count_seconds() -> float:
    return sum(stage.duration_s for stage in STAGES)


def _make_load(source: PowerSource, devices: Sequence[Device], index: int) -> Load:
    if isinstance(source, SimulatedSource):
        return SimulatedLoad(source, devices[index].uuid, time.monotonic_ns)
    environment, torch_device = make_board_environment(source.torch_device, devices, index)
    return ComputingLoad(environment, torch_device)


def _write(
    directory: Path,
    source: PowerSource,
    device: Device,
    recording: Recording,
    examination: SensorExamination,
) -> Path:
    """Write all reads, and the figures beside them. Returns the file of the reads. Raises
    MeterError."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("quantity", "start_ns", "end_ns", "value"))
    writer.writerows((f"stage {name}", start, end, "") for name, start, end in recording.stages)
    writer.writerows(("load", start_ns, end_ns, 1) for start_ns, end_ns in recording.pulses)
    writer.writerows(
        (read.quantity, read.start_ns, read.end_ns, read.value) for read in recording.reads
    )
    document = {
        "format": FORMAT,
        "device": asdict(device),
        "driver": source.driver,
        "stages": [asdict(stage) for stage in STAGES],
        **asdict(examination),
    }
    path = directory / f"sensor-{device.uuid}.csv.gz"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
        path.with_suffix("").with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise MeterError(describe_unwritable(error, path)) from None
    return path


def render_examination(device: Device, examination: SensorExamination) -> RenderableType:
    """The figures of a board as two tables of at most 80 columns."""
    responses = Table(
        "sensor",
        *("refresh ms", "window ms", "delay ms", "rise ms", "unexplained %"),
        title=f"{device.uuid}\n{device.name}: response to the load",
        box=None,
        padding=(0, 1, 0, 0),
    )
    for quantity, response in examination.responses.items():
        times_s = response.period_s, response.window_s, response.delay_s, response.rise_s
        responses.add_row(
            NAMES[quantity],
            *(f"{1e3 * seconds:.1f}" for seconds in times_s),
            f"{100 * response.unexplained_share:.2f}",
        )
    quantities = [
        quantity
        for quantity in NAMES
        if any(quantity in stage.mean_w for stage in examination.stages)
    ]
    means = Table(
        "stage",
        *("load %", "expected"),
        *(NAMES[quantity] for quantity in quantities),
        title="mean power, W",
        box=None,
        padding=(0, 1, 0, 0),
    )
    for stage in examination.stages:
        powers_w = [stage.expected_w, *map(stage.mean_w.get, quantities)]
        means.add_row(
            stage.name,
            f"{100 * stage.load_share:.1f}",
            *("-" if power_w is None else f"{power_w:.1f}" for power_w in powers_w),
        )
    for table in (responses, means):
        for column in table.columns[1:]:
            column.justify, column.no_wrap = "right", True
    return Group(responses, "", means)
