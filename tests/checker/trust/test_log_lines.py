"""Which lines the LOG takes, against their plain definition, and processes that append at once."""

import tempfile
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.trust.acceptance_log import (
    ACCEPTED,
    COMMITTED,
    START,
    WITHDRAWN,
    LogEntry,
    append_entries,
    find_missing_bundles,
    find_missing_head,
    read_log,
)
from rules.bundle_format.files import Refused

TIMES = ["2026-03-01T00:00:00Z", "2026-03-01T00:00:01Z"] + [
    (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for hours in (23, 25)
]
VERSIONS = ["1.9.0", "1.10.0", "1.99.0"]
"""The last one is not released."""
ENTRIES = st.lists(
    st.builds(
        LogEntry,
        at=st.sampled_from([*TIMES[:2] * 4, *TIMES]),
        event=st.sampled_from([ACCEPTED, WITHDRAWN, WITHDRAWN, COMMITTED]),
        path=st.sampled_from(["alpha/h200/one", "alpha/h200/one-more", "Alpha/h200/one"]),
        manifest_sha256=st.sampled_from(["a" * 64, "b" * 64]),
        rules_version=st.sampled_from([*VERSIONS[:2] * 4, *VERSIONS]),
        reason=st.sampled_from(["", "no reviewer"]),
    ),
    min_size=1,
    max_size=12,
)


def fits(entry: LogEntry, before: Sequence[LogEntry]) -> bool:
    """Whether a line may follow these."""

    def has(event: str, path: str, manifest: str = "") -> bool:
        return any(
            (line.event, line.path) == (event, path)
            and line.manifest_sha256 in (manifest, manifest or line.manifest_sha256)
            for line in before
        )

    if entry.at == TIMES[3] or entry.rules_version == VERSIONS[2]:
        return False
    if before and (
        entry.at < before[-1].at
        or VERSIONS.index(entry.rules_version) < VERSIONS.index(before[-1].rules_version)
    ):
        return False
    match entry.event:
        case "accepted":
            return not has(ACCEPTED, entry.path)
        case "withdrawn":
            is_accepted = has(ACCEPTED, entry.path, entry.manifest_sha256)
            return is_accepted and not has(WITHDRAWN, entry.path)
    return not any(
        line.event == COMMITTED
        and line.path.lower() == entry.path.lower()
        and line.manifest_sha256 == entry.manifest_sha256
        for line in before
    )


@settings(deadline=None, max_examples=300)
@given(ENTRIES, st.integers(0, 2))
def test_log_takes_the_lines_that_fit(entries: list[LogEntry], present_count: int) -> None:
    """All new ones or none; the refusal names the one that does not fit, which is the last."""
    *earlier, last = entries
    log_entries: list[LogEntry] = []
    for entry in earlier:
        if fits(entry, log_entries):
            log_entries.append(entry)
    is_fit = fits(last, log_entries)
    log_entries.append(last)
    present_count = min(present_count, len(log_entries) - 1)
    present, new = log_entries[:present_count], log_entries[present_count:]
    with tempfile.TemporaryDirectory() as name:
        submissions = Path(name)
        head = append_entries(submissions, START, present).head
        before = (submissions / "LOG").read_bytes()
        with pytest.raises(Refused):
            append_entries(submissions, "f" * 64, [])
        try:
            log = append_entries(submissions, head, new)
        except Refused as refusal:
            assert not is_fit and (submissions / "LOG").read_bytes() == before
            assert refusal.problems[0].violation.pointer == f"line {len(log_entries)}"
            return
        assert is_fit and read_log(submissions) == log
        assert [path.name for path in submissions.iterdir()] == ["LOG"]
    lines = {
        event: [e for e in log_entries if e.event == event]
        for event in (ACCEPTED, WITHDRAWN, COMMITTED)
    }
    for found, event in ((log.accepted, ACCEPTED), (log.withdrawn, WITHDRAWN)):
        assert list(found) == [entry.path for entry in lines[event]]
    assert list(log.committed) == [(e.path.lower(), e.manifest_sha256) for e in lines[COMMITTED]]
    # Each head that was published once is in the LOG, and a removed bundle is missed at its path.
    assert not any([*find_missing_head(log, head)] for head in log.hashes)
    assert [*find_missing_head(log, "f" * 64)]
    for below in ("", "alpha", "alpha/h200/one"):
        missed = [p for p in log.accepted if f"{p}/".startswith(f"{below}/".lstrip("/"))]
        assert len([*find_missing_bundles(log, below, ())]) == len(missed)
        assert not [*find_missing_bundles(log, below, log.accepted)]


def test_one_of_two_processes_that_append_at_once_is_refused(tmp_path: Path) -> None:
    """The second begins when the first has read the LOG and not yet written it."""
    entries = [
        LogEntry("2026-03-01T00:00:00Z", "accepted", f"example/h200x2/{n}", "0" * 64, VERSIONS[0])
        for n in (1, 2)
    ]
    refusals: list[Refused] = []

    def append_second() -> None:
        try:
            append_entries(tmp_path, START, entries[1:])
        except Refused as refusal:
            refusals.append(refusal)

    second = threading.Thread(target=append_second)

    def yield_first() -> Iterator[LogEntry]:
        second.start()
        second.join(timeout=0.5)
        yield entries[0]

    log = append_entries(tmp_path, START, yield_first())
    second.join()
    assert (read_log(tmp_path), list(log.accepted), len(refusals)) == (log, [entries[0].path], 1)
