"""Makes the bundle of a job that wattmark did not run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import numpy as np

from harness.observed.declaration import JobDeclaration
from harness.power_logs.attaching.attach import read_placeable, read_texts
from harness.power_logs.local_time import count_ns, format_time
from harness.power_logs.read import LogRequest
from harness.power_logs.records import POWER, Interval, LogProblem, PowerLog, PowerLogError
from rules import VERSION
from rules.bundle_format.documents import read_document
from rules.bundle_format.evidence import ObservationEvidence
from rules.bundle_format.files import Refused
from rules.bundle_format.observation_files import write_observation
from rules.bundle_format.observation_records import OBSERVATION_FILE, OBSERVATION_FORMAT
from rules.bundle_format.records import OBSERVATION, Json
from rules.bundle_format.seal import encode_json
from rules.bundle_format.table import Table, Text
from rules.json_record import to_json
from rules.metrics.node.observed import ObservedFigures
from rules.observations.bundle import ObservationBundle

_MARGIN_NS = 60 * 10**9
"""Readings so long before and after the window are kept."""
_KEYS_OF_ITEMS = {"count": "items", "name": "item", "source": "items_source"}
"""The keys of the declaration, by those of observation.json."""


@dataclass(frozen=True)
class Observed:
    """The bundle that was made."""

    directory: Path
    figures: ObservedFigures
    problems: tuple[LogProblem, ...]
    """Of the log."""


def observe(requests: Sequence[LogRequest], declared: JobDeclaration, out: Path) -> Observed:
    """Write the bundle of a job into a new directory of `out`.

    Raises PowerLogError if log and declaration do not fit together or make no valid document, and
    OSError if the bundle cannot be written.
    """
    log = read_placeable(requests)
    if not log.adds:
        raise PowerLogError(
            f"{requests[0].path}: the powers of its feeds do not add up to that of the nodes; give "
            "the log of a meter that measures whole nodes"
        )
    start_ns, end_ns = count_ns(declared.start), count_ns(declared.end)
    power = _make_table(log, requests[0].path, start_ns, end_ns)
    node_log = read_texts([request.path for request in requests])
    document = _make_document(log, declared, sha256(node_log.encode()).hexdigest())
    evidence = ObservationEvidence(document, power, node_log)
    bundle = ObservationBundle(out / document["observation_id"], (), evidence)
    # The figures need the values of the declaration, so these are judged without figures first.
    _validate({**document, "figures": _NO_FIGURES}, declared.path)
    figures = bundle.figures_or_reason
    if isinstance(figures, str):
        raise PowerLogError(f"{requests[0].path}: {figures}")
    document["figures"] = to_json(figures)
    write_observation(evidence, bundle.path)
    return Observed(bundle.path, figures, log.problems.list_all())


_NO_FIGURES: Json = {
    **dict.fromkeys(("seconds", "energy_j", "mean_w", "median_w", "max_w"), 1.0),
    **dict.fromkeys(("p99_60s_w", "max_60s_w", "joules_per_item")),
}


def _make_table(log: PowerLog, path: Path, start_ns: int, end_ns: int) -> Table:
    """The readings of the window as power.csv.gz. Raises PowerLogError if they do not cover it."""
    names = log.feeds
    times_ns, codes, powers_mw = [], [], []
    for series in log.series:
        first_ns, last_ns = int(series.times_ns[0]), int(series.times_ns[-1])
        if first_ns > start_ns or last_ns < end_ns:
            spans = ((first_ns, last_ns), (start_ns, end_ns))
            log_span, job_span = (
                f"from {format_time(a, True)} to {format_time(b, True)}" for a, b in spans
            )
            raise PowerLogError(
                f"{path}: the log has readings {log_span}, and the job ran {job_span}; give a log "
                "of the whole job, and check --time-zone"
            )
        near = series.at(
            (series.times_ns >= start_ns - _MARGIN_NS) & (series.times_ns <= end_ns + _MARGIN_NS)
        )
        for feed in series.feeds:
            times_ns.append(near.times_ns)
            codes.append(np.full(len(near), names.index(feed), dtype=np.int32))
            powers_mw.append(np.round(near.columns[feed, POWER] * 1e3))
    all_times_ns, all_codes = np.concatenate(times_ns), np.concatenate(codes)
    if len(all_times_ns) > OBSERVATION.max_rows:
        raise PowerLogError(
            f"{path}: {len(all_times_ns)} readings of the job, and a bundle holds "
            f"{OBSERVATION.max_rows} at most; give a log with longer steps"
        )
    order = np.lexsort((all_codes, all_times_ns))
    return Table.of(
        {
            "time_ns": all_times_ns[order],
            "feed": Text(all_codes[order], tuple(names)),
            "power_mw": np.concatenate(powers_mw)[order],
        }
    )


def _make_document(log: PowerLog, declared: JobDeclaration, digest: str) -> Json:
    """observation.json without its figures."""
    words = re.sub("[^a-z0-9]+", "-", str(declared.job.get("what", "")).lower()).strip("-")[:40]
    is_mean = log.interval is not Interval.INSTANT
    return {
        "format": OBSERVATION_FORMAT,
        "rules_version": VERSION,
        "standing": "observed",
        "observation_id": f"{declared.start:%Y%m%dT%H%M%SZ}-observed-{words}-{digest[:6]}",
        "started_at": _format(declared.start),
        "ended_at": _format(declared.end),
        "job": declared.job,
        "node": declared.node,
        "meter": {
            **declared.meter,
            "format": log.format,
            "time_zone": log.time_zone,
            "interval": "mean-before" if is_mean else "instant",
            "feeds": log.feeds,
            "left_out": log.left_out.readings,
        },
    }


def _format(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _validate(document: Json, path: Path) -> None:
    """Raise PowerLogError, which names the key of the declaration, if the document is invalid."""
    try:
        read_document(OBSERVATION_FILE, encode_json(document), OBSERVATION_FORMAT)
    except (Refused, TypeError, ValueError) as error:
        if not isinstance(error, Refused):
            raise PowerLogError(f"{path}: {error}; write numbers and texts") from None
        violation = error.problems[0].violation
        keys = violation.pointer.strip("/").split("/")
        if keys[:2] == ["job", "items"] and len(keys) == 3:
            keys = ["job", _KEYS_OF_ITEMS[keys[2]]]
        raise PowerLogError(
            f"{path}: {'.'.join(keys)}: found {violation.found}, expected {violation.expected}"
        ) from None
