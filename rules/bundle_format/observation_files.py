"""Reads and writes the evidence of an observed job."""

import gzip
from datetime import datetime
from pathlib import Path

from rules.bundle_format.evidence import ObservationEvidence
from rules.bundle_format.files import Files, Refused, build_refusal, shorten
from rules.bundle_format.load import read_records
from rules.bundle_format.observation_records import OBSERVATION_FILE, POWER_COLUMNS, POWER_FILE
from rules.bundle_format.records import NODE_LOG_FILE
from rules.bundle_format.seal import encode_json
from rules.bundle_format.write import pack_table, write_files
from rules.finding import Problem
from rules.rule_ids import SCHEMA_VIOLATED


def read_observation(files: Files) -> tuple[ObservationEvidence | None, list[Problem]]:
    """The evidence in the files of an observed job, and the problems of its files. The evidence is
    None if any file of it cannot be read, or if the table has other feeds than observation.json."""
    records, problems = read_records(files)
    if records is None:
        return None, problems
    evidence = ObservationEvidence(
        records[OBSERVATION_FILE], records[POWER_FILE], records[NODE_LOG_FILE]
    )
    try:
        _check_window(evidence)
        _check_feeds(evidence)
    except Refused as refusal:
        return None, [*problems, *refusal.problems]
    return evidence, problems


def _check_window(evidence: ObservationEvidence) -> None:
    """Raise Refused unless the window has two times that exist, the first before the second."""
    times_ns = []
    for key in ("started_at", "ended_at"):
        text = evidence.observation[key]
        try:
            times_ns.append(read_time_ns(text))
        except ValueError:
            raise _refuse(f"/{key}", text, "a date and time that exist") from None
    if times_ns[0] >= times_ns[1]:
        raise _refuse("/ended_at", evidence.observation["ended_at"], "a time after started_at")


def _refuse(pointer: str, found: object, expected: str) -> Refused:
    message = "Correct the declaration of the job, and observe it again."
    return build_refusal(
        SCHEMA_VIOLATED, OBSERVATION_FILE, pointer, shorten(found), expected, message
    )


def read_time_ns(text: str) -> int:
    """A time in UTC, such as `2026-01-01T00:00:00.5Z`, in ns since 1970. Raises ValueError."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    seconds = datetime.fromisoformat(f"{whole}+00:00").timestamp()
    return int(seconds) * 10**9 + int(fraction[:9].ljust(9, "0"))


def _check_feeds(evidence: ObservationEvidence) -> None:
    """Raise Refused unless the feeds of the table are those that are declared."""
    declared = evidence.observation["meter"]["feeds"]
    found = evidence.power.text("feed").distinct()
    if sorted(found) != sorted(declared):
        expected = f"{shorten(sorted(found))}, the feeds of {POWER_FILE}"
        raise _refuse("/meter/feeds", sorted(declared), expected)


def encode_observation(evidence: ObservationEvidence) -> dict[str, bytes]:
    """The evidence files of an observed job by name, the same bytes for the same evidence."""
    return {
        OBSERVATION_FILE: encode_json(evidence.observation),
        POWER_FILE: pack_table(evidence.power, POWER_COLUMNS),
        # `mtime=0`: gzip would store the time.
        NODE_LOG_FILE: gzip.compress(evidence.node_log.encode(), mtime=0),
    }


def write_observation(evidence: ObservationEvidence, directory: Path) -> None:
    """Write the bundle to `directory`, which must not exist. Raises as
    `rules.bundle_format.write.write_files` does."""
    write_files(encode_observation(evidence), directory)
