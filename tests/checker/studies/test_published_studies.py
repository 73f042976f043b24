"""Published studies are read, judged by their form, and made from the released data."""

import json
import re
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from checker.judging.published import judge_published
from rules.bundle_format.files import Refused
from rules.studies.figures import keep_sound
from rules.studies.metrics.comparisons import group_by_setup
from rules.studies.metrics.fits import fit_energy
from rules.studies.models import MODEL_CLASSES
from rules.studies.plausibility import find_doubts
from rules.studies.published import PublishedStudy, parse_published_study, read_published_study
from rules.studies.results import ModelResult

ROOT = Path(__file__).parents[3]
YANG = ROOT / "submissions/published/yang2025.json"
SCRIPT = run_path(str(ROOT / "scripts/published_yang2025.py"))
Document = dict[str, Any]


@pytest.fixture(scope="module")
def study() -> PublishedStudy:
    return read_published_study(YANG)


@pytest.fixture(scope="module")
def small() -> Document:
    """The document of the first three models."""
    document: Document = json.loads(YANG.read_text(encoding="utf-8"))
    tables = [document["models"], document["models"]["accuracy_pct"]]
    for table in (*tables, *(setup["results"] for setup in document["setups"])):
        table |= {key: column[:3] for key, column in table.items() if isinstance(column, list)}
    return document


def _find(study: PublishedStudy, board: str, engine: str, model: str, size: int) -> ModelResult:
    architecture, _, tag = model.partition(".")
    (result,) = (
        result
        for result in study.results
        if board in result.setup.board
        and (result.setup.engine, result.architecture) == (engine, architecture)
        and (result.tag, result.size) == (tag, size)
    )
    return result


def test_committed_study_passes_the_check_and_is_kept_as_a_record() -> None:
    verdict = judge_published(YANG).verdict
    assert (verdict.standing, verdict.findings) == ("published", ())
    assert isinstance(verdict.kept, PublishedStudy)
    assert YANG.stat().st_size < 1_000_000


def test_study_has_the_released_rows(study: PublishedStudy) -> None:
    by_setup = Counter(result.setup for result in study.results)
    assert [
        (setup.engine, setup.precision, setup.claimed_precision, setup.cap_w, count)
        for setup, count in by_setup.items()
    ] == [
        ("eager", "tf32-conv", None, 250, 1435),
        ("tensorrt", "fp16", None, 250, 1405),
        ("eager", "tf32-conv", None, 310, 1435),
        ("tensorrt", "fp16", None, 310, 1405),
    ]
    setups_by_model = Counter(
        (result.architecture, result.tag, result.size) for result in study.results
    )
    assert Counter(setups_by_model.values()) == {4: 1405, 2: 30}
    assert {result.setup.provenance for result in study.results} == {"published"}
    assert {result.model_class for result in study.results} == set(MODEL_CLASSES)


def test_figures_are_those_of_the_release_in_si_units(study: PublishedStudy) -> None:
    # A100_TRT.csv: 256, 3666.046799713654/s, 69.84729686764705 ms, 67.78929889278722 mJ
    beit = _find(study, "A100", "tensorrt", "beit_base_patch16_224.in22k_ft_in22k_in1k", 224)
    assert (beit.best.batch, beit.max_batch) == (256, None)
    assert beit.best.images_per_s == 3666.0468
    assert beit.best.latency_s == 0.0698472969
    assert beit.best.joules_per_image == 0.0677892989
    assert beit.best.mean_power_w == pytest.approx(248.519, abs=1e-3)
    assert (beit.accuracy_pct["imagenet"], beit.accuracy_pct["sketch"]) == (85.244, 46.258)
    assert beit.flops == pytest.approx(2 * 17.58e9), "timm's count, with the products of attention"


def test_batch_is_throughput_times_latency_where_the_release_has_none(
    study: PublishedStudy,
) -> None:
    # A100_PT.csv: no optimal batch, 2340.4/s, 126.9 ms, maximum 300
    bat = _find(study, "A100", "eager", "bat_resnext26ts.ch_in1k", 256)
    assert (bat.best.batch, bat.max_batch) == (297, 300)


def _read_rows(heading: str) -> list[list[str]]:
    """The cells of the table of the page whose first line begins with `heading`."""
    page = (ROOT / "docs/image-inference.md").read_text(encoding="utf-8")
    table = page[page.index(heading) :].partition("\n\n")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]
    ]


def test_page_states_what_the_rules_find_and_which_rows_carry_an_objection(
    study: PublishedStudy,
) -> None:
    *rules, (_, *objections) = _read_rows("| what the rules find | A100 PyTorch |")
    groups = group_by_setup(study.results).values()
    found = [find_doubts(results) for results in groups]
    assert [rule[:4] for rule, *_ in rules] == ["Y102", "Y103", "Y104"]
    for rule, *counts in rules:
        assert [int(count) for count in counts] == [
            sum(rule[:4] in doubts for doubts in results) for results in found
        ]
    assert [cell.replace("1 4", "14") for cell in objections] == [
        f"{len(results) - len(keep_sound(results))} of {len(results)}" for results in groups
    ]
    assert all(result.quotes for result in study.results if result.doubts)


def test_no_source_of_the_project_says_that_the_paper_states_a_precision() -> None:
    said = re.compile(r"(paper|publication) states FP32|stated as\sFP32|stated precision of Yang")
    paths = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("submissions/published/*"), YANG]
    paths += [ROOT / "scripts/published_yang2025.py", *ROOT.glob("rules/checks/study/*.py")]
    texts = {path: path.read_text(encoding="utf-8") for path in paths if path.is_file()}
    assert [path.name for path, text in texts.items() if said.search(text)] == []


def test_page_states_the_fits_of_energy(study: PublishedStudy) -> None:
    fits = [fit_energy(results) for results in group_by_setup(study.results).values()]
    for (setup, *cells), fit in zip(
        _read_rows("| setup | rows | b, activations |"), fits, strict=True
    ):
        assert fit is not None
        assert cells == [
            f"{fit.n:,}".replace(",", " "),
            *(
                f"{c.value:.3f} ± {(c.ci95[1] - c.ci95[0]) / 2:.3f}".replace("-", "\N{MINUS SIGN}")
                for c in (fit.activations, fit.flops)
            ),
            f"{fit.r2:.3f}",
        ], setup


def test_source_and_licence_are_stated(study: PublishedStudy) -> None:
    assert (study.source.commit, study.source.license) == ("96cd60e", "MIT")
    assert "Copyright (c) 2024 Zeyu Yang" in study.source.license_text
    assert "The above copyright notice and this permission notice" in study.source.license_text
    assert len(study.notes) >= 5


def _cut_column(document: Document) -> None:
    document["setups"][1]["results"]["latency_s"].pop()


def _cut_accuracy(document: Document) -> None:
    document["models"]["accuracy_pct"]["sketch"].pop()


def _drop_latency(document: Document) -> None:
    document["setups"][2]["results"]["latency_s"][1] = None


def _repeat_model(document: Document) -> None:
    document["models"]["model"][2] = document["models"]["model"][1]
    document["models"]["size"][2] = document["models"]["size"][1]


def _repeat_setup(document: Document) -> None:
    document["setups"][3] = document["setups"][1]


def _name_unknown_engine(document: Document) -> None:
    document["setups"][0]["engine"] = "onnx"


def _name_model_with_markup(document: Document) -> None:
    document["models"]["model"][0] = "<script>"


def _state_negative_energy(document: Document) -> None:
    document["setups"][0]["results"]["joules_per_image"][0] = -0.1


def _drop_license_text(document: Document) -> None:
    del document["source"]["license_text"]


@pytest.mark.parametrize(
    ("change", "location"),
    [
        (_cut_column, "/setups/1/results/latency_s"),
        (_cut_accuracy, "/models/accuracy_pct/sketch"),
        (_drop_latency, "/setups/2/results/latency_s/1"),
        (_repeat_model, "/models/model/2"),
        (_repeat_setup, "/setups/3"),
        (_name_unknown_engine, "/setups/0/engine"),
        (_name_model_with_markup, "/models/model/0"),
        (_state_negative_energy, "/setups/0/results/joules_per_image/0"),
        (_drop_license_text, "/source"),
    ],
)
def test_faulty_study_is_refused_at_its_place(
    change: Callable[[Document], None], location: str, small: Document, tmp_path: Path
) -> None:
    document = deepcopy(small)
    path = tmp_path / "published" / "yang2025.json"
    path.parent.mkdir()
    path.write_text(json.dumps(document))
    assert judge_published(path).verdict.findings == ()
    change(document)
    path.write_text(json.dumps(document))
    (finding,) = judge_published(path).verdict.findings
    assert (finding.rule, finding.file) == ("S107", "yang2025.json")
    assert finding.pointer == location


def test_unknown_format_is_refused(small: Document, tmp_path: Path) -> None:
    path = tmp_path / "published" / "yang2025.json"
    path.parent.mkdir()
    path.write_text(json.dumps(small | {"format": "wattmark-published-study/2"}))
    (finding,) = judge_published(path).verdict.findings
    assert finding.rule == "S106"
    assert "wattmark-published/1 or wattmark-published-study/1" in finding.expected


def test_extensions_are_ignored(small: Document) -> None:
    document = deepcopy(small)
    document["models"]["x-family"] = []
    assert len(parse_published_study("f.json", document).results) == 12 - 2


def test_refusal_names_the_missing_value(small: Document) -> None:
    document = deepcopy(small)
    _drop_latency(document)
    with pytest.raises(Refused) as refusal:
        parse_published_study("f.json", document)
    (problem,) = refusal.value.problems
    assert "beit_base_patch16_224.in22k_ft_in22k_in1k" in problem.violation.found


def test_script_makes_the_document_from_the_released_files(tmp_path: Path) -> None:
    released = {
        "model_accuracy.csv": "Model Name,Input Size,imagenet-original,imagenet-real,"
        "imagenetv2-matched-frequency,sketch,imagenet-a,imagenet-a-clean,imagenet-r,"
        "imagenet-r-clean\nresnet50.b,224,80,85,,1,2,3,4,5\nresnet50.a,224,81,,,1,2,3,4,5\n",
        "model_stats.csv": "model_name,input_size_csv,params_tinfo\n"
        "resnet50.a,224,25\nresnet50.b,224,26\n",
        SCRIPT["BENCHMARK"].rstrip("*"): "model,infer_img_size,infer_gmacs,infer_macts\n"
        "resnet50,288,6.8,18\nresnet50,224,4.11,11.11\n",
    }
    rows = "resnet50.a,224,320,,100.123456789123,20,39.5\nresnet50.b,224,,,,,\n"
    for name in SCRIPT["SETUPS"]:
        header = "Model Name,Input Size,Max BS,Optimal BS,Throughput,Latency,Energy\n"
        released[f"{name}.csv"] = header + rows
    for name, text in released.items():
        (tmp_path / name).write_text(text)
    document = SCRIPT["build_document"](tmp_path, tmp_path)
    assert document["models"]["model"] == ["resnet50.b", "resnet50.a"], "order of the accuracies"
    assert document["models"]["params"] == [26, 25]
    assert document["models"]["flops"] == [8.22e9] * 2
    assert document["models"]["accuracy_pct"]["imagenet-real"] == [85, None]
    results = document["setups"][0]["results"]
    assert results["joules_per_image"] == [None, 0.0395], "mJ become J"
    assert results["images_per_s"] == [None, 100.123457]
    assert results["latency_s"] == [None, 0.02]
    assert (results["batch"], results["max_batch"]) == ([None, None], [None, 320])
    assert json.loads(SCRIPT["render"](document)) == document
