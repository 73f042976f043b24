"""The table of known anchors is that of the committed studies."""

from pathlib import Path

import pytest
from conftest import copy_study
from support.committed_runs import SUBMISSIONS

from rules.bundle_format.files import read_files
from rules.bundle_format.study_load import read_study
from rules.checks.study.anchors_beyond_known import RULE
from rules.studies.bundle import StudyBundle
from rules.studies.known_anchors import ANCHOR, KNOWN_ANCHORS, KnownAnchor
from rules.studies.metrics.anchors import compute_drifts
from rules.testing.study_mutations import LARGEST, find_points


def test_known_anchors_are_those_of_the_committed_studies() -> None:
    least: dict[tuple[str, str, str], float] = {}
    boards: dict[tuple[str, str, str], set[str]] = {}
    for path in sorted((SUBMISSIONS / "reference").glob("*/*/study.json")):
        study, problems = read_study(read_files(path.parent))
        assert study is not None, problems
        bundle = StudyBundle(path.parent, (), study)
        assert bundle.point_figures is not None
        anchors = {(p.session, p.accelerator): p for p in bundle.points if p.kind == "anchor"}
        for drift in compute_drifts(bundle.point_table, bundle.point_figures):
            point = anchors[drift.session, drift.accelerator]
            assert f"{point.architecture}@{point.size}" == ANCHOR
            board = bundle.accelerator_of(point).board
            assert board is not None
            key = board.id, point.engine, point.precision
            least[key] = min(least.get(key, float("inf")), *drift.joules_per_image)
            boards.setdefault(key, set()).add(drift.accelerator)
    assert least.keys() == KNOWN_ANCHORS.keys()
    for key, joules in least.items():
        known = KnownAnchor(pytest.approx(joules, rel=1e-5), len(boards[key]))  # type: ignore[arg-type]
        assert KNOWN_ANCHORS[key] == known, key


def test_anchor_of_another_model_tells_nothing_of_the_setup() -> None:
    study = copy_study()
    last = find_points(study, kind="anchor")[-1]
    study.points.loc[last, ["architecture", "precision"]] = (LARGEST, "fp32")
    bundle = StudyBundle(Path("example"), (), study.evidence())
    assert list(RULE.run(bundle)) == []
