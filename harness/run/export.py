"""`--export`: power, energy, cap, items and epochs of a run for Prometheus while it runs.

Once a second, the harness asks the sampler for its latest readings. The sampler answers between two
ticks; it serves nothing and writes no file for this. `prometheus_client` is imported only if a run
exports.
"""

import errno
import importlib.util
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from checker.extras import advise_extra
from harness import interrupts
from harness.checks import Check, StackError
from harness.errors import MachineError, PlanError
from harness.power.sampler import LatestReading
from harness.run.plan import Plan
from harness.run.progress import View

HTTP, TEXT_FILE = "prometheus", "textfile"
FILE_SUFFIX = ".prom"
"""node_exporter reads no other files."""
FILE_START = b"# HELP wattmark_"
"""How a text file of this module begins."""
INTERVAL_S = 1.0
ABANDONED_S = 10.0
"""A file that was not written for this long belongs to no run that goes on."""
MAX_PORT = 65535


@dataclass(frozen=True)
class ExportTarget:
    """Where a run exports to: a port, or a file."""

    port: int | None = None
    path: Path | None = None

    def __str__(self) -> str:
        return f"{TEXT_FILE}:{self.path}" if self.port is None else f"{HTTP}:{self.port}"

    @property
    def kind(self) -> str:
        return TEXT_FILE if self.port is None else HTTP


def parse_target(text: str) -> ExportTarget:
    """Return the target that `--export` names, with an absolute path. Raises PlanError."""
    kind, _, value = text.partition(":")
    if kind == HTTP and value.isascii() and value.isdecimal() and 1 <= int(value) <= MAX_PORT:
        return ExportTarget(port=int(value))
    if kind == TEXT_FILE and value:
        if not value.endswith(FILE_SUFFIX):
            raise PlanError(
                f"--export {text}: node_exporter reads files that end in {FILE_SUFFIX} only; give "
                "such a name"
            )
        return ExportTarget(path=Path(value).absolute())
    raise PlanError(
        f"--export {text}: give {HTTP}:PORT with a port from 1 to {MAX_PORT}, or {TEXT_FILE}:FILE"
    )


def check_export(target: ExportTarget) -> Check:
    """Check that a run can export to the target. Raises MachineError."""
    if importlib.util.find_spec("prometheus_client") is None:
        raise StackError(
            f"--export: prometheus-client is not installed; {advise_extra('monitoring')}"
        )
    try:
        if target.path is None:
            socket.create_server(("", target.port or 0)).close()
        else:
            _check_file(target.path)
    except OSError as error:
        raise _explain_failure(target, error) from None
    return Check("export", True, str(target))


def _check_file(path: Path) -> None:
    """Raise MachineError if the file is that of another program or run, OSError if it cannot be
    written."""
    # The run would write it anew and remove it at its end.
    with suppress(FileNotFoundError):
        content = path.read_bytes()
        if content and not content.startswith(FILE_START):
            raise MachineError(
                f"--export {TEXT_FILE}:{path}: another program has written this file; give a name "
                "of its own"
            )
        # A killed run leaves its file.
        if time.time() - path.stat().st_mtime < ABANDONED_S:
            raise MachineError(
                f"--export {TEXT_FILE}:{path}: another run writes this file; give a name of its own"
            )
    draft = path.with_name(f"{path.name}.check")
    draft.touch()
    draft.unlink()


def _explain_failure(target: ExportTarget, error: OSError) -> MachineError:
    if error.errno == errno.EADDRINUSE:
        return MachineError(f"--export {target}: another process uses this port; give another one")
    advice = (
        "give a port above 1023"
        if target.path is None
        else "give a file in a directory that exists and that you may write to"
    )
    return MachineError(f"--export {target}: {error.strerror or error}; {advice}")


class RunExport:
    """The export of a run. The context manager opens the target, and ends the export: it closes the
    port or removes the file."""

    def __init__(self, plan: Plan, target: ExportTarget) -> None:
        self._target = target
        self._labels = {
            "workload": plan.configuration.workload,
            "bundle": plan.run_id,
            "node": plan.node_name,
        }
        self._uuids = tuple(device.uuid for device in plan.devices)
        self._readings: Sequence[LatestReading] = ()
        """The latest of each accelerator; empty before the first."""
        self._items = 0.0
        self._epochs = 0
        self._next_update_s = 0.0
        self._failure: str | None = None
        """Why the file could not be written last time."""

    def __enter__(self) -> Self:
        # The preflight of a resumed run does not check the target.
        check_export(self._target)
        from prometheus_client import CollectorRegistry, start_http_server

        self._registry = CollectorRegistry()
        self._registry.register(self)
        try:
            if self._target.port is not None:
                self._server, self._thread = start_http_server(
                    self._target.port, registry=self._registry
                )
            else:
                self._write_file()
        except OSError as error:
            raise _explain_failure(self._target, error) from None
        return self

    def __exit__(self, *exception: object) -> None:
        if self._target.path is not None:
            # The values of a finished run would look like those of a run that goes on.
            with suppress(OSError):
                self._target.path.unlink(missing_ok=True)
            return
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def update(self, read_latest: Callable[[], Sequence[LatestReading]], view: View) -> None:
        """Take over the latest readings if a second has passed since the last time. A file that
        cannot be written does not end the run."""
        if time.monotonic() < self._next_update_s:
            return
        self._next_update_s = time.monotonic() + INTERVAL_S
        self._readings = read_latest() or self._readings
        if self._target.path is None:
            return
        try:
            self._write_file()
            self._failure = None
        except OSError as error:
            if self._failure is None:
                view.print_line(f"note: {_explain_failure(self._target, error)}; the run goes on")
            self._failure = str(error)

    def add_epoch(self, items: float) -> None:
        """Count an epoch that has ended, with the items of this node in it."""
        self._items += items
        self._epochs += 1

    def collect(self) -> Iterator[Any]:
        """Yield the metrics. A scrape calls this from a thread of the HTTP server."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        run_names = tuple(self._labels)
        run_values = tuple(self._labels.values())
        readings = self._readings
        for family, name, text, values in (
            (
                GaugeMetricFamily,
                "wattmark_power_watts",
                "Power of an accelerator: instantaneous, or the board's average if it has no other",
                [r.power_avg_mw if r.power_mw is None else r.power_mw for r in readings],
            ),
            (
                CounterMetricFamily,
                "wattmark_energy_joules",
                "Energy counter of an accelerator, which the driver or the board started",
                [r.energy_mj for r in readings],
            ),
            (
                GaugeMetricFamily,
                "wattmark_power_cap_watts",
                "Power limit of an accelerator in force",
                [r.cap_mw for r in readings],
            ),
        ):
            metric = family(name, text, labels=(*run_names, "accelerator"))
            for uuid, value in zip(self._uuids, values, strict=False):
                if value is not None:
                    metric.add_metric((*run_values, uuid), value / 1e3)
            yield metric
        for family, name, text, count in (
            (
                CounterMetricFamily,
                "wattmark_items",
                "Items in the epochs that have ended, over the accelerators of the node",
                self._items,
            ),
            (
                GaugeMetricFamily,
                "wattmark_epochs_ended",
                "Epochs that have ended, with the discarded first one",
                self._epochs,
            ),
        ):
            metric = family(name, text, labels=run_names)
            metric.add_metric(run_values, count)
            yield metric

    def _write_file(self) -> None:
        from prometheus_client import write_to_textfile

        # An interrupted write would leave its draft.
        with interrupts.defer_signals():
            write_to_textfile(str(self._target.path), self._registry)
