"""Find which bundles of a round reproduce which others, and with which differences."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from checker.judging.bundle_judge import JudgedBundle
from checker.verdict import Reproduction, Verdict
from rules.bundle_findings import counts_as_reproduction
from rules.metrics.comparison import compare_with_original
from rules.run_summary import RunSummary, find_reproductions


def add_reproductions(
    judged: Sequence[JudgedBundle], verdicts: Sequence[Verdict]
) -> Iterator[Verdict]:
    """The verdicts, each with the reproductions of its bundle that count.

    `verdicts` are those of `judged`, in the same order, with the findings of all rules. Both the
    original and the reproduction must pass. A reproduction that may not win before it is reviewed,
    such as one with the noise of another run, confirms nothing until then.
    """
    passing = {verdict.path: verdict for verdict in verdicts if verdict.status == "pass"}
    summaries = [
        item.summary
        for item in judged
        if isinstance(item.summary, RunSummary) and item.verdict.path in passing
    ]
    reproductions: dict[Path, Reproduction] = {}
    reproductions_of: dict[Path, list[Reproduction]] = defaultdict(list)
    for run, _, original in find_reproductions(summaries):
        verdict = passing[run.path]
        if original is None or not counts_as_reproduction(verdict.findings):
            continue
        difference = compare_with_original(run.headline, original.headline)
        if difference is None or (difference.agrees and verdict.findings_that_bar_winning):
            continue
        reproduction = Reproduction(
            run.path,
            run.signer or "",
            original.path,
            difference.items_per_s_percent,
            difference.joules_per_item_percent,
            difference.agrees,
        )
        reproductions[run.path] = reproduction
        reproductions_of[original.path].append(reproduction)
    for verdict in verdicts:
        yield replace(
            verdict,
            reproductions=tuple(reproductions_of[verdict.path]),
            reproduces=reproductions.get(verdict.path),
        )
