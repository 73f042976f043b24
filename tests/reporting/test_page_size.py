"""A page of more runs than fit into it."""

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.committed_runs import SUBMISSIONS

from reporting.cli import main as report
from reporting.collect import Collected
from reporting.fitting import describe_unshown, leave_out_runs


def make_run(center: str, accepted: bool, may_win: bool) -> Any:
    provenance = SimpleNamespace(accepted="1.0.0" if accepted else "")
    return SimpleNamespace(center=center, may_win=may_win, provenance=provenance)


RUNS = st.lists(st.builds(make_run, st.sampled_from("abc"), st.booleans(), st.booleans()))
PAPER_ROW: Any = SimpleNamespace(center=None, provenance=None)


@given(RUNS, st.integers(0, 12))
def test_no_center_takes_the_place_of_another_one(runs: list[Any], most: int) -> None:
    shown = leave_out_runs(Collected([*runs, PAPER_ROW], [], [], [], []), most)
    kept = [row for row in shown.rows if row.provenance]
    assert PAPER_ROW in shown.rows and len(kept) == min(most, len(runs))
    assert Counter(map(id, shown.all_rows)) == Counter(map(id, [*runs, PAPER_ROW]))
    handed_in, counts = (Counter(row.center for row in rows) for rows in (runs, kept))
    for center, count in counts.items():
        fair_share = min(handed_in[center], most // len(handed_in))
        assert count >= fair_share
    for row in kept:
        for other in shown.unshown:
            if other.center == row.center and other.provenance and row.provenance:
                assert (not row.provenance.accepted, not row.may_win) <= (
                    not other.provenance.accepted,
                    not other.may_win,
                )


def test_only_five_centers_are_named() -> None:
    rows = [make_run(center, accepted=True, may_win=True) for center in "gfedcba"]
    assert "7 runs of a, b, c, d, e and others, because" in describe_unshown(rows)
    assert "5 runs of c, d, e, f, g, because" in describe_unshown(rows[:5])


def test_page_that_would_be_too_large_says_what_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reporting.page.MAX_PAGE_BYTES", 1_150_000)
    page, tables = tmp_path / "page.html", tmp_path / "tables"
    result = CliRunner().invoke(
        report, [str(SUBMISSIONS), "--out", str(page), "--tables", str(tables)]
    )
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert len(text.encode()) <= 1_150_000
    assert re.search(r"leaves out \d+ runs of reference, because", text)
