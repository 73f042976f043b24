"""The power log of an observed job, read as its bundle records it: for the program that makes the
bundle, and again for the checker."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from rules.bundle_format.records import OBSERVATION, Json
from rules.bundle_format.table import Table, Text
from rules.declarations.observation import LogReadingDeclaration
from rules.power_logs.builder import LogBounds
from rules.power_logs.csv_map import CsvMap, read_map
from rules.power_logs.local_time import format_time
from rules.power_logs.read import LogRequest, join_logs, parse_log, place_log
from rules.power_logs.records import POWER, Interval, PowerLog, PowerLogError

MARGIN_NS = 60 * 10**9
"""Readings so long before and after the window are kept."""
BOUNDS = LogBounds(values=2 * OBSERVATION.max_rows, feeds=512)
"""Of the whole log, of which a bundle holds the part around the window."""
_MAP = Path("meter.reading.map")


@dataclass(frozen=True)
class ObservedLog:
    """The log of an observed job."""

    log: PowerLog
    formats: tuple[str, ...]
    """Of each file."""

    def describe(self) -> Json:
        """What `meter` in observation.json states of the log."""
        log = self.log
        is_mean = log.interval is not Interval.INSTANT
        return {
            "format": log.format,
            "time_zone": log.time_zone,
            "interval": "mean-before" if is_mean else "instant",
            "feeds": log.feeds,
            "left_out": log.left_out.readings,
        }


def read_observed_log(
    requests: Sequence[LogRequest], texts: Sequence[str], csv_map: CsvMap | None
) -> ObservedLog:
    """Read the texts of logs, one for each request, as one log of whole nodes. Time and memory are
    bounded whatever the texts are. Raises PowerLogError if they cannot be used."""
    # Torn digits may make numbers that no double holds. They are left out later.
    with np.errstate(all="ignore"):
        logs = [
            parse_log(request, csv_map, partial(_open_text, text), BOUNDS)
            for request, text in zip(requests, texts, strict=True)
        ]
        log = place_log(requests, join_logs(requests, logs))
    if log.part:
        raise PowerLogError(
            f"{requests[0].path}: a log of the format {log.format} has the power of {log.part}, "
            "and not that of whole nodes; give the log of a BMC, a PDU or another meter of nodes"
        )
    if not log.adds:
        reason = log.overlap or "give the log of a meter that measures whole nodes"
        raise PowerLogError(
            f"{requests[0].path}: the powers of its feeds do not add up to that of the nodes; "
            f"{reason}"
        )
    if twice := [feed for feed, count in Counter(log.feeds).items() if count > 1]:
        raise PowerLogError(
            f"{requests[0].path}: two feeds have the name {twice[0]!r}; give the files, or the "
            "feeds in them, different names"
        )
    return ObservedLog(log, tuple(log.format for log in logs))


@contextmanager
def _open_text(text: str) -> Iterator[Iterator[tuple[int, str]]]:
    yield enumerate(text.removesuffix("\n").split("\n"), 1)


def join_texts(names: Sequence[str], texts: Sequence[str]) -> str:
    """The content of node_log.gz. Several logs are headed by their names."""
    if len(texts) == 1:
        return texts[0]
    return "".join(f"==> {name} <==\n{text}" for name, text in zip(names, texts, strict=True))


def read_again(node_log: str, reading: LogReadingDeclaration) -> ObservedLog:
    """Read node_log.gz of a bundle as observation.json records it. Raises PowerLogError if that is
    not possible."""
    requests = [
        LogRequest(
            Path(log.name),
            log.format,
            None if reading.map is None else _MAP,
            reading.time_zone,
            start=reading.start,
            every_s=reading.every_s,
            rating_w=reading.rating_w,
        )
        for log in reading.logs
    ]
    csv_map = None if reading.map is None else read_map(_MAP, reading.map)
    return read_observed_log(requests, _split_texts(node_log, reading), csv_map)


def _split_texts(node_log: str, reading: LogReadingDeclaration) -> list[str]:
    """The text of each log. Raises PowerLogError if they have other lengths than are declared."""
    lines, texts = node_log.split("\n"), []
    for log in reading.logs:
        if len(reading.logs) > 1:
            if lines[:1] != [f"==> {log.name} <=="]:
                raise PowerLogError(f"no line with the name of {log.name} is where it is expected")
            del lines[0]
        texts.append("".join(f"{line}\n" for line in lines[: log.lines]))
        del lines[: log.lines]
    if lines != [""]:
        raise PowerLogError(
            f"the log has {node_log.count(chr(10))} lines, and other numbers of lines are declared"
        )
    return texts


def make_power_table(log: PowerLog, start_ns: int, end_ns: int) -> Table:
    """The readings around a window as power.csv.gz. Raises PowerLogError if they do not cover it,
    or are too many."""
    codes_of = {feed: code for code, feed in enumerate(log.feeds)}
    times_ns, codes, powers_mw = [], [], []
    for series in log.series:
        first_ns, last_ns = int(series.times_ns[0]), int(series.times_ns[-1])
        if first_ns > start_ns or last_ns < end_ns:
            spans = ((first_ns, last_ns), (start_ns, end_ns))
            log_span, job_span = (
                f"from {format_time(a, True)} to {format_time(b, True)}" for a, b in spans
            )
            raise PowerLogError(
                f"the log has readings {log_span}, and the job ran {job_span}; give a log of the "
                "whole job, and check --time-zone"
            )
        near = series.at(
            (series.times_ns >= start_ns - MARGIN_NS) & (series.times_ns <= end_ns + MARGIN_NS)
        )
        for feed in series.feeds:
            times_ns.append(near.times_ns)
            codes.append(np.full(len(near), codes_of[feed], dtype=np.int32))
            powers_mw.append(np.round(near.columns[feed, POWER] * 1e3))
    all_times_ns, all_codes = np.concatenate(times_ns), np.concatenate(codes)
    if len(all_times_ns) > OBSERVATION.max_rows:
        raise PowerLogError(
            f"{len(all_times_ns)} readings of the job, and a bundle holds {OBSERVATION.max_rows} "
            "at most; give a log with longer steps"
        )
    order = np.lexsort((all_codes, all_times_ns))
    return Table.of(
        {
            "time_ns": all_times_ns[order],
            "feed": Text(all_codes[order], tuple(codes_of)),
            "power_mw": np.concatenate(powers_mw)[order],
        }
    )
