"""Reads the evidence of a bundle. Files that cannot be read become problems of the bundle."""

from typing import Any

from rules.bundle_format.csv_table import read_table
from rules.bundle_format.documents import read_document
from rules.bundle_format.events import read_events
from rules.bundle_format.evidence import Evidence
from rules.bundle_format.files import Files, Refused, build_size_refusal, unpack
from rules.bundle_format.records import (
    BATCHES_FILE,
    ENVIRONMENT_FILE,
    EVENTS_FILE,
    LOG_FILE,
    NODE_LOG_FILE,
    NODE_SAMPLES_FILE,
    REQUESTS_FILE,
    RESULT_FILE,
    SAMPLES_FILE,
    SYSTEM_FILE,
)
from rules.finding import Problem

MAX_LOG_LINES = 500_000
"""The longest log so far has 142 lines."""


def read_evidence(files: Files) -> tuple[Evidence | None, list[Problem]]:
    """The evidence in the files of a run, and the problems of its files. The evidence is None if
    any file of it cannot be read."""
    records, problems = read_records(files)
    if records is None:
        return None, problems
    evidence = Evidence(
        records[RESULT_FILE],
        records[SYSTEM_FILE],
        records[ENVIRONMENT_FILE],
        records[SAMPLES_FILE],
        records[BATCHES_FILE],
        records[LOG_FILE],
        requests=records.get(REQUESTS_FILE),
        events=records.get(EVENTS_FILE),
        node_samples=records.get(NODE_SAMPLES_FILE),
        node_log=records.get(NODE_LOG_FILE),
    )
    return evidence, problems


def read_records(files: Files) -> tuple[dict[str, Any] | None, list[Problem]]:
    """The content of each evidence file of a bundle of any kind, by name, and the problems of the
    files: objects of JSON files, a `Table`, events, or a text. None if any file cannot be read."""
    kind = files.kind
    records: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, content in files.contents.items():
        try:
            if name in kind.documents:
                records[name] = read_document(name, content, kind.documents[name])
            elif name in kind.tables:
                records[name] = read_table(name, unpack(name, content, kind), kind)
            elif name == EVENTS_FILE:
                records[name] = read_events(unpack(name, content))
            elif name in kind.texts:
                records[name] = _read_log(name, unpack(name, content))
        except Refused as refusal:
            # Go on: all unreadable files of a bundle are reported together.
            problems += refusal.problems
    is_complete = records.keys() >= set(kind.select_files(files.contents.keys()))
    return records if is_complete else None, problems


def _read_log(name: str, text: bytes) -> str:
    """The text of a log. Raises Refused if it has too many lines."""
    if (lines := text.count(b"\n")) > MAX_LOG_LINES:
        raise build_size_refusal(name, f"{lines} lines", f"at most {MAX_LOG_LINES} lines")
    return text.decode()
