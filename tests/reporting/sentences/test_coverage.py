"""The first lines of the page name the boards that were measured, and what no run shows."""

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from support.report.result_rows import make_run_row

from reporting.results_model import ResultRow
from reporting.sentences.coverage import describe_coverage

COVERED = "Measured on H200 under one protocol, and recomputed from the evidence."


def make_row(model: str, **fields: Any) -> ResultRow:
    return make_run_row(1000, model, **{"center": "a", "model": model} | fields)


def change_run(row: ResultRow, **fields: Any) -> ResultRow:
    assert row.provenance
    return replace(row, provenance=replace(row.provenance, run=replace(row.run, **fields)))


def test_every_kind_of_board_is_named_once() -> None:
    rows = [make_row("H200"), make_row("H100"), make_row("H200")]
    assert describe_coverage(rows) == (
        "Measured on H100 and H200 under one protocol, and recomputed from the evidence. "
        "Missing: caps that a run set, whole nodes and a second center."
    )


@pytest.mark.parametrize("standing", ["demo", "control", "published"])
def test_what_is_not_compared_is_not_covered(standing: str) -> None:
    assert describe_coverage([make_row("H200", standing=standing)]) == ""


def test_what_one_run_shows_is_not_missing() -> None:
    row = make_row("H200")
    second = make_row("H200", center="b")
    assert describe_coverage([row, second]) == (
        f"{COVERED} Missing: caps that a run set and whole nodes."
    )
    capped = change_run(second, declaration=Mock(power=Mock(mode="set")))
    assert describe_coverage([row, capped]) == f"{COVERED} Missing: whole nodes."
    metered = change_run(capped, nodes_within_run=Mock())
    assert describe_coverage([row, metered]) == COVERED


def test_center_of_a_reproduction_is_not_counted() -> None:
    row, second = make_row("H200"), make_row("H200", center="b")
    assert second.provenance
    reproduction = replace(second, provenance=replace(second.provenance, original="a/h200/run"))
    assert "a second center" in describe_coverage([row, reproduction])
