"""What a run tells while it runs: a live line on a terminal, plain lines elsewhere, and every line in the log."""

from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


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
        (self._live.console if self._live else self._console).print(text, markup=False, highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """A line for the log alone."""
        self._log.write(f"{datetime.now(UTC):%H:%M:%S} {text}\n")
        self._log.flush()

    def begin_epochs(self, epochs: int, item: str) -> None:
        """Start the live line: epochs done, items/s, W, time left. On anything but a terminal there is none."""
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
