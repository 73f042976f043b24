"""Reads the evidence of a bundle. Files that cannot be read become problems of the bundle."""

from pathlib import Path
from typing import Any

from rules.bundle_format.csv_table import read_table
from rules.bundle_format.documents import read_document
from rules.bundle_format.events import read_events
from rules.bundle_format.files import Files, Refused, build_size_refusal, unpack
from rules.bundle_format.records import (
    EVENTS_FILE,
    EVIDENCE_FILES,
    JSON_FILES,
    LOG_FILE,
    NODE_LOG_FILE,
    NODE_SAMPLES_FILE,
    OPTIONAL_FILES,
    REQUESTS_FILE,
    TABLE_FILES,
    Evidence,
    Json,
)
from rules.finding import Problem

MAX_LOG_LINES = 500_000
"""The longest log so far has 142 lines."""


def read_evidence(files: Files) -> tuple[Evidence | None, list[Problem]]:
    """The evidence in the files of a bundle, and the problems of its files. The evidence is None if
    any file of it cannot be read."""
    records: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, content in files.contents.items():
        try:
            if name in JSON_FILES:
                records[name] = read_document(name, content, JSON_FILES[name])
            elif name in TABLE_FILES:
                records[name] = read_table(name, unpack(name, content))
            elif name in (LOG_FILE, NODE_LOG_FILE):
                records[name] = _read_log(name, unpack(name, content))
            elif name == EVENTS_FILE:
                records[name] = read_events(unpack(name, content))
        except Refused as refusal:
            # Go on: all unreadable files of a bundle are reported together.
            problems += refusal.problems
    if any(
        name not in records
        for name in EVIDENCE_FILES
        if name in files.contents or name not in OPTIONAL_FILES
    ):
        return None, problems
    result, system, environment = (records[name] for name in JSON_FILES)
    samples, batches = (records[name] for name in TABLE_FILES if name not in OPTIONAL_FILES)
    evidence = Evidence(
        result,
        system,
        environment,
        samples,
        batches,
        records[LOG_FILE],
        requests=records.get(REQUESTS_FILE),
        events=records.get(EVENTS_FILE),
        node_samples=records.get(NODE_SAMPLES_FILE),
        node_log=records.get(NODE_LOG_FILE),
    )
    return evidence, problems


def _read_log(name: str, text: bytes) -> str:
    """The text of a log. Raises Refused if it has too many lines."""
    if (lines := text.count(b"\n")) > MAX_LOG_LINES:
        raise build_size_refusal(name, f"{lines} lines", f"at most {MAX_LOG_LINES} lines")
    return text.decode()


def read_published(path: Path, content: bytes, expected_format: str) -> Json:
    """Read the object in a file of published figures. Raises Refused."""
    return read_document(path.name, content, expected_format)
