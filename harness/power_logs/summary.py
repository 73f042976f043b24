"""The figures of a power log, as text and as JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.power_logs.checks import find_repeated_share, integrate_power
from harness.power_logs.local_time import format_time
from harness.power_logs.records import LogProblem, PowerLog


@dataclass(frozen=True)
class LogSummary:
    """The figures of a power log. The order of the fields is that of the JSON output."""

    format: str
    samples: int
    start: str
    """ISO 8601: in UTC with `Z`, or local if the log has no time zone."""
    end: str
    mean_w: float
    """Mean over the readings, as PTDaemon computes it."""
    energy_j: float
    """From the first reading to the last."""
    longest_gap_s: float
    """Largest time between two successive readings."""
    repeated_share: float
    """Share of the readings that repeat the power before."""
    current: str | None
    conversion_efficiency: float | None
    problems: tuple[LogProblem, ...]

    def to_json(self) -> dict[str, Any]:
        """The object of the JSON output."""
        return {**vars(self), "problems": [problem.to_json() for problem in self.problems]}


def summarise(log: PowerLog) -> LogSummary:
    """The figures of a log, which has one reading at least."""
    has_zone = log.time_zone is not None
    steps_s = np.diff(log.times_ns) / 1e9
    return LogSummary(
        format=log.format,
        samples=len(log),
        start=format_time(int(log.times_ns[0]), has_zone),
        end=format_time(int(log.times_ns[-1]), has_zone),
        mean_w=float(log.power_w.mean()),
        energy_j=integrate_power(log, log.power_w),
        longest_gap_s=float(steps_s.max(initial=0.0)),
        repeated_share=find_repeated_share(log),
        current=log.current,
        conversion_efficiency=log.conversion_efficiency,
        problems=log.problems.list_all(),
    )


def format_summary(summary: LogSummary) -> Iterator[str]:
    """The lines of the text output."""
    yield f"format          {summary.format}"
    yield f"readings        {summary.samples}"
    yield f"start           {summary.start}"
    yield f"end             {summary.end}"
    yield f"mean power      {summary.mean_w:.6f} W"
    yield f"energy          {summary.energy_j:.3f} J"
    yield f"longest gap     {summary.longest_gap_s:.3f} s"
    yield f"repeats         {summary.repeated_share:.1%} of the readings"
    if summary.current is not None:
        yield f"current         {summary.current.upper()}"
    if summary.conversion_efficiency is not None:
        yield (
            f"conversion      efficiency {summary.conversion_efficiency:g} is stated; the figures "
            "above are as metered"
        )
    yield f"problems        {len(summary.problems) or 'none'}"
    yield from format_problems(summary.problems)


def format_problems(problems: tuple[LogProblem, ...]) -> Iterator[str]:
    """A line for each problem."""
    for problem in problems:
        place = f"line {problem.line}: " if problem.line else ""
        yield f"  {place}{problem.kind}: {problem.found}; {problem.advice}"
