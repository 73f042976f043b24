"""The output of a run: a live line on a terminal, plain lines elsewhere, and every line in the
log."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from checker.terminal import UnwritableError, describe_unwritable
from harness.power.caps.apply import warn_before_caps
from harness.power.caps.limits import describe_settings
from harness.run.plan import SIMULATED_WORK, Plan
from harness.run.plan_checks import check_plan
from rules.bundle_format.records import Json
from rules.declarations.run import RunDeclaration
from rules.finding import format_count
from rules.metrics.figures import Percentiles, RunFigures
from rules.metrics.figures_json import figures_from_json, idle_from_json
from rules.metrics.idle import BARE, BUILD, RESIDENT, IdleSummary, summarize_idle
from rules.metrics.imbalance import compute_imbalance
from rules.metrics.uncertainty.systematic import compute_sensor_term
from rules.metrics.uncertainty.within_run import describe_epochs
from rules.workloads import workloads

WAIT_LINE_S = 60.0
"""How often output that is no terminal says what a run waits for."""
NEXT_ACTIVITY = {
    BARE: "starting the workers and building the model",
    BUILD: "measuring idle power with the model",
    RESIDENT: "warming up",
    "warm-up": "calibrating the length of an epoch",
}
"""By a phase that has ended, what the run does next."""


class View:
    """Prints on a console and appends to the log file. The context manager ends the live line and
    closes the log."""

    def __init__(self, console: Console, log_path: Path) -> None:
        self._console = console
        self._log = log_path.open("a")
        self._live: Progress | None = None
        self._activity: str | None = None
        """What the run does before its first epoch."""
        self._has_epochs = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end_live_line()
        self._log.close()

    def print_line(self, text: str) -> None:
        """Print a line and add it to the log. Raises UnwritableError if it cannot be printed."""
        self.log_line(text)
        # The live line redraws itself. Text printed around it would break it. `markup=False`: names
        # may contain square brackets, which rich reads as markup.
        console = self._live.console if self._live else self._console
        try:
            console.print(text, markup=False, highlight=False, soft_wrap=True)
        except OSError as error:
            # Not to be taken for an error of the directory of the run.
            raise UnwritableError(describe_unwritable(error)) from None

    def log_line(self, text: str) -> None:
        """Add a line to the log only."""
        self._log.write(f"{datetime.now(UTC):%H:%M:%S} {text}\n")
        # If the process is killed, the log must be complete, because users look there for the
        # reason.
        self._log.flush()

    def end_phase(self, phase: str, compiles: bool) -> None:
        """Show what the run does after `phase` and for how long, until the first epoch. `compiles`
        says that the first batches compile the model."""
        if phase == BARE:
            self._has_epochs = False
        activity = NEXT_ACTIVITY.get(phase)
        # A slow rank may report the end of a phase after the first rank has begun its epochs.
        if activity is None or self._has_epochs:
            return
        if compiles and phase == RESIDENT:
            activity = "compiling the model, which may take minutes, and warming up"
        self.begin_activity(activity)

    def begin_activity(self, activity: str) -> None:
        """Show an activity and for how long it lasts: on a terminal in the live line, elsewhere in
        a line a minute."""
        self.log_line(activity)
        self.end_live_line()
        self._activity, self._since_s = activity, time.monotonic()
        self._next_line_s = self._since_s + WAIT_LINE_S
        if self._console.is_terminal:
            columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
            self._live = Progress(*columns, console=self._console, transient=True)
            self._live.add_task(activity)
            self._live.start()

    def wait(self, seconds: float) -> None:
        """Sleep, and print the line of a minute if it is due."""
        time.sleep(seconds)
        self.show_waiting_time()

    def show_waiting_time(self) -> None:
        """Print the line of a minute if it is due."""
        now_s = time.monotonic()
        if self._activity and not self._console.is_terminal and now_s >= self._next_line_s:
            self._next_line_s += WAIT_LINE_S
            self.print_line(f"{self._activity}, for {now_s - self._since_s:.0f} s now")

    def begin_epochs(self, epochs: int, item: str) -> None:
        """Start the live line: finished epochs, items/s and mean W of the latest one, time left.
        Only a terminal has one."""
        self.end_live_line()
        self._has_epochs = True
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

    def show_epoch_end(self, items_per_s: float, power: str) -> None:
        """Count one more finished epoch on the live line, and show its throughput and its mean
        power."""
        if self._live:
            self._live.update(self._task, advance=1, rate=items_per_s, power=power)

    def end_live_line(self) -> None:
        """Remove the live line, if there is one."""
        self._activity = None
        if self._live:
            self._live.stop()
            self._live = None


def describe_calibration(plan: Plan, batches_per_epoch: int, batch_s: float) -> str:
    """The line on the length of an epoch, in batches or requests."""
    count = (
        format_count(batches_per_epoch, "request")
        if plan.configuration.requests
        else f"{format_count(batches_per_epoch, 'batch')} of {plan.configuration.batch_size}"
    )
    return f"{count} an epoch, {batch_s * 1e3:.1f} ms each"


def announce(plan: Plan, view: View) -> None:
    """Print workload, accelerators, cap, meter and epochs of the plan, then remarks about the
    machine, and a warning if the journal of its limits may be lost."""
    configuration = plan.configuration
    nodes = f"{plan.nodes} nodes of " if plan.nodes > 1 else ""
    accelerators = f"{nodes}{len(plan.devices)} x {plan.devices[0].name}"
    view.print_line(
        f"{configuration.workload} {configuration.variant}, {plan.scale}, {accelerators}, "
        f"{describe_settings(plan.cap_w, plan.found_mw, plan.sm_clock_mhz)}, meter {plan.meter}"
    )
    view.print_line(
        f"{plan.epochs} epochs of about {configuration.epoch_s:g} s, the first discarded; standing "
        f"{plan.standing}"
    )
    if plan.reproduces is not None:
        view.print_line(f"reproduces {plan.reproduces.path}")
    for check in check_plan(plan):
        if not check.ok:
            view.print_line(f"note: {check.describe()}")
    if warning := warn_before_caps(plan):
        view.print_line(f"warning: {warning}")


def describe_results(result: Json) -> Iterator[str]:
    """Yield the lines that describe result.json of a finished run: throughput and energy,
    differences between accelerators, and the latencies of a server. Of code that a CPU ran beside
    simulated boards, only the throughput means something."""
    declaration = RunDeclaration.from_document(result)
    workload, size = workloads()[declaration.workload], declaration.size
    figures = figures_from_json(result)
    headline = figures.headline
    is_simulated = declaration.sampling.meter.startswith("simulated:")
    per_accelerator, unit = "", "W"
    if declaration.settings.accelerators > 1:
        rate_per_s = headline.items_per_s_per_accelerator.mean
        per_accelerator, unit = f" ({rate_per_s:.6g} per accelerator)", "W per accelerator"
    rate = f"{headline.items_per_s.mean:.6g} {workload.rate_unit(size)}"
    if is_simulated and declaration.implementation.name != SIMULATED_WORK:
        yield f"{rate}{per_accelerator}, computed by the CPU; the power is that of simulated boards"
        return
    energy = f"{headline.mean_power_w_per_accelerator.mean:.1f} {unit}"
    if headline.joules_per_item is not None:
        energy += f", {headline.joules_per_item.mean:.4g} J/{workload.item_of(size)}"
    # Simulated work takes the time of the full workload, and counts the FLOPs of the small one.
    stated_mfu = None if is_simulated else headline.mfu
    mfu = "" if stated_mfu is None else f", MFU {100 * stated_mfu.mean:.1f} %"
    yield f"{rate}{per_accelerator}, {energy}{mfu}"
    yield from _describe_epochs(figures, declaration.settings.accelerators)
    if imbalance := compute_imbalance(figures.epochs):
        differences = (
            ("active time", imbalance.active_time),
            ("power", imbalance.mean_power),
            ("SM clock", imbalance.mean_sm_clock),
        )
        yield "differences between accelerators: " + ", ".join(
            f"{name} {100 * share:.2f} %" for name, share in differences if share is not None
        )
    if idle := idle_from_json(result):
        summary = summarize_idle(idle, headline)
        yield _describe_idle(replace(summary, unused_boards=0) if is_simulated else summary)
    if serving := figures.serving:
        yield f"time to first token: {_format_percentiles(serving.ttft_s, 's')}"
        yield f"per output token: {_format_percentiles(serving.tpot_s, 'ms', 1000)}"
        yield f"latency: {_format_percentiles(serving.latency_s, 's')}"
        yield f"{serving.input_tokens_per_s:.6g} input tokens/s over {serving.requests} requests"


def format_minutes(seconds: float) -> str:
    """Format an estimated time, rounded to 10 s below 90 s and to 1 min above."""
    if seconds < 90:
        return f"about {max(1, round(seconds / 10)) * 10} s"
    minutes = round(seconds / 60)
    return (
        f"about {minutes} min" if minutes < 120 else f"about {minutes // 60} h {minutes % 60} min"
    )


def _describe_epochs(figures: RunFigures, accelerators: int) -> Iterator[str]:
    """Yield a line on what one run tells: intervals within it, the sensor term of its energy, and
    its drift."""
    within_run = describe_epochs(figures)
    term = compute_sensor_term(figures.headline)
    sensor = "" if term is None else f", sensor term {100 * term:.2g} %"
    described = (
        ("throughput", within_run.headline.items_per_s, "", within_run.items_per_s),
        (
            "energy per item",
            within_run.headline.joules_per_item,
            sensor,
            within_run.joules_per_item,
        ),
    )
    parts = []
    for name, estimate, systematic, series in described:
        if estimate is None or estimate.ci95 is None or not estimate.mean > 0 or series is None:
            continue
        drift = "" if series.drift is None else f", drift {series.drift}"
        width = f"{100 * estimate.half_width / estimate.mean:.2g} %"
        parts.append(f"{name} \u00b1 {width}{systematic}{drift}")
    if parts:
        boards = format_count(accelerators, "board")
        yield (
            f"within this run (95 %): {'; '.join(parts)}. One run on {boards} does not show how "
            "far other runs or boards are from it"
        )


def _describe_idle(idle: IdleSummary) -> str:
    unused = ""
    if idle.unused_boards:
        power = "" if idle.unused_w is None else f", {idle.unused_w:.0f} W"
        busy = f", {idle.busy_boards} busy with other work" if idle.busy_boards else ""
        unused = f"; unused boards: {idle.unused_boards}{power}{busy}"
    return (
        f"idle {idle.bare_w:.1f} W, with the model {idle.resident_w:.1f} W per accelerator "
        f"({100 * idle.idle_share:.1f} % of load); {idle.preparation_s:.0f} s and "
        f"{idle.preparation_j / 1e3:.4g} kJ before the first scored epoch{unused}"
    )


def _format_percentiles(times_s: Percentiles, unit: str, units_per_s: int = 1) -> str:
    return ", ".join(
        f"{name} {time_s * units_per_s:.4g} {unit}" for name, time_s in vars(times_s).items()
    )
