"""events.jsonl.gz: written and read again without a change, and refused with the number of the
line where it is not what the schema says."""

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Submissions, copy_evidence

from checker.engine import judge
from checker.verdict import Verdict
from rules.bundle_format import events as event_module
from rules.bundle_format.documents import read_schema
from rules.bundle_format.events import (
    KINDS,
    BatchTrial,
    encode_events,
    event_from_json,
    event_to_json,
    read_events,
)
from rules.bundle_format.files import Refused, read_files
from rules.bundle_format.load import read_evidence
from rules.bundle_format.records import EVENT_FORMAT, EVENTS_FILE
from rules.bundle_format.write import write
from rules.testing.cases.protocol.events_contradict_result import record_events
from rules.testing.frames import EvidenceFrames

TRIAL = BatchTrial(
    node="node0",
    attempt=1,
    time_ns=5,
    batch_size=64,
    outcome="out-of-memory",
    items_per_s=None,
    peak_memory_bytes=None,
)


def list_rules(verdict: Verdict) -> set[str]:
    return {finding.rule for finding in verdict.findings}


def record_run() -> EvidenceFrames:
    evidence = copy_evidence()
    evidence.result["settings"]["batch_search"] = [
        {"batch_size": 1024, "outcome": "ok", "items_per_s": 7000.5, "peak_memory_bytes": 2**34}
    ]
    record_events(evidence)
    return evidence


def make_line(**changes: Any) -> bytes:
    return json.dumps({**event_to_json(TRIAL), **changes}).encode() + b"\n"


def list_problems(text: bytes) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as refusal:
        read_events(text)
    return [(p.rule, p.violation.pointer) for p in refusal.value.problems]


def test_events_are_read_as_they_were_written(tmp_path: Path) -> None:
    evidence = record_run()
    write(evidence.evidence(), tmp_path / "bundle")
    files = read_files(tmp_path / "bundle")
    evidence_read, problems = read_evidence(files)
    assert evidence_read is not None and problems == []
    assert evidence_read.events == evidence.events and evidence_read.events
    assert encode_events(evidence_read.events) == gzip.decompress(files.contents[EVENTS_FILE])


def test_schema_and_records_name_the_same_events_and_fields() -> None:
    schema = read_schema(EVENT_FORMAT)
    assert schema["properties"]["event"]["enum"] == list(KINDS) == list(schema["$defs"])
    for name, kind in KINDS.items():
        fields = {"format", "event"} | {field.name for field in dataclasses.fields(kind)}
        assert set(schema["$defs"][name]["properties"]) == fields
        assert {*schema["required"], *schema["$defs"][name]["required"]} == fields
    assert {part["if"]["properties"]["event"]["const"] for part in schema["allOf"]} == set(KINDS)


def test_a_bundle_with_events_is_clean_and_names_them_in_its_manifest(
    submissions: Submissions,
) -> None:
    bundle = submissions.add(record_run())
    assert EVENTS_FILE in (bundle / "MANIFEST.json").read_text()
    assert list_rules(judge(bundle)) == set()


def test_an_event_may_have_keys_of_its_writer() -> None:
    assert read_events(make_line(**{"x-site": "mine"})) == (TRIAL,)
    assert event_from_json({**event_to_json(TRIAL), "x-site": "mine"}) == TRIAL


def test_no_line_is_no_event_and_the_last_line_may_lack_its_end() -> None:
    assert read_events(b"") == ()
    assert read_events(make_line() + make_line().removesuffix(b"\n")) == (TRIAL, TRIAL)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"{\n", ("S104", "line 1")),
        (make_line() + b"\n" + make_line(), ("S104", "line 2")),
        (make_line() + b'{"event": 1, "event": 2}\n', ("S105", "line 2")),
        (make_line() + make_line().replace(b"}", b', "batch_size": 1}'), ("S105", "line 2")),
        (make_line(time_ns=2**63), ("S105", "line 1")),
        (make_line(format="wattmark-event/2"), ("S106", "line 1 /format")),
        (b"[]\n", ("S107", "line 1")),
        (make_line(event="coffee-made"), ("S107", "line 1 /event")),
        (make_line(outcome="fine"), ("S107", "line 1 /outcome")),
        (make_line(batch_size=0), ("S107", "line 1 /batch_size")),
        (make_line(batch_size=64.0), ("S107", "line 1 /batch_size")),
        (make_line(attempt=0), ("S107", "line 1 /attempt")),
        (make_line(node=""), ("S107", "line 1 /node")),
        (make_line(cap_w=700.0), ("S107", "line 1")),
        (make_line().replace(b'"outcome"', b'"x-outcome"'), ("S107", "line 1")),
        (make_line().replace(b'"node"', b'"x-node"'), ("S107", "line 1")),
    ],
)
def test_a_line_that_is_no_event_is_refused_with_its_number(
    text: bytes, problem: tuple[str, str]
) -> None:
    assert list_problems(text) == [problem]


def test_of_many_broken_lines_the_first_five_are_reported() -> None:
    assert list_problems(b"{\n" * 9) == [("S104", f"line {n}") for n in range(1, 6)]


def test_more_lines_than_a_run_needs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_module, "MAX_EVENTS", 2)
    assert read_events(make_line() * 2) == (TRIAL, TRIAL)
    assert list_problems(make_line() * 3) == [("S103", "")]
    monkeypatch.setattr(event_module, "MAX_VALUES", 3)
    assert list_problems(b"[[[[]]]]\n") == [("S103", "")]


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"no gzip", "S108"),
        (gzip.compress(make_line(), mtime=0) + b"more", "S108"),
        (gzip.compress(b"\xff\xfe\n", mtime=0), "S108"),
        (gzip.compress(bytes(33 * 2**20), mtime=0), "S103"),
        (gzip.compress(b"{\n", mtime=0), "S104"),
    ],
)
def test_a_file_of_events_that_cannot_be_read_fails_the_bundle(
    submissions: Submissions, content: bytes, rule: str
) -> None:
    bundle = submissions.add(record_run())
    (bundle / EVENTS_FILE).write_bytes(content)
    submissions.reseal(bundle)
    verdict = judge(bundle)
    assert (list_rules(verdict), verdict.status) == ({rule}, "fail")


def test_events_that_are_removed_or_not_listed_fail_the_bundle(submissions: Submissions) -> None:
    removed = submissions.add(record_run())
    (removed / EVENTS_FILE).unlink()
    assert list_rules(judge(removed)) == {"S101"}
    without_events = copy_evidence()
    without_events.events = None
    added = submissions.add(without_events, run_id="another")
    (added / EVENTS_FILE).write_bytes(gzip.compress(make_line(), mtime=0))
    assert "I104" in list_rules(judge(added))
