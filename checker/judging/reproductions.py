"""Find which bundles of a round reproduce which others, and with which differences."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from checker.judging.bundle_judge import JudgedBundle
from checker.trust.keyring import find_organisation
from checker.verdict import Reproduction, Verdict
from rules.bundle_findings import counts_as_reproduction, shares_readings
from rules.metrics.comparison import compare_with_original
from rules.run_summary import RunSummary, find_reproductions


def add_reproductions(
    judged: Sequence[JudgedBundle], verdicts: Sequence[Verdict]
) -> Iterator[Verdict]:
    """The verdicts, each with the reproductions of its bundle that count.

    `verdicts` are those of `judged`, in the same order, with the findings of all rules. Both the
    original and the reproduction must pass. A reproduction that may not win before it is reviewed
    confirms nothing until then, and one that shares readings with another run never does.
    """
    passing = {verdict.path: verdict for verdict in verdicts if verdict.status == "pass"}
    summaries = [
        item.summary
        for item in judged
        if isinstance(item.summary, RunSummary) and item.verdict.path in passing
    ]
    boards: dict[str, set[str]] = defaultdict(set)
    for summary in summaries:
        # Simulated boards share their names.
        if summary.standing != "demo":
            boards[summary.center].update(summary.boards)
    reproductions: dict[Path, Reproduction] = {}
    reproductions_of: dict[Path, list[Reproduction]] = defaultdict(list)
    for run, _, original in find_reproductions(summaries):
        verdict = passing[run.path]
        if original is None or not counts_as_reproduction(verdict.findings):
            continue
        difference = compare_with_original(run.headline, original.headline)
        is_doubted = verdict.findings_that_bar_winning or shares_readings(verdict.findings)
        if difference is None or (difference.agrees and is_doubted):
            continue
        reproduction = Reproduction(
            run.path,
            run.signer or "",
            original.path,
            difference.items_per_s_percent,
            difference.joules_per_item_percent,
            difference.agrees,
            tuple(_list_shared(run, original, boards)),
        )
        reproductions[run.path] = reproduction
        reproductions_of[original.path].append(reproduction)
    for verdict in verdicts:
        yield replace(
            verdict,
            reproductions=tuple(reproductions_of[verdict.path]),
            reproduces=reproductions.get(verdict.path),
        )


def _list_shared(
    run: RunSummary, original: RunSummary, boards: Mapping[str, set[str]]
) -> Iterator[str]:
    """What the centers of two runs have in common. `boards` are those of each center in the
    round."""
    domains = {find_organisation(summary.signer or "") for summary in (run, original)}
    if len(domains) == 1 and (domain := domains.pop()):
        yield f"the domain {domain}"
    shared = sorted(boards[run.center] & boards[original.center])
    if shared:
        others = f" and {len(shared) - 1} more" if shared[1:] else ""
        yield f"the board {shared[0]}{others}"
