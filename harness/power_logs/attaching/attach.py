"""Adds a power log that another program wrote to an unsigned bundle."""

import copy
import csv
import io
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.power_logs.attaching.meter_file import add_meter, read_tables
from harness.power_logs.attaching.placement import PlacedClock, StatedClock, place_clock
from harness.power_logs.attaching.replace import replace_directory
from harness.power_logs.read import read_logs
from harness.power_logs.text import open_lines
from rules.bundle import Bundle
from rules.bundle_format.csv_table import read_table
from rules.bundle_format.evidence import Evidence
from rules.bundle_format.files import MAX_UNPACKED_BYTES, Files, Refused, read_files
from rules.bundle_format.load import MAX_LOG_LINES, read_evidence
from rules.bundle_format.manifest import read_manifest
from rules.bundle_format.records import (
    MANIFEST_FILE,
    NODE_LOG_FILE,
    NODE_SAMPLE_COLUMNS,
    NODE_SAMPLES_FILE,
    RUN,
    SIGNATURE_DIR,
    FeedReading,
    Json,
    NodeSample,
)
from rules.bundle_format.seal import list_files
from rules.bundle_format.table import Table
from rules.bundle_format.write import encode_evidence, write_files
from rules.declarations.system import MeterDeclaration
from rules.metrics.node.figures import add_node_figures
from rules.metrics.node.missing import measure_missing
from rules.power_logs.observed import join_texts
from rules.power_logs.read import LogRequest, place_log
from rules.power_logs.records import (
    CURRENT,
    ENERGY,
    POWER,
    POWER_FACTOR,
    VOLTAGE,
    LogProblem,
    PowerLog,
    PowerLogError,
)

FIRST_PROTOCOL = (1, 1)
"""The first version of the protocol with node power."""
OUTSIDE_S = 60.0
"""Readings so long before and after those of the accelerators are kept."""
_CHANGED = ("result.json", "system.json", NODE_SAMPLES_FILE, NODE_LOG_FILE)
_MILLI = {POWER: 1e3, ENERGY: 1e3, VOLTAGE: 1e3, CURRENT: 1e3, POWER_FACTOR: 1e6}
_FIELDS = {
    POWER: "power_mw",
    ENERGY: "energy_mj",
    VOLTAGE: "voltage_mv",
    CURRENT: "current_ma",
    POWER_FACTOR: "pf_ppm",
}


@dataclass(frozen=True)
class Attached:
    """What was added to a bundle."""

    meter: str
    readings: int
    """Rows of node_samples.csv.gz."""
    clocks: tuple[PlacedClock, ...]
    mean_power_w: float
    """Of the nodes over the scored epochs."""
    problems: tuple[LogProblem, ...]


def attach(
    directory: Path, requests: Sequence[LogRequest], meter_path: Path, stated: StatedClock | None
) -> Attached:
    """Add the logs of `requests` to the bundle in `directory`, with their meters and the figures of
    the nodes. The meter file describes one meter for all logs, or one for each. The bundle is
    replaced in one step.

    Raises PowerLogError if the bundle is signed, altered or has node power, and if the log cannot
    be placed. Raises OSError if the bundle cannot be written. The bundle then stays as it was.
    """
    files, evidence = _read_bundle(directory)
    bundle = Bundle(directory, (), evidence)
    tables = read_tables(meter_path, len(requests))
    groups = [requests] if len(tables) == 1 else [[request] for request in requests]
    system = bundle.system
    clocks: list[PlacedClock] = []
    samples: list[NodeSample] = []
    problems: list[LogProblem] = []
    result: Json = {**copy.deepcopy(bundle.result), "node_sampling": [], "node_clocks": []}
    for table, group in zip(tables, groups, strict=True):
        log = place_log(group, read_logs(group))
        problems += log.problems.list_all()
        system, meter = add_meter(system, log, table, meter_path)
        nodes = list(dict.fromkeys(feed.node for feed in meter.feeds))
        placed = [place_clock(bundle, log, meter, node, stated) for node in nodes]
        of_meter = _make_samples(bundle, log, meter, placed)
        _add_to_result(result, meter, placed, of_meter)
        clocks += placed
        samples += of_meter
    samples.sort(key=lambda sample: sample.read_ns)
    names = [request.path.name for request in requests]
    attached = replace(
        evidence,
        system=system,
        result=result,
        node_samples=_make_table(samples),
        node_log=join_texts(names, read_texts([request.path for request in requests])),
    )
    _state_missing(attached, directory)
    mean_power_w = _add_figures(attached, directory)
    encoded = encode_evidence(attached)
    # The other files keep their bytes.
    contents = {**files.contents, **{name: encoded[name] for name in _CHANGED}}
    del contents[MANIFEST_FILE]
    draft = directory.with_name(f".{directory.name}.attaching")
    shutil.rmtree(draft, ignore_errors=True)
    write_files(contents, draft)
    replace_directory(draft, directory)
    meters = [meter["id"] for meter in system["meters"]]
    return Attached(", ".join(meters), len(samples), tuple(clocks), mean_power_w, tuple(problems))


def _read_bundle(directory: Path) -> tuple[Files, Evidence]:
    """The files and the evidence of a bundle that a log can be added to. Raises PowerLogError."""
    files = read_files(directory)
    if files.kind is not RUN:
        raise PowerLogError(
            f"{directory}: this is no run but the bundle of {files.kind.in_words}; a "
            "log can be attached to a run only"
        )
    evidence, problems = read_evidence(files)
    for problem in (*files.problems, *problems):
        violation = problem.violation
        raise PowerLogError(
            f"{directory}: this bundle cannot be read ({problem.rule}, {violation.file}: "
            f"{violation.found})"
        )
    assert evidence is not None
    if any(name.startswith(f"{SIGNATURE_DIR}/") for name in files.contents):
        raise PowerLogError(
            f"{directory}: the bundle is signed, and a signature covers all of its evidence; "
            "attach logs before bench-submit sign"
        )
    manifest = read_manifest(files.contents[MANIFEST_FILE])
    if manifest["files"] != list_files(files.contents):
        raise PowerLogError(
            f"{directory}: the files are not those of {MANIFEST_FILE}; restore the bundle from the "
            "machine of the run"
        )
    if evidence.node_samples is not None or "meters" in evidence.system:
        raise PowerLogError(
            f"{directory}: the bundle has node power already; attach the log to the bundle as the "
            "run wrote it"
        )
    protocol = evidence.result["protocol"]
    if tuple(map(int, protocol.split("."))) < FIRST_PROTOCOL:
        raise PowerLogError(
            f"{directory}: the run follows protocol {protocol}, which has no node power; "
            "repeat the run with this version"
        )
    return files, evidence


def _make_samples(
    bundle: Bundle, log: PowerLog, meter: MeterDeclaration, clocks: Sequence[PlacedClock]
) -> list[NodeSample]:
    """The readings around those of the accelerators."""
    offsets_ns = {clock.node: clock.offset_ns for clock in clocks}
    read_ns = bundle.samples.ints("read_ns")
    outside_ns = round(OUTSIDE_S * 1e9)
    samples = []
    for feed in meter.feeds:
        of_node = read_ns[bundle.samples.text("node").equals(feed.node)]
        series = log.find_series(feed.feed)
        times_ns = series.times_ns + offsets_ns[feed.node]
        # No clock was below 0 when the run was measured, but that of a log before the boot is.
        first_ns = max(int(of_node.min()) - outside_ns, 0)
        inside = (times_ns >= first_ns) & (times_ns <= int(of_node.max()) + outside_ns)
        near = series.at(inside)
        columns = {_FIELDS[q]: near.columns[f, q] for f, q in near.columns if f == feed.feed}
        scales = {_FIELDS[quantity]: scale for quantity, scale in _MILLI.items()}
        for row, stamp_ns in enumerate(near.times_ns.tolist()):
            values = {
                name: round(float(column[row]) * scales[name])
                for name, column in columns.items()
                if np.isfinite(column[row])
            }
            reading = replace(FeedReading(meter_ns=stamp_ns), **values)  # type: ignore[arg-type]
            time_ns = stamp_ns + offsets_ns[feed.node]
            samples.append(
                NodeSample(time_ns, time_ns, time_ns, feed.node, meter.id, feed.feed, reading)
            )
    return samples


def _make_table(samples: list[NodeSample]) -> Table:
    """The readings as node_samples.csv.gz. Raises PowerLogError if they are too many."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(NODE_SAMPLE_COLUMNS)
    writer.writerows(sample.row() for sample in samples)
    try:
        return read_table(NODE_SAMPLES_FILE, text.getvalue().encode())
    except Refused as refusal:
        violation = refusal.problems[0].violation
        raise PowerLogError(
            f"{NODE_SAMPLES_FILE}, {violation.pointer}: found {violation.found}, expected "
            f"{violation.expected}; check the columns of the log and their units"
        ) from None


def _add_to_result(
    result: Json,
    meter: MeterDeclaration,
    clocks: Sequence[PlacedClock],
    samples: list[NodeSample],
) -> None:
    """Add to result.json how a meter was read and how its clock is placed."""
    for clock in clocks:
        by_feed: dict[str, list[int]] = {}
        for sample in samples:
            if sample.node == clock.node:
                by_feed.setdefault(sample.feed, []).append(sample.read_ns)
        # Feeds with times of their own: the one with the fewest readings.
        times_ns = min(by_feed.values(), key=len)
        due = round((times_ns[-1] - times_ns[0]) / 1e6 / meter.interval_ms) + 1
        result["node_sampling"].append(
            {
                "meter": meter.id,
                "node": clock.node,
                "interval_ms": meter.interval_ms,
                "ticks": len(times_ns),
                "missed": max(due - len(times_ns), 0),
            }
        )
        result["node_clocks"].append(
            {
                "meter": meter.id,
                "node": clock.node,
                "offset_ns": clock.offset_ns,
                "bound_ns": clock.bound_ns,
                "source": clock.source,
            }
        )


def _state_missing(evidence: Evidence, directory: Path) -> None:
    """State in result.json what the readings of each meter lack, as rule N120 computes it."""
    traces = Bundle(directory, (), evidence).feed_traces
    for entry in evidence.result["node_sampling"]:
        of_entry = [
            t for t in traces if (t.meter.id, t.feed.node) == (entry["meter"], entry["node"])
        ]
        if missing := measure_missing(of_entry):
            entry["missing_share"] = round(missing.share, 6)
            entry["energy_bound_j"] = round(missing.energy_bound_j, 3)


def _add_figures(evidence: Evidence, directory: Path) -> float:
    """Add the figures of the nodes to result.json, and return their mean power in W. Raises
    PowerLogError if they cannot be computed."""
    bundle = Bundle(directory, (), evidence)
    figures = bundle.node_figures
    if figures is None:
        reason = bundle.figures_error or bundle.node_figures_error
        raise PowerLogError(f"{directory}: the figures of the nodes cannot be computed: {reason}")
    add_node_figures(evidence.result, figures)
    return figures.headline.mean_power_w.mean


def read_texts(paths: Sequence[Path]) -> list[str]:
    """The text of each log as it is. Raises PowerLogError if a bundle cannot hold them."""
    texts = []
    for path in paths:
        if not path.name.isprintable():
            raise PowerLogError(f"{path.name!r}: no printable name; rename the file of the log")
        with open_lines(path) as lines:
            texts.append("".join(f"{line}\n" for _, line in lines))
    text = join_texts([path.name for path in paths], texts)
    is_long = text.count("\n") > MAX_LOG_LINES
    if is_long or len(text.encode()) > MAX_UNPACKED_BYTES[NODE_LOG_FILE]:
        raise PowerLogError(
            f"{paths[0]}: the log is too long for a bundle, which holds {MAX_LOG_LINES} lines of "
            "logs; cut it to the time of the run"
        )
    return texts
