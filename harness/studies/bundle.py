"""Puts together the bundle of a study from the bundle that it continues and its directory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, astuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.run.node_share import DATE
from harness.studies.plan import METHOD, STUDY, SessionRecord, StudyEntry, StudyPlan
from harness.studies.records import EntryRecord
from harness.studies.samples import BoardSamples, read_samples
from harness.studies.state import Outcome, StudyState, parse_work
from harness.studies.study_directory import LOG_FILE, SessionDirectory
from harness.system import NodeDescription, describe_system
from rules import VERSION
from rules.bundle_format.evidence import StudyEvidence
from rules.bundle_format.records import TEXT_COLUMNS, Json
from rules.bundle_format.study_records import (
    POINT_COLUMNS,
    STUDY_BATCH_COLUMNS,
    STUDY_FORMAT,
    Point,
    PointPart,
)
from rules.bundle_format.study_write import build_part_table, build_point_table
from rules.bundle_format.table import Table, join_tables
from rules.json_record import from_json, to_json
from rules.protocol import CURRENT
from rules.studies.accuracy import AccuracyTable
from rules.studies.bundle import StudyBundle
from rules.studies.declaration import NOT_REACHED
from rules.studies.figures import compute_study_figures
from rules.studies.figures_json import study_figures_to_json
from rules.studies.order import rank_entry

MAX_REASON = 500
"""Characters of the reason of a skipped entry in study.json. The log has the whole text."""
WorkList = list[tuple[StudyEntry, Outcome]]


def gather_study(
    plan: StudyPlan, state: StudyState, directory: Path, accuracies: AccuracyTable
) -> StudyEvidence:
    """Put together the evidence of a study from what is measured of it so far.

    Raises PlanError if a file of its directory cannot be read, and
    rules.metrics.energy.MetricsError if figures cannot be computed from them.
    """
    work = list_work(plan, state)
    places = {entry: place for place, (entry, _) in enumerate(work)}
    points, parts = _list_points(state)
    boards = [_read_boards(session, state.records) for session in state.sessions]
    samples = [board.kept for session_boards in boards for board in session_boards]
    point_tables, part_tables = [build_point_table(points)], [build_part_table(parts)]
    sessions = [
        _describe_session(
            session.record, state.records, session_boards, places, plan.implementation_sha256
        )
        for session, session_boards in zip(state.sessions, boards, strict=True)
    ]
    nodes = [session.record.node for session in state.sessions]
    environment = state.sessions[-1].record.environment if state.sessions else {}
    log = (directory / LOG_FILE).read_text(errors="replace")
    if (base := state.base) is not None:
        samples.insert(0, base.samples)
        point_tables.insert(0, base.points)
        part_tables.insert(0, base.batches)
        sessions = [*_renumber_sessions(base.study, places), *sessions]
        nodes = [*base.system["nodes"], *nodes]
        environment = environment or base.environment
        log = base.log + log
    study: Json = {
        "format": STUDY_FORMAT,
        "rules_version": VERSION,
        "study": STUDY,
        "method": METHOD.version,
        "standing": "study",
        "study_id": plan.study_id,
        "seed": plan.seed,
        "started_at": min(session["started_at"] for session in sessions),
        "ended_at": max(session["ended_at"] for session in sessions),
        "settings": to_json(plan.settings),
        "implementation": {"name": plan.implementation, "sha256": plan.implementation_sha256},
        "accuracy": {"sha256": plan.accuracy_sha256},
        "work": [{**asdict(entry), **asdict(outcome)} for entry, outcome in work],
        "sessions": sessions,
        "figures": {},
    }
    evidence = StudyEvidence(
        study,
        describe_system(plan.system, [from_json(NodeDescription, node) for node in nodes]),
        environment,
        join_tables(samples, list_common_columns(samples)),
        join_tables(point_tables, POINT_COLUMNS),
        join_tables(part_tables, STUDY_BATCH_COLUMNS),
        log,
    )
    figures = compute_study_figures(StudyBundle(directory, (), evidence), accuracies)
    study["figures"] = study_figures_to_json(figures)
    return evidence


def list_work(plan: StudyPlan, state: StudyState) -> WorkList:
    """The entries of a study and what became of them, by session and in each in the order of the
    seed; last those that no session has reached."""
    outcomes = {entry: state.outcomes.get(entry, Outcome(NOT_REACHED)) for entry in plan.work}

    def key(work: tuple[StudyEntry, Outcome]) -> tuple[float, bytes]:
        entry, outcome = work
        session = float("inf") if outcome.session is None else outcome.session
        return session, rank_entry(entry, plan.seed)

    return sorted(outcomes.items(), key=key)


def _list_points(state: StudyState) -> tuple[list[Point], list[PointPart]]:
    """The points of the sessions in the directory and their parts, which follow those of the base
    in the bundle."""
    repeats: Counter[tuple[Any, ...]] = Counter()
    offset = 0
    if state.base is not None:
        offset = len(state.base.points)
        names = ("kind", "architecture", "size", "engine", "precision", "batch")
        repeats.update(zip(*(_list_cells(state.base.points, name) for name in names), strict=True))
    points: list[Point] = []
    parts: list[PointPart] = []
    for record in state.records:
        for point in record.points:
            assert record.facts is not None
            key = (point.kind, *astuple(record.entry), point.batch)
            windows = enumerate(point.parts)
            parts += [PointPart(offset + len(points), i, *astuple(part)) for i, part in windows]
            points.append(
                Point(
                    **asdict(record.entry),
                    batch=point.batch,
                    repeat=repeats[key],
                    outcome=point.outcome,
                    items=point.items,
                    start_ns=point.start_ns,
                    end_ns=point.end_ns,
                    peak_bytes=point.peak_bytes,
                    flops=record.facts.flops,
                    params=record.facts.params,
                    activations=record.facts.activations,
                    kind=point.kind,
                    session=record.session,
                    accelerator=record.accelerator,
                )
            )
            repeats[key] += 1
    return points, parts


def _read_boards(session: SessionDirectory, records: Sequence[EntryRecord]) -> list[BoardSamples]:
    """The samples of the boards of a session. Raises rules.metrics.energy.MetricsError."""
    windows: dict[str, list[tuple[int, int]]] = {}
    for record in records:
        if record.session == session.record.plan.number:
            spans = [(point.start_ns, point.end_ns) for point in record.points]
            windows.setdefault(record.accelerator, []).extend(spans)
    interval_ns = CURRENT.sample_interval_ms * 1_000_000
    devices = session.record.plan.devices
    return [
        read_samples(path, windows.get(device.uuid, ()), interval_ns)
        for path, device in zip(session.list_sample_files(), devices, strict=True)
    ]


def _describe_session(
    record: SessionRecord,
    records: Sequence[EntryRecord],
    boards: Sequence[BoardSamples],
    places: dict[StudyEntry, int],
    implementation_sha256: str,
) -> Json:
    """Return the entry of `sessions` of study.json. `boards` are the samples of its boards, and the
    hash is that of the program that ran the models when the study began."""
    plan = record.plan
    entries = [r for r in records if r.session == plan.number]
    # A session that was killed has no end. Its last entry has.
    ended_at = record.ended_at or datetime.fromisoformat(entries[-1].ended_at)
    before, after = (
        [readback for readback in record.readbacks if readback["when"] == when]
        for when in ("before", "after")
    )
    between = [
        {"when": f"entry-{places[r.entry]}", **r.readback} for r in entries if not r.is_anchor
    ]
    power: Json = {"mode": "as-found", "cap_w": plan.cap_w, "state": plan.state}
    if plan.found_state:
        power["found_state"] = dict(plan.found_state)
    if plan.found_mw is not None:
        power |= {"mode": "set", "found_mw": dict(plan.found_mw)}
    sampling: Json = {
        "meter": plan.meter,
        "interval_ms": CURRENT.sample_interval_ms,
        "ticks": sum(board.ticks for board in boards),
        "missed": sum(board.missed for board in boards),
    }
    if plan.power_reading is not None:
        sampling["power_reading"] = plan.power_reading
    versions = {**record.versions, "driver": plan.driver}
    # A rule compares the versions of sessions, so the key tells that other code measured.
    if record.implementation_sha256 != implementation_sha256:
        versions["implementation"] = record.implementation_sha256
    git = record.environment["git"]
    job = {} if plan.job is None else {"slurm_job": to_json(plan.job)}
    return {
        "session": plan.number,
        "node": plan.node_name,
        "started_at": _format_time(record.started_at),
        "ended_at": _format_time(ended_at),
        "accelerators": [device.uuid for device in plan.devices],
        "method": record.method,
        "power": power,
        "sampling": sampling,
        "clocks": list(record.clocks),
        "readbacks": [*before, *between, *after],
        "idle_w": {uuid: idle.power_w for uuid, idle in record.idle.items()} or None,
        "commit": None if git is None else git["commit"],
        "versions": {name: text for name, text in versions.items() if text is not None},
        **job,
    }


def _renumber_sessions(study: Json, places: dict[StudyEntry, int]) -> list[Json]:
    """The sessions of a bundle that a study continues, whose readbacks name the places of entries
    in its work. Some of these entries may have another place now."""
    entries = [parse_work(work) for work in study["work"]]
    names = {f"entry-{place}": f"entry-{places[entry]}" for place, entry in enumerate(entries)}
    return [
        {
            **session,
            "readbacks": [
                {**readback, "when": names.get(readback["when"], readback["when"])}
                for readback in session["readbacks"]
            ],
        }
        for session in study["sessions"]
    ]


def _format_time(time: datetime) -> str:
    return time.astimezone(UTC).strftime(DATE)


def list_common_columns(tables: Sequence[Table]) -> list[str]:
    """The columns that every table has. Samples of earlier rule books lack the optional ones."""
    return [name for name in tables[0].columns if all(name in t.columns for t in tables)]


def _list_cells(table: Table, column: str) -> list[Any]:
    if column in TEXT_COLUMNS:
        return table.text(column).to_list()
    cells: list[Any] = table.ints(column).tolist()
    return cells
