"""scripts/round_pages.py: the tables and outputs of the committed round in README and docs/ are
current, numbers included."""

import importlib
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.console.blocks import PAGES, list_blocks

ROOT = Path(__file__).parents[2]


@cache
def load_script() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        return importlib.import_module("round_pages")


@cache
def read_runs() -> list[Any]:
    runs: list[Any] = load_script().round_runs.read_runs(ROOT / "submissions")
    return runs


def test_pages_of_the_round_are_found() -> None:
    pages = load_script().list_pages()
    assert {"README.md", "docs/dataset.md", "docs/first-hour/reader.md"} <= set(pages)
    assert set(load_script().TABLES) <= set(pages)


@pytest.mark.parametrize("page", load_script().list_pages())
def test_page_shows_the_committed_round(page: str) -> None:
    script = load_script()
    assert script.render_page(page, read_runs()) == (ROOT / page).read_text("utf-8"), (
        "run: python scripts/round_pages.py"
    )


ON_THE_ROUND = re.compile(r"^bench-(?:check|report) (?!.*\bbuild/).*\bsubmissions/?(?=\s|$)")
ON_ANOTHER_ROUND = {
    "docs/first-hour/reviewer.md",  # a copy of two bundles
    "docs/reproduce.md",  # with a run that the page makes
    "docs/trust.md",  # a copy of two bundles
}
NEEDS_THE_EXTRA_PUBLISH = "--archive"


def test_outputs_about_the_committed_round_are_written_by_the_script() -> None:
    by_hand = [
        f"{block.place}: {step.command}"
        for page in PAGES
        if page.relative_to(ROOT).as_posix() not in ON_ANOTHER_ROUND
        for block in list_blocks(page)
        if block.language == "console" and block.mark != "written by"
        for step in block.list_steps()
        if step.lines and ON_THE_ROUND.match(step.command.strip())
        if NEEDS_THE_EXTRA_PUBLISH not in step.command
    ]
    assert by_hand == []


@pytest.mark.parametrize(
    ("shown", "printed", "renewed"),
    [
        (["3 runs"], ["4 runs", "1 error"], ["4 runs", "1 error"]),
        (["…", "3 runs"], ["x", "4 runs"], ["…", "4 runs"]),
        (["b 1", "…", "3 runs"], ["b 2", "c", "4 runs"], ["b 2", "…", "4 runs"]),
        (["made in … s", "3 runs"], ["made in 9 s", "4 runs"], ["made in … s", "4 runs"]),
    ],
)
def test_shown_lines_are_renewed(shown: list[str], printed: list[str], renewed: list[str]) -> None:
    assert load_script().renew_lines(shown, printed) == renewed


def test_output_with_other_words_is_left_to_a_person() -> None:
    script = load_script()
    with pytest.raises(script.OutputChangedError, match="4 bundles"):
        script.renew_lines(["…", "3 runs"], ["x", "4 bundles"])


def test_number_that_is_not_current_is_noticed() -> None:
    """As a comparison up to numbers did not."""
    script = load_script()
    page = f'{script.MARK}\n```console\n$ printf "7 runs\\n"\n6 runs\n```\n'
    assert script.renew_outputs(page, "README.md") == page.replace("6 runs", "7 runs")
    code = "```python\nprint(7)\n```\n\n```text\n6\n```\n"
    assert script.renew_outputs(code, "docs/dataset.md") == code.replace("\n6\n", "\n7\n")


def test_older_recipes_and_intervals_of_runs() -> None:
    script = load_script()
    runs = read_runs()
    older = script.round_runs.find_older(runs)
    assert {path.name[-6:] for path in older} >= {"dabc4e"}
    table = script.round_runs.render_single_results(runs)
    assert "| s2d (bf16, older recipe) | 2048 | H200 `3680` | 700 | 7 545.8 (" in table
    assert len(table.splitlines()) - 2 == sum(
        run.accelerators == 1 and not run.is_control for run in runs
    )
    for run in runs:
        stated = run.figures.headline.items_per_s
        assert run.headline.items_per_s.half_width >= stated.half_width


def test_equal_digits_mean_the_same_board() -> None:
    boards = {run.board: run.bundle.accelerator_ranks.keys() for run in read_runs()}
    single = [uuids for uuids in boards.values() if len(uuids) == 1]
    assert len(single) == len(set().union(*single)) > 30
    for run in read_runs():
        assert boards[run.board] == run.bundle.accelerator_ranks.keys()


def test_ratios_on_one_board_are_against_tuned_runs() -> None:
    script = load_script()
    rows = [
        line.strip("| ").split(" | ")
        for line in script.round_runs.render_board_ratios(read_runs()).splitlines()[2:]
    ]
    assert all(row[3].startswith("tuned") for row in rows)
    by_run = {(row[0], row[2]): row[4:] for row in rows}
    assert by_run["resnet50-train", "tuned (bf16), batch 256"] == ["\N{MINUS SIGN}7.4 %", "+7.7 %"]
