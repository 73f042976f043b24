"""Choose the runs of a page that would be too large with all of them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from reporting.collect import Collected
from reporting.results_model import ResultRow
from rules.finding import format_count

MAX_PAGE_BYTES = 6_000_000


def leave_out_runs(collected: Collected, most: int) -> Collected:
    """Keep at most `most` runs. Each center has an equal share, and what small centers do not use
    goes to the others, so that a flood of one center hides no other one. Of a center, accepted runs
    are kept first, then those that may win."""
    runs_by_center: defaultdict[str | None, list[ResultRow]] = defaultdict(list)
    for row in collected.rows:
        if row.provenance:
            runs_by_center[row.center].append(row)
    kept: set[int] = set()
    left = most
    for place, runs in enumerate(sorted(runs_by_center.values(), key=len)):
        share = left // (len(runs_by_center) - place)
        runs.sort(key=_rank)
        kept |= {id(row) for row in runs[:share]}
        left -= min(share, len(runs))
    rows = [row for row in collected.rows if row.provenance is None or id(row) in kept]
    unshown = [row for row in collected.rows if row.provenance and id(row) not in kept]
    return replace(collected, rows=rows, unshown=[*collected.unshown, *unshown])


def _rank(row: ResultRow) -> tuple[bool, bool]:
    assert row.provenance is not None
    return not row.provenance.accepted, not row.may_win


def describe_unshown(rows: Sequence[ResultRow]) -> str:
    """Which runs a page leaves out, and how to see them; empty without any."""
    if not rows:
        return ""
    centers = sorted({row.center for row in rows if row.center})
    names = ", ".join(centers[:5]) + (" and others" if len(centers) > 5 else "")
    origin = f" of {names}" if names else ""
    return (
        f"This page leaves out {format_count(len(rows), 'run')}{origin}, because it would be "
        f"larger than {MAX_PAGE_BYTES / 1e6:g} MB. No result here was compared with them. A page "
        "of one center or system shows its runs, and the tables and data sets hold all of them."
    )
