"""What a run tells while it runs: a live line on a terminal, plain lines elsewhere, and every line
in the log."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from rules.bundle_format.records import Json
from rules.metrics.imbalance import imbalance
from rules.workloads import workloads


class View:
    """Tells people and keeps the log at `log`; a context manager that ends the live line."""

    def __init__(self, console: Console, log: Path) -> None:
        self._console = console
        self._log = log.open("a")
        self._live: Progress | None = None

    def __enter__(self) -> "View":
        return self

    def __exit__(self, *exception: object) -> None:
        self.end_epochs()
        self._log.close()

    def say(self, text: str) -> None:
        """A line for the reader and the log."""
        self.note(text)
        (self._live.console if self._live else self._console).print(
            text, markup=False, highlight=False, soft_wrap=True
        )

    def note(self, text: str) -> None:
        """A line for the log alone."""
        self._log.write(f"{datetime.now(UTC):%H:%M:%S} {text}\n")
        self._log.flush()

    def begin_epochs(self, epochs: int, item: str) -> None:
        """Start the live line: epochs done, items/s, W, time left. On anything but a terminal there
        is none."""
        if not self._console.is_terminal:
            return
        self._live = Progress(
            TextColumn("epochs"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:.5g} " + item + "s/s  {task.fields[power]} W"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
        )
        self._task = self._live.add_task("", total=epochs, rate=0.0, power="-")
        self._live.start()

    def power(self, power_w: tuple[float | None, ...]) -> None:
        """Show the latest power of each accelerator."""
        if self._live:
            shown = " ".join("-" if p is None else f"{p:.0f}" for p in power_w)
            self._live.update(self._task, power=shown or "-")

    def epoch_done(self, items_per_s: float) -> None:
        """Show that one more epoch is done."""
        if self._live:
            self._live.update(self._task, advance=1, rate=items_per_s)

    def end_epochs(self) -> None:
        if self._live:
            self._live.stop()
            self._live = None


def headline(result: Json) -> Iterator[str]:
    """What a finished run gave, a line each: throughput and energy, how far accelerators are apart,
    what users waited."""
    workload = workloads()[result["workload"]]
    means = {
        name: figure["mean"] for name, figure in result["headline"].items() if figure is not None
    }
    several = result["settings"]["accelerators"] > 1
    each = f" ({means['items_per_s_per_accelerator']:.6g} per accelerator)" if several else ""
    watts = f"{means['mean_power_w_per_accelerator']:.1f} W{' per accelerator' if several else ''}"
    energy = f"{watts}, {means['joules_per_item']:.4g} J/{workload.item}"
    mfu = f", MFU {100 * means['mfu']:.1f} %" if "mfu" in means else ""
    yield f"{means['items_per_s']:.6g} {workload.item}s/s{each}, {energy}{mfu}"
    if apart := imbalance(result):
        names = {"active_s": "active time", "mean_power_w": "power", "mean_sm_mhz": "SM clock"}
        yield "apart: " + ", ".join(
            f"{names[k]} {100 * v:.2f} %" for k, v in apart.items() if v is not None
        )
    if seen := result.get("serving"):
        waits = (
            ("time to first token", "ttft_s", "s", 1),
            ("per output token", "tpot_s", "ms", 1000),
            ("latency", "latency_s", "s", 1),
        )
        for name, key, unit, scale in waits:
            yield f"{name}: " + ", ".join(
                f"{p} {value * scale:.4g} {unit}" for p, value in seen[key].items()
            )
        yield f"{seen['input_tokens_per_s']:.6g} input tokens/s over {seen['requests']} requests"
