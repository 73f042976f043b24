"""The form of the bundle of a study: what cannot be read is refused with its rule, file and place,
and nothing that a study contains makes the checker fail."""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import copy_study
from support.bundles import write_study_bundle
from support.rules.hostile_edits import edit_table, make_bomb, replace_content

from checker.engine import judge
from rules.bundle_format import counts
from rules.bundle_format.files import Refused, read_files
from rules.bundle_format.records import RUN, STUDY, find_kind
from rules.bundle_format.seal import seal
from rules.bundle_format.study_load import read_study
from rules.bundle_format.study_records import OUTCOMES, Point, PointPart
from rules.bundle_format.study_write import build_part_table, build_point_table, write_study
from rules.finding import Finding
from rules.studies.bundle import StudyBundle
from rules.testing.frames import StudyFrames
from rules.testing.studies import BOARDS, MODELS, make_study_frames

Edit = Callable[[Path], None]


@pytest.fixture(scope="module")
def small_study() -> StudyFrames:
    return make_study_frames(MODELS[2:4], sessions=2)


@pytest.fixture(scope="module")
def written_study(small_study: StudyFrames, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("written") / "study"
    write_study_bundle(small_study, directory)
    return directory


@pytest.fixture
def bundle(written_study: Path, tmp_path: Path) -> Path:
    """The good study, which a test may spoil."""
    return Path(shutil.copytree(written_study, tmp_path / "study"))


def list_form_findings(directory: Path) -> list[Finding]:
    """The findings of form and integrity."""
    findings = judge(directory, signed=False).findings
    assert "internal" not in {finding.rule for finding in findings}
    return [finding for finding in findings if finding.rule[0] in "SI"]


def edit_study(edit: Callable[[Any], object]) -> Edit:
    def write(directory: Path) -> None:
        study = json.loads((directory / "study.json").read_text())
        edit(study)
        (directory / "study.json").write_text(json.dumps(study))

    return write


def edit_points(row: int, **cells: object) -> Edit:
    return _edit_rows("points.csv.gz", row, cells)


def edit_samples(row: int, **cells: object) -> Edit:
    return _edit_rows("samples.csv.gz", row, cells)


def edit_parts(row: int, **cells: object) -> Edit:
    return _edit_rows("batches.csv.gz", row, cells)


def _edit_rows(name: str, row: int, cells: dict[str, object]) -> Edit:
    def edit(text: bytes) -> bytes:
        lines = text.decode().splitlines()
        header, values = lines[0].split(","), lines[row].split(",")
        lines[row] = ",".join(
            str(cells.get(column, value)) for column, value in zip(header, values, strict=True)
        )
        return ("\n".join(lines) + "\n").encode()

    return edit_table(name, edit)


def find_row(outcome: str) -> int:
    """The first row of the points with an outcome, from 1."""
    points = make_study_frames(MODELS[2:4], sessions=2).points
    return int((points["outcome"] == outcome).idxmax()) + 1


def drop_first_part(text: bytes) -> bytes:
    lines = text.split(b"\n")
    return b"\n".join([lines[0], *lines[2:]])


def test_good_study_has_no_finding_of_form(bundle: Path) -> None:
    assert list_form_findings(bundle) == []
    assert find_kind([path.name for path in bundle.iterdir()]) is STUDY


def test_study_is_written_and_read_with_the_same_content(tmp_path: Path) -> None:
    evidence = copy_study().evidence()
    write_study(evidence, tmp_path / "first")
    first = read_files(tmp_path / "first")
    read, problems = read_study(first)
    assert read is not None and problems == []
    write_study(read, tmp_path / "second")
    assert read_files(tmp_path / "second").contents == first.contents
    view = StudyBundle(tmp_path, (), read)
    parts = [part for rows in view.parts_of.values() for part in rows]
    built = replace(read, points=build_point_table(view.points), batches=build_part_table(parts))
    write_study(built, tmp_path / "third")
    assert read_files(tmp_path / "third").contents == first.contents


def test_view_groups_by_session_and_board(small_study: StudyFrames) -> None:
    view = StudyBundle(Path("study"), (), small_study.evidence())
    keys = {("session0", BOARDS[0]), ("session1", BOARDS[1])}
    assert set(view.samples_of) == set(view.accelerators) == keys
    assert {view.board_key(point) for point in view.points} == keys
    assert sum(map(len, view.samples_of.values())) == len(view.samples)
    for number, point in enumerate(view.points):
        assert isinstance(point, Point)
        assert view.accelerator_of(point).uuid == point.accelerator
        parts = view.parts_of.get(number, ())
        assert (point.outcome == "ok") == bool(parts)
        assert sum(part.batches for part in parts) * point.batch == point.items
        assert all(isinstance(part, PointPart) for part in parts)


def test_same_board_in_two_sessions_has_two_series() -> None:
    study = make_study_frames(MODELS[2:4], sessions=2)
    study.samples["accelerator"] = study.points["accelerator"] = BOARDS[0]
    view = StudyBundle(Path("study"), (), study.evidence())
    assert set(view.samples_of) == {("session0", BOARDS[0]), ("session1", BOARDS[0])}


@pytest.mark.parametrize(
    ("edit", "standing"),
    [
        (lambda study: None, "study"),
        (lambda study: study["settings"].update(long_s=2.0), "demo"),
        (lambda study: study["settings"].update(burn_in_s=1.0), "demo"),
        (lambda study: study["settings"].update(long_s=20.0), "study"),
    ],
)
def test_shortened_study_is_judged_as_demo(
    small_study: StudyFrames, edit: Callable[[Any], None], standing: str
) -> None:
    study = json.loads(json.dumps(small_study.study))
    edit(study)
    evidence = small_study.evidence()
    evidence.study = study
    assert StudyBundle(Path("study"), (), evidence).judged_standing == standing


def test_simulated_study_is_judged_as_demo(small_study: StudyFrames) -> None:
    system = json.loads(json.dumps(small_study.system))
    system["nodes"][1]["accelerators"][0]["name"] = "Simulated H200"
    evidence = small_study.evidence()
    evidence.system = system
    assert StudyBundle(Path("study"), (), evidence).judged_standing == "demo"


def extend_work(study: Any) -> None:
    study["work"] *= 10_000


SPOILED: dict[str, tuple[Edit, str, str, str]] = {
    # study.json: the file, the rule, the file and the place of the finding.
    "not_json": (replace_content("study.json", b"{"), "S104", "study.json", ""),
    "deep": (replace_content("study.json", b"[" * 10**5), "S104", "study.json", ""),
    "no_object": (replace_content("study.json", b"[]"), "S107", "study.json", ""),
    "other_format": (
        edit_study(lambda s: s.update(format="wattmark-result/1")), "S106", "study.json", "/format"
    ),
    "unknown_method": (
        edit_study(lambda s: s.update(method="9.9")), "S106", "study.json", "/method"
    ),
    "book_without_studies": (
        edit_study(lambda s: s.update(rules_version="1.6.0")),
        "S106", "study.json", "/rules_version",
    ),
    "unknown_key": (edit_study(lambda s: s.update(note="")), "S107", "study.json", ""),
    "unknown_engine": (
        edit_study(lambda s: s["work"][0].update(engine="jit")),
        "S107", "study.json", "/work/0/engine",
    ),
    "fraction_as_size": (
        edit_study(lambda s: s["work"][0].update(size=224.0)),
        "S107", "study.json", "/work/0/size",
    ),
    "closed": (
        edit_study(lambda s: s.update(standing="closed")), "S107", "study.json", "/standing"
    ),
    "no_session": (edit_study(lambda s: s.update(sessions=[])), "S107", "study.json", "/sessions"),
    "long_work": (edit_study(extend_work), "S111", "study.json", "/work"),
    "sessions_out_of_order": (
        edit_study(lambda s: s["sessions"].reverse()), "S107", "study.json", "/sessions/0/session"
    ),
    "node_of_two_sessions": (
        edit_study(lambda s: s["sessions"][1].update(node="session0")),
        "S107", "study.json", "/sessions/1/node",
    ),
    "unknown_board": (
        edit_study(lambda s: s["sessions"][1].update(accelerators=["GPU-0"])),
        "S107", "study.json", "/sessions/1/accelerators",
    ),
    # points.csv.gz
    "bomb": (replace_content("points.csv.gz", make_bomb(200)), "S103", "points.csv.gz", ""),
    "cut": (
        lambda d: replace_content("points.csv.gz", (d / "points.csv.gz").read_bytes()[:-9])(d),
        "S108", "points.csv.gz", "",
    ),
    "other_table": (
        lambda d: replace_content("points.csv.gz", (d / "batches.csv.gz").read_bytes())(d),
        "S109", "points.csv.gz", "",
    ),
    "batches_of_a_run": (
        edit_table("batches.csv.gz", lambda _: b"epoch,batch,rank,start_ns,end_ns,items\n"),
        "S109", "batches.csv.gz", "",
    ),
    "text_as_batch": (edit_points(2, batch="many"), "S109", "points.csv.gz", "row 2"),
    "negative_items": (edit_points(2, items=-1), "S109", "points.csv.gz", "row 2"),
    "empty_cell": (edit_points(2, flops=""), "S109", "points.csv.gz", "row 2"),
    "engine": (edit_points(3, engine="jit"), "S109", "points.csv.gz", "row 3"),
    "precision": (edit_points(3, precision="int8"), "S109", "points.csv.gz", "row 3"),
    "outcome": (edit_points(3, outcome="tired"), "S109", "points.csv.gz", "row 3"),
    "kind": (edit_points(3, kind="short"), "S109", "points.csv.gz", "row 3"),
    "batch_0": (edit_points(2, batch=0), "S109", "points.csv.gz", "row 2"),
    "size_0": (edit_points(2, size=0), "S109", "points.csv.gz", "row 2"),
    "session_7": (edit_points(2, session=7), "S109", "points.csv.gz", "row 2"),
    "board_of_the_other_session": (
        edit_points(2, accelerator=BOARDS[1]), "S109", "points.csv.gz", "row 2"
    ),
    "no_items": (edit_points(2, items=0), "S109", "points.csv.gz", "row 2"),
    "ends_before_it_starts": (edit_points(2, end_ns=5), "S109", "points.csv.gz", "row 2"),
    # A point that is said to have failed, though it has a window.
    "failed_with_items": (edit_points(2, outcome="failed"), "S109", "points.csv.gz", "row 2"),
    # samples.csv.gz
    "samples_of_no_session": (
        edit_samples(3, node="session7"), "S109", "samples.csv.gz", "row 3"
    ),
    "samples_of_no_board": (
        edit_samples(3, accelerator=BOARDS[1]), "S109", "samples.csv.gz", "row 3"
    ),
    # batches.csv.gz
    "part_of_no_point": (edit_parts(2, point=99_999), "S109", "batches.csv.gz", "row 2"),
    "part_without_batches": (edit_parts(2, batches=0), "S109", "batches.csv.gz", "row 2"),
    "part_without_length": (edit_parts(2, end_ns=5), "S109", "batches.csv.gz", "row 2"),
    "point_without_part": (
        edit_table("batches.csv.gz", drop_first_part), "S109", "points.csv.gz", "row 1"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILED)
def test_spoiled_study_is_refused_by_its_rule(bundle: Path, name: str) -> None:
    spoil, rule, file, place = SPOILED[name]
    spoil(bundle)
    seal(bundle)
    findings = list_form_findings(bundle)
    assert (rule, file, place) in {(f.rule, f.file, f.pointer) for f in findings}
    assert {finding.rule for finding in findings} == {rule}


def test_study_without_points_is_read(bundle: Path) -> None:
    for name in ("points.csv.gz", "batches.csv.gz", "samples.csv.gz"):
        edit_table(name, lambda text: text.partition(b"\n")[0] + b"\n")(bundle)
    seal(bundle)
    assert list_form_findings(bundle) == []


def test_outcome_that_is_not_ok_has_no_part(bundle: Path) -> None:
    row = find_row("out-of-memory")
    edit_points(row, outcome=OUTCOMES[-1])(bundle)
    seal(bundle)
    assert list_form_findings(bundle) == []
    edit_parts(2, point=row - 1)(bundle)
    seal(bundle)
    assert ("S109", "batches.csv.gz") in {(f.rule, f.file) for f in list_form_findings(bundle)}


@pytest.mark.parametrize("name", sorted(STUDY.required_files))
def test_study_lacks_no_file(bundle: Path, name: str) -> None:
    (bundle / name).unlink()
    assert {(f.rule, f.file) for f in list_form_findings(bundle)} == {("S101", name)}


@pytest.mark.parametrize("name", ["result.json", "events.jsonl.gz", "requests.csv.gz"])
def test_file_of_a_run_is_none_of_a_study(bundle: Path, name: str) -> None:
    (bundle / name).write_bytes(gzip.compress(b""))
    assert {(f.rule, f.file) for f in list_form_findings(bundle)} == {("I102", name)}


def test_manifest_of_a_study_lists_no_file_of_a_run(bundle: Path) -> None:
    manifest = json.loads((bundle / "MANIFEST.json").read_text())
    manifest["files"].append({"path": "result.json", "size": 0, "sha256": "0" * 64})
    (bundle / "MANIFEST.json").write_text(json.dumps(manifest))
    assert {f.rule for f in list_form_findings(bundle)} == {"I104"}


def test_special_file_in_a_study_is_refused(bundle: Path) -> None:
    (bundle / "points.csv.gz").unlink()
    os.mkfifo(bundle / "points.csv.gz")
    assert ("S102", "points.csv.gz") in {(f.rule, f.file) for f in list_form_findings(bundle)}


def test_kind_does_not_depend_on_one_file() -> None:
    for kind, other in ((RUN, STUDY), (STUDY, RUN)):
        for name in kind.required_files:
            assert find_kind(kind.required_files - {name}) is kind
        assert find_kind({*kind.required_files, other.main_file}) is kind
    assert find_kind({"MANIFEST.json"}) is RUN


def test_study_has_more_architectures_than_a_run_has_accelerators() -> None:
    counts.check_texts("points.csv.gz", "architecture", counts.MAX_ARCHITECTURES)
    for column, limit in (
        ("architecture", counts.MAX_ARCHITECTURES),
        ("accelerator", counts.MAX_ACCELERATORS),
    ):
        with pytest.raises(Refused) as refusal:
            counts.check_texts("points.csv.gz", column, limit + 1)
        assert refusal.value.problems[0].rule == "S111"


def test_points_and_their_parts_are_limited(small_study: StudyFrames) -> None:
    evidence = small_study.evidence()
    for name, table, limit in (
        ("points.csv.gz", evidence.points, counts.MAX_POINTS),
        ("batches.csv.gz", evidence.batches, counts.MAX_POINT_PARTS),
    ):
        few, many = (np.zeros(count, dtype=np.intp) for count in (limit, limit + 1))
        counts.check_table(name, table.at(few))
        with pytest.raises(Refused) as refusal:
            counts.check_table(name, table.at(many))
        assert refusal.value.problems[0].rule == "S111"
