"""The output of a run: a live line on a terminal, plain lines elsewhere, and every line in the
log."""

import textwrap
import time
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
from harness.run.plan import Plan
from harness.run.plan_checks import check_plan
from rules.finding import format_count
from rules.metrics.idle import BARE, BUILD, RESIDENT

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
            console.print(fit_line(text, console), markup=False, highlight=False, soft_wrap=True)
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


def fit_line(text: str, console: Console) -> str:
    """The text, on a terminal wrapped between words. Paths and run ids stay whole."""
    if not console.is_terminal or len(text) <= console.width:
        return text
    return textwrap.fill(
        text,
        console.width,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


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


def format_minutes(seconds: float) -> str:
    """Format an estimated time, rounded to 10 s below 90 s and to 1 min above."""
    if seconds < 90:
        return f"about {max(1, round(seconds / 10)) * 10} s"
    minutes = round(seconds / 60)
    return (
        f"about {minutes} min" if minutes < 120 else f"about {minutes // 60} h {minutes % 60} min"
    )
