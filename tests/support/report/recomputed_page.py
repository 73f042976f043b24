"""A page of the report with its results computed again, and the repeats of each setting."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from support.report.html import Element
from support.report.recomputed_results import (
    JOULES,
    PER_JOULE,
    RATE,
    Numbers,
    Result,
)
from support.report.recomputed_spread import (
    Spreads,
    count_runs,
    find_board_limit,
    measure_spreads,
    predict_another_run,
)

from checker.verdict import Verdict
from reporting.report_table import ReportTable
from rules.run_summary import submission_key


@dataclass(frozen=True)
class ReportPage:
    """A page of the report, its directory, and all runs and printed rows that it shows."""

    page: Element
    tables: Sequence[ReportTable]
    directory: Path
    results: Sequence[Result]
    studies: Sequence[Verdict]
    """The verdicts of studies, which have a page of their own."""

    @cached_property
    def results_by_bundle(self) -> Mapping[Path, Result]:
        """The results of runs by the directory of their bundle."""
        return {r.verdict.path.resolve(): r for r in self.results if r.verdict}

    @cached_property
    def spreads(self) -> Spreads:
        """The spreads between boards and runs by the repeats of the page."""
        return measure_spreads(list_single_settings(self))

    def find_board_limit(self, result: Result, key: str) -> float:
        """The least difference of two single runs on other boards that is told apart, in
        percent."""
        return find_board_limit(self.spreads, result.model, key)

    def find_result(self, table: ReportTable, row: Mapping[str, Any]) -> Result | None:
        """The result that a row shows; None for a row of several results."""
        if bundles := str(row.get("bundle") or "").split():
            return self.results_by_bundle[(self.directory / bundles[0]).resolve()]
        if row.get("standing") != "published" or table.id in (
            "rack",
            "whole-nodes",
            "published-settings",
            "fixed-work",
            "workloads",
        ):
            return None
        workload = row.get("workload") or table.id.rpartition("-")[0]
        key = (workload, row["model"], row["cap_w"])
        (result,) = [
            r for r in self.results if not r.bundle and (r.workload, r.model, r.cap_w) == key
        ]
        return result

    def list_compared(self, result: Result) -> list[Result]:
        """The results that a result is compared with, itself included, fastest first."""
        compared = [
            r for r in self.results if r.may_win and r.comparison_key == result.comparison_key
        ]
        return sorted(compared, key=lambda r: -r.numbers[RATE])

    def find_control(self, result: Result) -> Result | None:
        """The control run that the power of a run is compared with: at the same cap, on the same
        boards if there is one, else on the same kind of board."""
        if result.bundle is None or result.standing == "control":
            return None
        boards = set(result.bundle.accelerator_ranks)
        controls = [
            r
            for r in self.results
            if r.standing == "control" and (r.model, r.cap_w) == (result.model, result.cap_w)
            # Other inputs and sizes do not load a board fully.
            if not r.loaded_bundle.result["settings"]["options"]
        ]
        return max(
            controls,
            key=lambda r: (
                set(r.loaded_bundle.accelerator_ranks) == boards,
                r.loaded_bundle.result["started_at"],
            ),
            default=None,
        )

    def list_sweep_runs(self, result: Result) -> list[Result]:
        """The runs that differ from a result in their cap only, itself included."""
        key = submission_key(result.loaded_bundle)
        return [r for r in self.results if r.bundle and submission_key(r.bundle) == key]


def join_repeats(page: ReportPage, result: Result) -> list[Result]:
    """The results that share a row of the what-if table with a result, itself included."""
    if result.bundle is None:
        return [result]
    return [
        run for run in page.list_sweep_runs(result) if run.may_win and run.cap_w == result.cap_w
    ]


def combine_repeats(page: ReportPage, result: Result) -> Numbers:
    """The numbers of the setting of a result: means over its repeats, with the intervals of
    another run."""
    repeats = join_repeats(page, result)
    numbers = dict(result.numbers) | count_runs(repeats)
    if result.bundle is not None:
        for key in (RATE, JOULES, PER_JOULE):
            numbers |= predict_another_run(repeats, key, page.spreads)
    return numbers


def list_settings(page: ReportPage, results: Iterable[Result]) -> list[Numbers]:
    """The numbers of each setting among some results, each once."""
    settings: dict[int, Numbers] = {}
    for result in results:
        first = join_repeats(page, result)[0]
        settings.setdefault(id(first), combine_repeats(page, first))
    return list(settings.values())


def list_runs_at_cap(page: ReportPage, result: Result) -> list[Result]:
    """The runs of a result's setting, those that may not win included."""
    return [r for r in page.list_sweep_runs(result) if r.cap_w == result.cap_w]


def list_single_settings(page: ReportPage) -> list[list[Result]]:
    """The repeats of each setting on one accelerator that may win; no demo and control runs."""
    runs = [
        r
        for r in page.results
        if r.bundle and r.may_win and r.count == 1 and r.standing not in ("demo", "control")
    ]
    settings = {id(join_repeats(page, r)[0]): join_repeats(page, r) for r in runs}
    return list(settings.values())
