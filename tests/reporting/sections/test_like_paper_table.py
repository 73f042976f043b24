"""The table of printed figures and runs with their settings: what it pairs and what it compares."""

from types import SimpleNamespace
from typing import Any

import pytest

from reporting.results_model import Figure
from reporting.sections import like_paper
from rules.workloads import workloads

WORKLOAD = workloads()["resnet50-train"]


@pytest.fixture(autouse=True)
def _plain_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks take a whole bundle, and other tests check them."""
    monkeypatch.setattr(like_paper, "make_mark_cells", lambda row, link: {"line": "h200 mayr"})


def make_run(**fields: Any) -> Any:
    implementation = SimpleNamespace(sha256=fields.pop("sha256", None))
    run = SimpleNamespace(
        declaration=SimpleNamespace(implementation=implementation),
        is_simulated=fields.pop("is_simulated", False),
    )
    row = {
        "provenance": SimpleNamespace(run=run),
        "items_per_s_per_accelerator": Figure(2200.0, "measured", 10, (2190.0, 2210.0)),
        "items_per_s": Figure(8800.0, "measured", 10, (8760.0, 8840.0)),
        "variant": "mayr",
        "standing": "open",
        "model": "h200",
        "accelerator": "NVIDIA H200",
        "count": 4,
        "cap_w": 700.0,
        "batch_size": 256,
        "comparable": True,
    }
    return SimpleNamespace(**{**row, **fields})


def make_printed(**fields: Any) -> Any:
    row = {
        "paper": "mayr2026",
        "items_per_s_per_accelerator": Figure(2000.0, "printed"),
        "model": "h200",
        "accelerator": "H200",
        "cap_w": 700.0,
        "caution": None,
        "may_win": True,
    }
    return SimpleNamespace(**{**row, **fields})


def build_rows(run: Any, *printed: Any) -> Any:
    table = like_paper.build_like_table(WORKLOAD, [run], printed, str, "id")
    return None if table is None else table.rows


def test_a_run_stands_beside_the_figure_of_its_board_and_cap() -> None:
    others = (make_printed(cap_w=600.0), make_printed(model="h100"), make_printed(paper="other"))
    (row,) = build_rows(make_run(), *others, make_printed())
    assert (row["printed"], row["measured"], row["ratio"]) == (2000.0, 2200.0, 1.1)
    assert row["accelerator"] == "NVIDIA H200 \u00d7 4" and row["batch"] == 256


@pytest.mark.parametrize("fields", [{"cap_w": 650.0}, {"model": "h100"}], ids=["cap", "board"])
def test_runs_on_boards_or_at_caps_that_the_paper_lacks_have_no_row(fields: dict[str, Any]) -> None:
    assert build_rows(make_run(**fields), make_printed()) is None


@pytest.mark.parametrize(
    "fields", [{"variant": "tuned"}, {"sha256": "0" * 64}], ids=["tuned", "own"]
)
def test_a_figure_without_a_run_with_its_settings_names_the_command(fields: dict[str, Any]) -> None:
    (row,) = build_rows(make_run(**fields), make_printed(), make_printed(cap_w=600.0))
    assert row["line"] == "no run yet: bench-submit run resnet50-train --like mayr"
    assert (row["accelerator"], row["printed"]) == ("H200", 2000.0)
    assert row.get("measured") is None and row.get("ratio") is None


def test_a_demo_run_has_no_ratio() -> None:
    """Simulated work stands for the reference implementation."""
    demo = make_run(standing="demo", sha256="0" * 64, is_simulated=True)
    (row,) = build_rows(demo, make_printed())
    assert (row["line"], row["measured"], row["ratio"]) == ("h200 mayr", 2200.0, None)


def test_a_figure_that_may_not_be_compared_has_a_note_and_no_ratio() -> None:
    (row,) = build_rows(make_run(), make_printed(may_win=False, caution="Divide by four."))
    assert row["ratio"] is None and row["note"] == "Divide by four."


def test_a_run_whose_cap_did_not_hold_has_no_ratio() -> None:
    (row,) = build_rows(make_run(comparable=False), make_printed())
    assert row["ratio"] is None and row["measured"] == 2200.0


@pytest.mark.parametrize(("count", "has_total"), [(1, False), (4, True)])
def test_runs_on_several_boards_have_their_sum(count: int, has_total: bool) -> None:
    table = like_paper.build_like_table(
        WORKLOAD, [make_run(count=count)], [make_printed()], str, "id"
    )
    assert table is not None and ("total" in {column.key for column in table.columns}) == has_total
    assert table.rows[0].get("total") == (8800.0 if has_total else None)
