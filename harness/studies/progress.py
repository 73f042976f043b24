"""The output of a study: a line for each entry, and the time that is left."""

from pathlib import Path

from rich.console import Console

from harness.run.progress import View, format_minutes
from harness.studies.records import EntryRecord, find_best
from rules.bundle_format.study_records import LADDER, LONG
from rules.finding import format_count
from rules.studies.declaration import SKIPPED


class StudyView(View):
    """Prints on a console and appends to the log of a study. Several threads may use it."""

    def __init__(self, console: Console, log_path: Path, done: int, total: int) -> None:
        super().__init__(console, log_path)
        self._done, self._total = done, total

    def show_entry(self, record: EntryRecord, left_s: float | None) -> None:
        """Print the line of a finished entry, and about how long the others take; None without
        others."""
        self._done += 1
        place = f"{self._done} of {self._total}  {record.entry}"
        left = "" if left_s is None else f"; {format_minutes(left_s)} left"
        self.print_line(f"{place}: {describe_entry(record)}{left}")


def describe_entry(record: EntryRecord) -> str:
    """Least energy, batch, power and throughput of an entry, or why it was skipped."""
    if record.status == SKIPPED:
        return f"skipped: {record.reason}"
    best = find_best(p for p in record.points if p.kind == LONG)
    assert best.joules_per_image is not None
    images_per_s = best.items / best.duration_s
    digits = ".0f" if images_per_s >= 1e4 else ".5g"
    ladder = [point for point in record.points if point.kind == LADDER]
    end = "" if ladder[-1].outcome == "ok" else f" to {ladder[-1].outcome}"
    return (
        f"{1e3 * best.joules_per_image:.4g} mJ/image at batch {best.batch}, "
        f"{best.joules_per_image * images_per_s:.0f} W, {images_per_s:{digits}} images/s; "
        f"{format_count(len(ladder), 'size')}{end}, {record.duration_s:.0f} s"
    )
