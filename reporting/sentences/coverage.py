"""What the results of a page cover: the boards that were measured, and what no run shows."""

from collections.abc import Sequence

from reporting.results_model import ResultRow
from reporting.words import join_words

MEASURED_STANDINGS = ("closed", "open")


def describe_coverage(rows: Sequence[ResultRow]) -> str:
    """Name every kind of board that runs in comparison measured, and what all of them lack: a cap
    that the run set, a node meter, a second center. Empty without such runs. A reproduction is no
    result of its own, so its center is not counted."""
    measured = [row for row in rows if row.provenance and row.standing in MEASURED_STANDINGS]
    if not measured:
        return ""
    modes = {row.run.declaration.power.mode for row in measured}
    centers = {row.center for row in measured if row.provenance and not row.provenance.original}
    lacks = {
        "caps that a run set": "set" not in modes,
        "whole nodes": all(row.run.node is None for row in measured),
        "a second center": len(centers) < 2,
    }
    boards = join_words(sorted({row.model for row in measured}))
    covered = f"Measured on {boards} under one protocol, and recomputed from the evidence."
    missing = [name for name, is_missing in lacks.items() if is_missing]
    return f"{covered} Missing: {join_words(missing)}." if missing else covered
