"""The published study of trends is found, judged by its form, and made from the transcription."""

import csv
import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from checker.find import find_places
from checker.judging.published import judge_published
from rules.bundle_format.files import Refused
from rules.studies.trends.reader import read_trends_study
from rules.studies.trends.records import TrendsStudy

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "submissions/published"
TRENDS = PUBLISHED / "desislavov2023/trends.json"
SCRIPT = run_path(str(ROOT / "scripts/published_desislavov2023.py"))
Document = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Document:
    loaded: Document = json.loads(TRENDS.read_text(encoding="utf-8"))
    return loaded


def test_committed_study_passes_and_is_kept_as_a_record() -> None:
    assert TRENDS in find_places(ROOT / "submissions").published
    verdict = judge_published(TRENDS).verdict
    assert (verdict.standing, verdict.findings) == ("published", ())
    assert isinstance(verdict.kept, TrendsStudy)


def _name_february_30(document: Document) -> None:
    document["vision_models"][3]["released"] = "2014-02-30"


def _slip_unit(document: Document) -> None:
    document["boards"][60]["tflops"] *= 1000


def _drop_table(document: Document) -> None:
    del document["language_models"]


def _mix_studies(document: Document) -> None:
    document["setups"] = []


def _name_unknown_status(document: Document) -> None:
    document["boards"][0]["status"] = "fine"


def _state_no_flops(document: Document) -> None:
    document["language_models"][2]["gflops"] = 0


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        (_name_february_30, "/vision_models/3/released"),
        (_slip_unit, "/boards/60/gflops_per_w"),
        (_drop_table, ""),
        (_mix_studies, "/setups"),
        (_name_unknown_status, "/boards/0/status"),
        (_state_no_flops, "/language_models/2/gflops"),
    ],
)
def test_faulty_study_is_refused_at_its_place(
    change: Callable[[Document], None], pointer: str, document: Document, tmp_path: Path
) -> None:
    changed = deepcopy(document)
    change(changed)
    path = tmp_path / "published" / "paper" / "trends.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(changed))
    findings = judge_published(path).verdict.findings
    assert {(f.rule, f.file) for f in findings} == {("S107", "trends.json")}
    assert pointer in {f.pointer for f in findings}
    assert all(f.found and f.expected and f.message for f in findings)


def test_study_below_a_center_is_out_of_place(tmp_path: Path) -> None:
    (tmp_path / "keyring").mkdir()
    (tmp_path / "keyring" / "allowed_signers").write_text("")
    places = {
        tmp_path / "published" / "paper" / "trends.json": set(),
        tmp_path / "center" / "published" / "trends.json": {"I125"},
        tmp_path / "center" / "published" / "paper" / "trends.json": {"I125"},
    }
    for path in places:
        path.parent.mkdir(parents=True)
        path.write_bytes(TRENDS.read_bytes())
    assert {p: {f.rule for f in judge_published(p).verdict.findings} for p in places} == places
    assert set(find_places(tmp_path).published) == places.keys()


def test_reader_refuses_another_study() -> None:
    with pytest.raises(Refused) as refusal:
        read_trends_study(PUBLISHED / "yang2025.json")
    (problem,) = refusal.value.problems
    assert problem.violation.file == "yang2025.json" and problem.violation.pointer == "/study"


def test_script_makes_the_document_from_the_transcription(tmp_path: Path) -> None:
    tables: dict[str, dict[str, object]] = {
        "gpus": {
            **dict.fromkeys(("kind", "adapted", "note"), ""),
            **{"source_table": "J.8", "gpu": "A", "precision": "FP32", "tflops": "2.50"},
            **{"watts_tdp": 250, "launch_date": "2013-01-02", "type": "Server"},
            **{"gflops_per_watt": "10.00", "status": "ok"},
        },
        "cv_models": {
            **dict.fromkeys(("top1_acc_pct", "params_m", "gflops", "extra_data", "date"), ""),
            **{"model": "M", "gflops_mark": "estimated_by_authors", "architecture": "CNN"},
            **{"status": "doubtful", "note": "lost"},
        },
        "nlp_models": {
            **{"model": "L", "input_tokens": 128, "gflops": "3.7", "params_m": 14},
            **{"date": "2018-10-11", "glue_score": "", "status": "ok", "note": ""},
        },
        "speedups": {
            **{"task": "CV", "model": "M", "framework": "F", "batch_size": 8, "gpu": "A"},
            **{"precision": "FP32", "throughput": 10, "speedup": "1.00", "speedup_reference": "A"},
        },
        "energy_checks": {
            **{"source_table": "K.10", "model": "M", "gpu": "A", "quantity": "estimate"},
            **{"value": "0.035", "unit": "J/image", "note": ""},
        },
        "edge": {
            **{"source_table": "L.12", "device": "D", "year": 2018, "type": "GPU"},
            **{"quantity": "power", "value": 5, "unit": "W", "note": ""},
        },
    }
    for name, row in tables.items():
        with (tmp_path / f"desislavov2023_{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(row))
            writer.writeheader()
            writer.writerow(row)
    path = tmp_path / "published" / "paper" / "trends.json"
    path.parent.mkdir(parents=True)
    path.write_text(SCRIPT["render"](SCRIPT["make_document"](tmp_path)))
    study = judge_published(path).verdict.kept
    assert isinstance(study, TrendsStudy)
    (model,) = study.vision_models
    assert (model.gflops, model.gflops_estimated, model.released) == (None, True, None)
    assert (model.status, model.note) == ("doubtful", "lost")
    assert study.boards[0].gflops_per_w == 10 and study.edge_devices[0].board is None
    assert (study.edge_devices[0].year, study.edge_devices[0].kind) == (2018, "GPU")


def test_script_writes_the_committed_form(document: Document) -> None:
    assert SCRIPT["render"](document) == TRENDS.read_text(encoding="utf-8")
