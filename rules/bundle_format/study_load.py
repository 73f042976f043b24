"""Reads the evidence of a study. Whoever has the evidence need not check that its tables refer to
points, sessions and accelerators that exist."""

from collections.abc import Iterator, Sequence

import numpy as np

from rules.bundle_format.csv_table import build_table_refusal
from rules.bundle_format.evidence import StudyEvidence
from rules.bundle_format.files import Files, Refused, build_refusal, shorten
from rules.bundle_format.load import read_records
from rules.bundle_format.records import (
    BATCHES_FILE,
    ENVIRONMENT_FILE,
    LOG_FILE,
    SAMPLES_FILE,
    SYSTEM_FILE,
    Json,
)
from rules.bundle_format.study_records import KINDS, OUTCOMES, POINTS_FILE, STUDY_FILE
from rules.bundle_format.table import Mask, Table, format_rows
from rules.finding import Problem
from rules.rule_ids import SCHEMA_VIOLATED
from rules.study_contract import ENGINES, PRECISIONS

_VOCABULARY = {
    "engine": ENGINES,
    "precision": PRECISIONS,
    "outcome": OUTCOMES,
    "kind": KINDS,
}
"""The texts that a column of points.csv.gz may have."""


def read_study(files: Files) -> tuple[StudyEvidence | None, list[Problem]]:
    """The evidence in the files of a study, and the problems of its files. The evidence is None if
    any file of it cannot be read, or refers to what is not there."""
    records, problems = read_records(files)
    if records is None:
        return None, problems
    evidence = StudyEvidence(
        records[STUDY_FILE],
        records[SYSTEM_FILE],
        records[ENVIRONMENT_FILE],
        records[SAMPLES_FILE],
        records[POINTS_FILE],
        records[BATCHES_FILE],
        records[LOG_FILE],
    )
    # In this order: points refer to sessions, parts to points.
    for check in (_check_sessions, _check_samples, _check_points, _check_parts):
        problems = [problem for refusal in check(evidence) for problem in refusal.problems]
        if problems:
            return None, problems
    return evidence, []


def _check_sessions(evidence: StudyEvidence) -> Iterator[Refused]:
    """Sessions are listed by number, each with a node of its own that system.json lists."""
    nodes = {
        node["name"]: {accelerator["uuid"] for accelerator in node["accelerators"]}
        for node in evidence.system["nodes"]
    }
    names = [session["node"] for session in evidence.study["sessions"]]
    for number, session in enumerate(evidence.study["sessions"]):
        pointer = f"/sessions/{number}"
        if session["session"] != number:
            yield _refuse_session(f"{pointer}/session", session["session"], str(number))
        if session["node"] not in nodes or session["node"] in names[:number]:
            expected = "a node of system.json that no other session has"
            yield _refuse_session(f"{pointer}/node", session["node"], expected)
        unlisted = set(session["accelerators"]) - nodes.get(session["node"], set())
        for uuid in sorted(unlisted):
            expected = "accelerators that system.json lists for the node of the session"
            yield _refuse_session(f"{pointer}/accelerators", uuid, expected)


def _check_samples(evidence: StudyEvidence) -> Iterator[Refused]:
    """Each sample is of an accelerator that its session lists."""
    sessions = {session["node"]: session for session in evidence.study["sessions"]}
    nodes, accelerators = (evidence.samples.text(name) for name in ("node", "accelerator"))
    of_nodes = [sessions.get(node, {"accelerators": []}) for node in nodes.names]
    is_listed = _tabulate_accelerators(of_nodes, accelerators.names)
    yield from _check_rows(
        SAMPLES_FILE,
        evidence.samples,
        ~is_listed[nodes.codes, accelerators.codes],
        "samples of a node or of an accelerator of no session",
        f"the node and the accelerators of a session of {STUDY_FILE}",
    )


def _tabulate_accelerators(sessions: Sequence[Json], uuids: Sequence[str]) -> Mask:
    """Which session lists which accelerator, shape (sessions, uuids)."""
    listed = [set(session["accelerators"]) for session in sessions]
    table = [[uuid in members for uuid in uuids] for members in listed]
    return np.array(table, dtype=bool).reshape(len(sessions), len(uuids))


def _check_points(evidence: StudyEvidence) -> Iterator[Refused]:
    points, sessions = evidence.points, evidence.study["sessions"]
    for column, texts in _VOCABULARY.items():
        column_text = points.text(column)
        for text in column_text.distinct():
            if text not in texts:
                rows, found = column_text.equals(text), f"{column} {shorten(text)}"
                yield from _check_rows(POINTS_FILE, points, rows, found, ", ".join(texts))
    numbers = points.ints("session")
    has_session = numbers < len(sessions)
    for column in ("size", "batch"):
        yield from _check_rows(
            POINTS_FILE, points, points.ints(column) < 1, f"{column} 0", "at least 1"
        )
    yield from _check_rows(
        POINTS_FILE, points, ~has_session, "an unknown session", f"0 to {len(sessions) - 1}"
    )
    accelerators = points.text("accelerator")
    is_listed = _tabulate_accelerators(sessions, accelerators.names)
    listed = is_listed[np.minimum(numbers, len(sessions) - 1), accelerators.codes]
    yield from _check_rows(
        POINTS_FILE,
        points,
        has_session & ~listed,
        "an accelerator of another session",
        f"one that {STUDY_FILE} lists for the session",
    )
    ran = points.text("outcome").equals("ok")
    has_items = points.ints("items") > 0
    lasts = points.ints("end_ns") > points.ints("start_ns")
    yield from _check_rows(
        POINTS_FILE,
        points,
        ran & ~(has_items & lasts),
        "a window without items or without length",
        "items and an end after the start, where the outcome is ok",
    )
    is_empty = (points.ints("items") == 0) & (points.ints("end_ns") == points.ints("start_ns"))
    yield from _check_rows(
        POINTS_FILE,
        points,
        ~ran & ~is_empty,
        "items or a window",
        "no items and equal times, where the outcome is not ok",
    )


def _check_parts(evidence: StudyEvidence) -> Iterator[Refused]:
    parts, count = evidence.batches, len(evidence.points)
    numbers = parts.ints("point")
    ran = evidence.points.text("outcome").equals("ok")
    has_point = numbers < count
    of_window = has_point.copy()
    of_window[has_point] = ran[numbers[has_point]]
    yield from _check_rows(
        BATCHES_FILE, parts, ~of_window, "a part of no window", "the number of a point that ran"
    )
    is_empty = (parts.ints("batches") < 1) | (parts.ints("end_ns") <= parts.ints("start_ns"))
    yield from _check_rows(
        BATCHES_FILE,
        parts,
        is_empty,
        "a part without batches or without length",
        "batches and an end after the start",
    )
    lacks_parts = ran & (np.bincount(numbers[has_point], minlength=count) == 0)
    yield from _check_rows(
        POINTS_FILE, evidence.points, lacks_parts, f"no part in {BATCHES_FILE}", "at least one"
    )


def _check_rows(
    name: str, table: Table, wrong: Mask, found: str, expected: str
) -> Iterator[Refused]:
    """Refuse the rows of a table that are `wrong`, shape (n,), if there are any."""
    if wrong.any():
        yield build_table_refusal(name, format_rows(table, wrong), found, expected)


def _refuse_session(pointer: str, found: object, expected: str) -> Refused:
    message = "bench-submit writes the sessions. Restore the file from the machine of the study."
    return build_refusal(SCHEMA_VIOLATED, STUDY_FILE, pointer, shorten(found), expected, message)
