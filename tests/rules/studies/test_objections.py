"""A published row carries a doubt only if the file quotes what the objection rests on."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from checker.judging.published import judge_published
from reporting.paper import Paper
from reporting.published_rows import build_published_rows
from rules.studies.published import parse_published_study

PUBLISHED = Path(__file__).parents[3] / "submissions/published"
QUOTES = [{"text": "in single precision", "file": "the paper", "place": "section 3"}]
Document = dict[str, Any]


def read(name: str) -> Document:
    document: Document = json.loads((PUBLISHED / f"{name}.json").read_text(encoding="utf-8"))
    return document


@pytest.fixture(scope="module")
def study() -> Document:
    """The released data, as if the paper stated FP32 for PyTorch on the A100."""
    document = read("yang2025")
    document["setups"][0]["claimed_precision"] = "fp32"
    return document


def count_doubts(document: Document, rule: str) -> int:
    return sum(rule in r.doubts for r in parse_published_study("f.json", document).results)


def test_without_a_quotation_no_row_is_doubted(study: Document) -> None:
    results = parse_published_study("f.json", study | {"objections": []}).results
    assert {result.doubts for result in results} == {()}
    without = {key: value for key, value in study.items() if key != "objections"}
    assert {r.doubts for r in parse_published_study("f.json", without).results} == {()}


def test_a_quoted_claim_doubts_the_rows_that_the_rule_finds(study: Document) -> None:
    objection = {"rule": "Y101", "setup": 0, "quotes": QUOTES}
    assert count_doubts(study | {"objections": [objection]}, "Y101") == 422
    # The rule does not find the first model, so an objection to it alone is no doubt.
    alone = objection | {"models": [1]}
    assert count_doubts(study | {"objections": [alone]}, "Y101") == 0


def test_a_doubted_row_has_the_quotation(study: Document) -> None:
    objection = {"rule": "Y101", "setup": 0, "quotes": QUOTES}
    results = parse_published_study("f.json", study | {"objections": [objection]}).results
    quote = "\u201cin single precision\u201d (the paper, section 3)"
    assert {r.quotes for r in results if r.doubts} == {(quote,)}
    assert {r.quotes for r in results if not r.doubts} == {()}


def test_the_committed_study_doubts_no_precision() -> None:
    document = read("yang2025")
    assert {setup["claimed_precision"] for setup in document["setups"]} == {None}
    results = parse_published_study("f.json", document).results
    assert {rule for r in results for rule in r.doubts} == {"Y103", "Y104"}
    assert all(len(r.quotes) > 1 for r in results if r.doubts)


@pytest.mark.parametrize("quotes", [[], [{"text": "single precision"}]])
def test_an_objection_without_a_whole_quotation_is_refused(
    quotes: list[Document], tmp_path: Path
) -> None:
    path = tmp_path / "published" / "yang2025.json"
    path.parent.mkdir()
    objection = {"rule": "Y101", "setup": 0, "quotes": quotes}
    path.write_text(json.dumps(read("yang2025") | {"objections": [objection]}))
    (finding,) = judge_published(path).verdict.findings
    assert finding.rule == "S107"
    assert finding.pointer is not None and finding.pointer.startswith("/objections/0/quotes")


def test_a_row_of_a_paper_is_marked_only_with_a_quotation() -> None:
    document = read("mayr2026")
    quoted = list(build_published_rows(Paper.from_document(document)))
    marked = [r for r in quoted if r.caution or r.implausible or r.comparison != "level"]
    assert len(marked) == 38
    assert all("Quoted: \u201c" in (row.caution or "") for row in marked)
    bare = deepcopy(document)
    for row in bare["rows"]:
        row.pop("quotes", None)
    for row in build_published_rows(Paper.from_document(bare)):
        assert (row.caution, row.implausible, row.comparison) == (None, None, "level")


@pytest.mark.parametrize("path", sorted(PUBLISHED.glob("*.json")), ids=lambda path: path.stem)
def test_every_objection_in_the_committed_files_is_quoted(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    for row in document.get("rows", ()):
        if row.get("caution") or row.get("comparison", "level") != "level":
            assert row["quotes"], row
    for objection in document.get("objections", ()):
        assert objection["quotes"], objection
