"""The output of a run while it runs: a live line on a terminal, plain lines elsewhere, and every
line in the log."""

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

from harness.power.limits import format_limit
from harness.run import preflight
from harness.run.plan import Plan
from rules.bundle_format.records import Json
from rules.metrics.figures import Percentiles
from rules.metrics.figures_json import figures_from_json
from rules.metrics.imbalance import compute_imbalance
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
        # The live line redraws itself. Text printed around it would break it. `markup=False`: names
        # may contain square brackets, which rich reads as markup.
        (self._live.console if self._live else self._console).print(
            text, markup=False, highlight=False, soft_wrap=True
        )

    def note(self, text: str) -> None:
        """A line for the log alone."""
        self._log.write(f"{datetime.now(UTC):%H:%M:%S} {text}\n")
        # The log must be complete when the process is killed: it says why.
        self._log.flush()

    def begin_epochs(self, epochs: int, item: str) -> None:
        """Start the live line: epochs done, items/s, W, time left. On anything but a terminal there
        is none."""
        # In a job's output file, control characters of the live line would be noise.
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


def announce(plan: Plan, view: View) -> None:
    """Print what is run, at which cap and with which meter, and remarks about the machine."""
    nodes = f"{plan.nodes} nodes of " if plan.nodes > 1 else ""
    accelerators = f"{nodes}{len(plan.devices)} x {plan.devices[0].name}"
    view.say(
        f"{plan.workload} {plan.variant}, {plan.scale}, {accelerators}, {_describe_cap(plan)}, "
        f"meter {plan.meter}"
    )
    view.say(
        f"{plan.epochs} epochs of about {plan.epoch_s:g} s, the first discarded; standing "
        f"{plan.standing}"
    )
    for remark in preflight.remarks(plan):
        view.say(f"note: {remark}")


def _describe_cap(plan: Plan) -> str:
    if plan.cap_w is None:
        return "no cap"
    if plan.found_mw is None:
        return f"cap {plan.cap_w:g} W as found"
    limits = ", ".join(format_limit(mw) for mw in sorted(set(plan.found_mw.values())))
    return f"cap {plan.cap_w:g} W, set for this run (found {limits})"


def headline(result: Json) -> Iterator[str]:
    """The results of a finished run, one line each: throughput and energy, differences between
    accelerators, and waiting times of a server."""
    workload = workloads()[result["workload"]]
    figures = figures_from_json(result)
    head = figures.headline
    several = result["settings"]["accelerators"] > 1
    per_accelerator = (
        f" ({head.items_per_s_per_accelerator.mean:.6g} per accelerator)" if several else ""
    )
    watts = f"{head.mean_power_w_per_accelerator.mean:.1f} W{' per accelerator' if several else ''}"
    joules = head.joules_per_item
    energy = watts if joules is None else f"{watts}, {joules.mean:.4g} J/{workload.item}"
    mfu = "" if head.mfu is None else f", MFU {100 * head.mfu.mean:.1f} %"
    yield f"{head.items_per_s.mean:.6g} {workload.item}s/s{per_accelerator}, {energy}{mfu}"
    if imbalance := compute_imbalance(figures.epochs):
        shares = (
            ("active time", imbalance.active_time),
            ("power", imbalance.mean_power),
            ("SM clock", imbalance.mean_sm_clock),
        )
        yield "apart: " + ", ".join(
            f"{name} {100 * share:.2f} %" for name, share in shares if share is not None
        )
    if serving := figures.serving:
        yield f"time to first token: {_format_percentiles(serving.ttft_s, 's')}"
        yield f"per output token: {_format_percentiles(serving.tpot_s, 'ms', 1000)}"
        yield f"latency: {_format_percentiles(serving.latency_s, 's')}"
        yield f"{serving.input_tokens_per_s:.6g} input tokens/s over {serving.requests} requests"


def _format_percentiles(times_s: Percentiles, unit: str, units_per_s: int = 1) -> str:
    return ", ".join(
        f"{name} {time_s * units_per_s:.4g} {unit}" for name, time_s in vars(times_s).items()
    )
