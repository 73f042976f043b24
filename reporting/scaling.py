"""Runs on several accelerators beside those on one."""

from collections.abc import Sequence
from dataclasses import dataclass

from reporting.rows import Row
from reporting.sweeps import point_of
from rules import metrics, sweeps
from rules.digest import kind
from rules.sweeps import combine


@dataclass(frozen=True)
class Several:
    """A run on several accelerators, and how it does against the runs on one."""

    row: Row
    on_one: float | None
    """Items/s on one accelerator; None where there is no such run."""
    against: sweeps.Scaling | None
    """None where there is no run on one accelerator, or no cap."""


def scaling(rows: Sequence[Row]) -> list[Several]:
    """Every submitted row of several accelerators, or every demo row of several, by their number, system and cap."""
    several = sorted((r for r in rows if (r.count or 0) > 1), key=lambda r: (r.count or 0, r.system, r.cap_w or 0))
    return [_beside(row, _on_one(row, rows)) for row in several]


def _on_one(row: Row, rows: Sequence[Row]) -> Sequence[Row]:
    """The runs on one accelerator to compare a row with: those of the same system, or else the fastest, repeats of each other.

    They have the row's workload, standing, variant, precision, board, cap and requests, and may win a comparison.
    """
    alike: dict[tuple[object, ...], list[Row]] = {}
    for one in rows:
        if one.count == 1 and one.comparable and one.trail and _kind(one) == _kind(row):
            alike.setdefault(kind(one.trail.bundle), []).append(one)
    return max(alike.values(), key=lambda own: (own[0].system == row.system, _rate(own)), default=())


def _beside(row: Row, ones: Sequence[Row]) -> Several:
    own, points = point_of(row), [p for one in ones if (p := point_of(one))]
    against = sweeps.scaling(own, row.count or 0, combine(points)[0]) if own and points else None
    return Several(row, _rate(ones) if ones else None, against)


def _rate(rows: Sequence[Row]) -> float:
    return float(metrics.summary([row.items_per_s_per_accelerator.value for row in rows])["mean"])


def _kind(row: Row) -> tuple[object, ...]:
    requests = row.trail.bundle.result["settings"].get("requests") if row.trail else None
    sent = requests and (requests["prompt_tokens"], requests["output_tokens"], requests["rate_per_s"])
    return row.workload, row.standing, row.variant, row.precision, row.model, row.cap_w, sent
