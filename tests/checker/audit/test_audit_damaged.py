"""Damaged, foreign and hostile files give a sentence and never an exception."""

import gzip
import json
import os
from pathlib import Path

import pytest
from support.audit_samples import (
    WRITERS,
    write_aiperf,
    write_inference,
    write_jpwr,
    write_ml_energy,
    write_report,
    write_zeus,
)

from checker.audit import folder as audit_folder
from checker.audit import json_text, text
from checker.audit.audit import audit


def fail_to_read(path: Path) -> str:
    """The sentence on the one file that cannot be read."""
    (failure,) = audit([path]).failures
    assert "\n" not in failure.text
    return failure.text


def test_path_without_evidence_is_a_failure_that_names_the_formats(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no evidence")
    sentence = fail_to_read(tmp_path)
    assert "holds no evidence of a known format" in sentence and "CodeCarbon" in sentence


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t[: len(t) // 2], "is no JSON at line 1"),
        (lambda t: "[" * 200_000, "nests too deeply"),
        (lambda t: t.replace("3000.0", "NaN"), "total_energy_j is 'nan' and no number"),
        (lambda t: t.replace("3000.0", "1e999"), "total_energy_j is 'inf' and no number"),
        (lambda t: t.replace("3000.0", "true"), "total_energy_j is 'True' and no number"),
        (lambda t: t.replace("3000.0", "9" * 400), "and no number"),
        (lambda t: t.replace("3000.0", "null"), "total_energy_j is missing"),
    ],
)
def test_damaged_json_gives_a_sentence(change, sentence: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = write_report(tmp_path / "report.json")
    path.write_text(change(path.read_text()))
    assert sentence in fail_to_read(path)


def test_cut_table_names_its_line(tmp_path: Path) -> None:
    path = write_zeus(tmp_path / "zeus.csv")
    path.write_text(path.read_text()[:-8])
    assert "line 2 has 4 cells and the header 5" in fail_to_read(path)


def test_cut_line_of_samples_is_named(tmp_path: Path) -> None:
    write_aiperf(tmp_path)
    path = tmp_path / "gpu_telemetry_export.jsonl"
    path.write_text(path.read_text()[:-20])
    assert "line 402 holds no JSON object" in fail_to_read(tmp_path)


def test_wrong_time_of_the_power_log_is_named(tmp_path: Path) -> None:
    write_inference(tmp_path)
    path = tmp_path / "spl.txt"
    path.write_text(path.read_text().replace("03-02-2026", "2026-03-02", 1))
    assert "line 1: '2026-03-02 10:00:00.000' is no time" in fail_to_read(tmp_path)


def test_cut_gzip_is_named(tmp_path: Path) -> None:
    write_inference(tmp_path)
    packed = gzip.compress((tmp_path / "spl.txt").read_bytes())
    (tmp_path / "spl.txt").unlink()
    (tmp_path / "spl.txt.gz").write_bytes(packed[:-20])
    assert "ends in the middle of the gzip stream" in fail_to_read(tmp_path)


def test_gzip_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_folder, "MAX_TEXT_BYTES", 2**20)
    folder = audit_folder.Folder(tmp_path)
    (tmp_path / "spl.txt.gz").write_bytes(gzip.compress(bytes(2**24)))
    with pytest.raises(audit_folder.UnreadableError, match="unpacks to more than 1 MiB"):
        folder.read_bytes("spl.txt", 2**20)


def test_documents_beyond_the_limit_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_folder, "_MAX_KEPT", 10)
    for name in "ab":
        (tmp_path / name).write_text('{"a": 1}')
    folder = audit_folder.Folder(tmp_path)
    first, second, again = (folder.read_json(name) for name in "aba")
    assert first == second == again and first is not again


def test_text_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    write_jpwr(tmp_path)
    path = tmp_path / "power.csv"
    text = path.read_text()
    path.write_bytes(text.encode()[:-3] + b"\xff\xfe")
    assert "is no text in UTF-8 at byte" in fail_to_read(tmp_path)
    path.write_text(text.replace("dev:1", "other"))
    assert "has no column of dev:1, which energy.csv has" in fail_to_read(tmp_path)


def test_one_damaged_file_does_not_hide_the_others(tmp_path: Path) -> None:
    write_report(tmp_path / "report.json")
    write_ml_energy(tmp_path / "chat.json")
    (tmp_path / "other.json").write_text("{")
    result = audit([tmp_path])
    assert len(result.rows) == 2 and len(result.failures) == 1 and not result.is_clean
    for letter in "gfabcde":
        (tmp_path / letter).touch()
    names = [*"abcdefg", "chat.json", "other.json", "report.json"]
    assert audit_folder.Folder(tmp_path).names == tuple(sorted(names))


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    write_report(outside / "report.json")
    inside.mkdir()
    (inside / "report.json").symlink_to(outside / "report.json")
    (inside / "folder").symlink_to(outside)
    assert "no evidence" in fail_to_read(inside)


def test_special_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mlperf_log_detail.txt")
    os.mkfifo(tmp_path / "report.json")
    assert "no evidence" in fail_to_read(tmp_path)


def test_deep_tree_is_not_searched_without_end(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 30)
    deep.mkdir(parents=True)
    write_report(deep / "report.json")
    assert "levels below" in fail_to_read(tmp_path)


def test_names_of_strangers_are_printable(tmp_path: Path) -> None:
    path = write_report(tmp_path / "report.json")
    document = json.loads(path.read_text())
    document["model"] = "name\x1b[31m\u202e"
    path.write_text(json.dumps(document))
    result = audit([tmp_path])
    for output in (text.render(result), json_text.render(result)):
        assert "\x1b" not in output and "\u202e" not in output


@pytest.mark.parametrize("source", WRITERS)
def test_files_cut_anywhere_end_in_rows_or_a_sentence(source: str, tmp_path: Path) -> None:
    """Each file of each sample, cut at several places."""
    WRITERS[source](tmp_path)
    for path in [p for p in tmp_path.rglob("*") if p.is_file()]:
        content = path.read_bytes()
        for share in (0, 0.1, 0.5, 0.9, 0.99):
            path.write_bytes(content[: int(share * len(content))])
            result = audit([tmp_path])
            assert result.rows or result.failures
            text.render(result)
            json_text.render(result)
        path.write_bytes(content)
