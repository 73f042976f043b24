"""The figures of a power log, as text and as JSON."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rules.bundle_format.records import Json
from rules.bundle_format.table import Floats, Ints
from rules.json_record import to_json
from rules.power_logs.checks import find_repeated_share
from rules.power_logs.integrals import cumulate, integrate, sum_feeds
from rules.power_logs.local_time import format_time
from rules.power_logs.records import POWER, Interval, LogProblem, PowerLog

_MINUTE_S = 60.0


@dataclass(frozen=True)
class PowerFigures:
    """The power of a feed, or of all feeds together. Median and percentiles weigh each reading by
    its interval."""

    mean_w: float
    """Mean over the readings, as PTDaemon computes it; of several feeds the sum of theirs."""
    energy_j: float
    """From the first reading to the last, or from the start that a log of means states."""
    duration_s: float
    mean_over_time_w: float | None
    """Energy over duration; None for a duration of 0."""
    median_w: float
    p95_w: float
    p99_w: float
    max_60s_w: float | None
    """The highest mean over 60 s; None for a shorter log."""
    max_w: float


@dataclass(frozen=True)
class LogSummary:
    """The figures of a power log. The order of the fields is that of the JSON output."""

    format: str
    interval: str
    samples: int
    start: str
    """ISO 8601: in UTC with `Z`, or local if the log has no time zone; in s if times are elapsed.
    """
    end: str
    total: PowerFigures | None
    """None if the powers of the feeds do not add up."""
    feeds: dict[str, PowerFigures]
    longest_gap_s: float
    """Largest time between two successive readings of a feed."""
    repeated_share: float
    """Largest share of the readings of a feed that repeat the power before."""
    left_out: int
    left_out_share: float
    energy_bound_j: float
    """How wrong the energy of all feeds can be where readings were left out or are missing."""
    rating_w: float | None
    max_60s_share_of_rating: float | None
    current: str | None
    conversion_efficiency: float | None
    window: "Window | None"
    problems: tuple[LogProblem, ...]

    def to_json(self) -> Json:
        """The object of the JSON output. Figures of all feeds together stand at the top."""
        document = to_json(self)
        total = document.pop("total") or dict.fromkeys(PowerFigures.__dataclass_fields__)
        return {**total, **document}


@dataclass(frozen=True)
class Window:
    """The measurement that a training log of MLPerf bounds."""

    start: str
    end: str
    after_last_reading_s: float
    """MLPerf's own summary counts it as time without power."""
    mlperf_mean_w: float
    """Mean power by MLPerf's summary: the sum of power times interval over the whole window, times
    `conversion_eff`."""


def summarise(log: PowerLog, rating_w: float | None = None) -> LogSummary:
    """The figures of a log. `rating_w` is the rated power of all feeds together."""
    feeds = {
        feed: _compute(log, series.times_ns, series.columns[feed, POWER])
        for series in log.series
        for feed in series.feeds
    }
    total = _compute_total(log, list(feeds.values()))
    left_out = log.left_out
    max_60s_w = None if total is None else total.max_60s_w
    return LogSummary(
        format=log.format,
        interval=log.interval.value,
        samples=len(log),
        start=_format(log, log.start_ns),
        end=_format(log, log.end_ns),
        total=total,
        feeds=feeds,
        longest_gap_s=max(
            float(np.diff(series.times_ns).max(initial=0)) / 1e9 for series in log.series
        ),
        repeated_share=max(map(find_repeated_share, log.series)),
        left_out=left_out.readings,
        left_out_share=left_out.readings / max(left_out.readings + left_out.used, 1),
        energy_bound_j=left_out.energy_bound_j,
        rating_w=rating_w,
        max_60s_share_of_rating=(
            None if rating_w is None or max_60s_w is None else max_60s_w / rating_w
        ),
        current=log.current,
        conversion_efficiency=log.conversion_efficiency,
        window=_describe_window(log),
        problems=log.problems.list_all(),
    )


def _compute_total(log: PowerLog, feeds: list[PowerFigures]) -> PowerFigures | None:
    if not log.adds:
        return None
    if len(feeds) == 1:
        return feeds[0]
    together = sum_feeds(log)
    if together is None:
        return None
    figures = _compute(log, *together)
    means_w = [float(series.power_w.mean()) for series in log.series]
    return replace(figures, mean_w=sum(means_w))


def _compute(log: PowerLog, times_ns: Ints, power_w: Floats) -> PowerFigures:
    interval, mean_w = log.interval, float(power_w.mean())
    if interval is Interval.MEAN_BEFORE and log.begin_ns is not None:
        times_ns = np.concatenate(([log.begin_ns], times_ns))
        power_w = np.concatenate((power_w[:1], power_w))
    times_s = (times_ns - times_ns[0]) / 1e9
    cumulated_j = cumulate(times_s, power_w, interval)
    duration_s, energy_j = float(times_s[-1]), float(cumulated_j[-1])
    weights = _weigh(times_s, interval)
    median_w, p95_w, p99_w = np.quantile(
        power_w, (0.5, 0.95, 0.99), weights=weights, method="inverted_cdf"
    ).tolist()
    max_60s_w = None
    if duration_s >= _MINUTE_S:
        ends_s = np.concatenate((times_s, times_s + _MINUTE_S))
        ends_s = ends_s[(ends_s >= _MINUTE_S) & (ends_s <= duration_s)]
        minutes_j = np.interp(ends_s, times_s, cumulated_j) - np.interp(
            ends_s - _MINUTE_S, times_s, cumulated_j
        )
        max_60s_w = float(minutes_j.max()) / _MINUTE_S
    return PowerFigures(
        mean_w=mean_w,
        energy_j=energy_j,
        duration_s=duration_s,
        mean_over_time_w=energy_j / duration_s if duration_s else None,
        median_w=median_w,
        p95_w=p95_w,
        p99_w=p99_w,
        max_60s_w=max_60s_w,
        max_w=float(power_w.max()),
    )


def _weigh(times_s: Floats, interval: Interval) -> Floats:
    """How long each reading counts, shape (n,)."""
    steps_s = np.diff(times_s)
    if not len(steps_s):
        return np.ones(1)
    before_s, after_s = np.concatenate(([0.0], steps_s)), np.concatenate((steps_s, [0.0]))
    if interval is Interval.MEAN_BEFORE:
        return before_s
    return after_s if interval is Interval.UNTIL_NEXT else (before_s + after_s) / 2


def _describe_window(log: PowerLog) -> Window | None:
    if log.window_ns is None:
        return None
    start_ns, end_ns = log.window_ns
    energy_j = 0.0
    for series in log.series:
        # MLPerf counts the power of the first reading from the start on.
        times_s = (np.concatenate(([start_ns], series.times_ns)) - start_ns) / 1e9
        power_w = np.concatenate(([0.0], series.power_w))
        energy_j += integrate(times_s, power_w, Interval.MEAN_BEFORE)
    return Window(
        start=_format(log, start_ns),
        end=_format(log, end_ns),
        after_last_reading_s=(end_ns - log.end_ns) / 1e9,
        mlperf_mean_w=energy_j
        / ((end_ns - start_ns) / 1e9)
        * (1.0 if log.conversion_efficiency is None else log.conversion_efficiency),
    )


def _format(log: PowerLog, time_ns: int) -> str:
    if log.elapsed:
        return f"{time_ns / 1e9:.3f} s"
    return format_time(time_ns, log.time_zone is not None)


def format_summary(summary: LogSummary) -> Iterator[str]:
    """The lines of the text output."""
    total = summary.total
    yield f"format          {summary.format}"
    yield f"reading         {_MEANINGS[summary.interval]}"
    yield f"readings        {summary.samples}"
    yield f"start           {summary.start}"
    yield f"end             {summary.end}"
    if total is None:
        yield "all feeds       not added: they overlap, belong to several nodes, or share no time"
    else:
        yield from _format_figures(total)
        if summary.rating_w is not None:
            share = summary.max_60s_share_of_rating
            yield f"rating          {summary.rating_w:g} W" + (
                "" if share is None else f"; the highest 60 s are {share:.1%} of it"
            )
    if len(summary.feeds) > 1:
        for name, figures in summary.feeds.items():
            yield f"feed {name}"
            for line in _format_figures(figures):
                yield f"  {line}"
    yield f"longest gap     {summary.longest_gap_s:.3f} s"
    yield f"repeats         {summary.repeated_share:.1%} of the readings"
    if summary.left_out or summary.energy_bound_j:
        energy_j = sum(feed.energy_j for feed in summary.feeds.values())
        yield (
            f"left out        {summary.left_out} readings ({summary.left_out_share:.1%}); "
            f"there and in gaps, at most {summary.energy_bound_j:.3f} J are missing or too much "
            f"({summary.energy_bound_j / energy_j if energy_j else 0:.1%})"
        )
    if summary.current is not None:
        yield f"current         {summary.current.upper()}"
    if summary.conversion_efficiency is not None:
        yield (
            f"conversion      efficiency {summary.conversion_efficiency:g} is stated; the figures "
            "above are as metered"
        )
    if summary.window is not None:
        window = summary.window
        yield (
            f"measurement     {window.start} to {window.end}; MLPerf's summary counts the "
            f"{window.after_last_reading_s:.3f} s after the last reading as time without power, "
            f"and multiplies by the efficiency: mean {window.mlperf_mean_w:.6f} W"
        )
    yield f"problems        {len(summary.problems) or 'none'}"
    yield from format_problems(summary.problems)


_MEANINGS = {
    "instant": "the power at its time; energy is the trapezoid",
    "mean-before": "the mean since the one before; energy is the sum of power times interval",
    "until-next": "the power until the next one; energy is the sum of power times interval",
}


def _format_figures(figures: PowerFigures) -> Iterator[str]:
    yield f"mean power      {figures.mean_w:.6f} W, the mean of the readings"
    yield f"energy          {figures.energy_j:.3f} J"
    if figures.mean_over_time_w is not None:
        yield (
            f"mean over time  {figures.mean_over_time_w:.6f} W, the energy over "
            f"{figures.duration_s:.3f} s"
        )
    yield f"median          {figures.median_w:.3f} W"
    yield f"95 %, 99 %      {figures.p95_w:.3f} W, {figures.p99_w:.3f} W"
    if figures.max_60s_w is not None:
        yield f"highest 60 s    {figures.max_60s_w:.3f} W"
    yield f"maximum         {figures.max_w:.3f} W"


def format_problems(problems: tuple[LogProblem, ...]) -> Iterator[str]:
    """A line for each problem."""
    for problem in problems:
        place = f"line {problem.line}: " if problem.line else ""
        yield f"  {place}{problem.kind}: {problem.found}; {problem.advice}"
