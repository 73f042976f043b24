"""Which files of a bundle are read, and up to which size."""

from pathlib import Path

import pytest

from rules.bundle_format.files import (
    MAX_BYTES,
    MAX_SIGNATURE_BYTES,
    MAX_UNPACKED_BYTES,
    read_files,
)
from rules.bundle_format.records import OBSERVATION, RUN, STUDY

SIGNATURE = "signatures/submission.example@wattmark.sig"


@pytest.mark.parametrize(("excess_bytes", "is_read"), [(0, True), (1, False)])
def test_signature_of_64_kib_is_the_largest(tmp_path, excess_bytes, is_read):
    (tmp_path / "signatures").mkdir()
    (tmp_path / SIGNATURE).write_bytes(b"x" * (64 * 1024 + excess_bytes))
    files = read_files(tmp_path)
    assert MAX_SIGNATURE_BYTES == 65_536
    assert (SIGNATURE in files.contents) is is_read
    assert any(p.violation.file == SIGNATURE for p in files.problems) is not is_read


@pytest.mark.parametrize("name", ["signatures/notes.txt", "signatures/submission.sig", "notes.txt"])
def test_file_that_no_bundle_has_is_a_problem_and_is_not_read(tmp_path, name):
    (tmp_path / "signatures").mkdir()
    (tmp_path / name).write_text("x")
    files = read_files(tmp_path)
    assert name not in files.contents
    unlisted = [p for p in files.problems if p.violation.file == name]
    assert [p.rule for p in unlisted] == ["I102"]


def test_signatures_that_are_no_directory_are_a_problem(tmp_path):
    (tmp_path / "signatures").write_text("x")
    files = read_files(tmp_path)
    assert [p.violation.found for p in files.problems if p.violation.file == "signatures"]


def test_largest_sizes_of_files_on_disk_and_unpacked():
    mib = 1 << 20
    tables = {*RUN.tables, *STUDY.tables, *OBSERVATION.tables}
    assert {name: size // mib for name, size in MAX_BYTES.items() if name in tables} == (
        dict.fromkeys(tables, 64)
    )
    assert {s for n, s in MAX_BYTES.items() if n not in tables} == {16 * mib}
    assert (RUN.max_table_bytes, STUDY.max_table_bytes) == (96 * mib, 192 * mib)
    assert (RUN.max_rows, STUDY.max_rows) == (500_000, 1_000_000)
    assert {
        "log.txt.gz": 64 * mib,
        "events.jsonl.gz": 32 * mib,
        "node_log.gz": 64 * mib,
    } == MAX_UNPACKED_BYTES


def test_bundle_that_is_not_there_is_a_problem(tmp_path):
    files = read_files(tmp_path / "missing")
    (problem,) = files.problems
    assert problem.violation.file == "missing" and not files.contents
    assert problem.violation.found == "cannot be read: No such file or directory"


def test_findings_are_in_the_order_of_names_on_every_file_system(tmp_path, monkeypatch):
    names = [f"{letter}.txt" for letter in "abcdefgh"]
    for name in names:
        (tmp_path / name).write_text("x")
    entries = sorted(tmp_path.iterdir(), reverse=True)
    monkeypatch.setattr(Path, "iterdir", lambda path: iter(entries))
    *unlisted, rest = (p.violation for p in read_files(tmp_path).problems if p.rule == "I102")
    assert [v.file for v in unlisted] == names[:5] and rest.found == "3 more such files"
