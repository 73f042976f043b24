"""Which rows are the most efficient of their line, and which no other beats in both throughput and
efficiency."""

from collections.abc import Sequence
from dataclasses import dataclass

from reporting.report_table import TableRow

RATE = "items_per_s_per_accelerator"


@dataclass(frozen=True)
class EfficiencyView:
    """One way to look at efficiency: the key of the figure, and the keys of its two marks."""

    efficiency: str
    front: str
    peak: str


EFFICIENCY_VIEWS = (
    EfficiencyView("items_per_joule", "front", "peak"),
    EfficiencyView("node_items_per_joule_assumed", "front_node", "peak_node"),
)


def mark_fronts(rows: Sequence[TableRow]) -> list[TableRow]:
    """The rows with the marks of each of `EFFICIENCY_VIEWS` set.

    A peak is the row with the most items/J of a line of two caps or more. On the front are rows
    that no other has more items/s and more items/J than; published rows, whose power is assumed,
    have a front of their own. What is in doubt or cannot be is neither, and beats nobody.
    """
    marked = [dict(row) for row in rows]
    for view in EFFICIENCY_VIEWS:
        counted = [
            row
            for row in marked
            if not row.get("doubt") and not row.get("implausible") and row.get(view.efficiency)
        ]
        peaks, front = _find_peaks(counted, view.efficiency), _find_front(counted, view.efficiency)
        for row in marked:
            row[view.peak], row[view.front] = id(row) in peaks, id(row) in front
    return list(marked)


def _find_peaks(rows: Sequence[TableRow], efficiency: str) -> set[int]:
    lines: dict[object, list[TableRow]] = {}
    for row in rows:
        lines.setdefault((row.get("standing"), row.get("line")), []).append(row)
    several = [own for own in lines.values() if len({row.get("cap_w") for row in own}) > 1]
    return {id(max(own, key=lambda row: float(row[efficiency] or 0))) for own in several}


def _find_front(rows: Sequence[TableRow], efficiency: str) -> set[int]:
    found: set[int] = set()
    for published in (False, True):
        own = [row for row in rows if (row.get("standing") == "published") == published]
        best = 0.0
        for row in sorted(
            own, key=lambda row: (float(row[RATE] or 0), float(row[efficiency] or 0)), reverse=True
        ):
            if float(row[efficiency] or 0) > best:
                found.add(id(row))
                best = float(row[efficiency] or 0)
    return found
