"""Two observed jobs overlap in time on one system

## What it does
Compares the windows of the observed jobs of one center whose nodes have one `system` name, and
reports the later of two that overlap.

## Why it is bad
A node meter cannot tell two jobs apart: the energy of the common time counts for both. It is a
warning, because a system may have several nodes.

## What to do
Withdraw one of the bundles, or shorten its window. Name the node in `system` if there are two.

## Source
None: a convention of this rule book. X113 compares the accelerators of runs.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from rules.bundle_format.observation_records import OBSERVATION_FILE
from rules.copies.search import order_runs
from rules.finding import Severity, Violation
from rules.rule import ObservationRoundRule
from rules.summaries.observation_summary import ObservationSummary

RULE = ObservationRoundRule(__name__, "O105", Severity.WARNING, added="1.13.0")


@RULE.check
def check(jobs: Sequence[ObservationSummary]) -> Iterator[tuple[Path, Violation]]:
    by_system: dict[tuple[str, str], list[ObservationSummary]] = {}
    for job in jobs:
        by_system.setdefault((job.center, job.system), []).append(job)
    for group in by_system.values():
        group.sort(key=lambda job: (job.from_s, job.until_s, job.path))
        last = group[0]
        for _, job in pairwise(group):
            # A long job may overlap with several that follow it.
            if job.from_s < last.until_s:
                earlier, later = order_runs([last, job])
                seconds = min(last.until_s, job.until_s) - job.from_s
                found = f"{seconds:.0f} s of the window belong to {earlier.name} too"
                expected = "a window of its own"
                yield later.path, Violation(OBSERVATION_FILE, "/started_at", found, expected)
            if job.until_s > last.until_s:
                last = job
