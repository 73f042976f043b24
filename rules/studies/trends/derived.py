"""Figures that follow from the transcribed rows of the publication, where its own table is an image
or has no rows of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from rules.studies.trends.figures import Domain
from rules.studies.trends.records import TrendsStudy, VisionModel

ALEXNET = "AlexNet"


@dataclass(frozen=True)
class MeanSpeedup:
    """The arithmetic mean of the speed-ups of a task on a kind of board (Table F.4)."""

    task: Domain
    board: str
    """Without its memory: `A100 40GB` and `A100 80GB` count as one."""
    precision: str
    n: int
    speedup: float
    implied: float | None
    """What Table J.9 implies: its rate over the FP32 rate of the reference board; None without such
    a row."""


def compute_mean_speedups(study: TrendsStudy) -> list[MeanSpeedup]:
    """The means of Table E.3 by task, board and precision, in the order of the table."""
    groups: dict[tuple[Domain, str, str], list[float]] = {}
    references: dict[tuple[Domain, str, str], str] = {}
    for row in study.speedups:
        key = (row.task, row.board.partition(" ")[0], row.precision)
        if row.precision == "FP32":
            continue  # the reference itself
        groups.setdefault(key, []).append(row.speedup)
        references[key] = row.reference.partition(" ")[0]
    return [
        MeanSpeedup(*key, len(values), fmean(values), _imply(study, *key, references[key]))
        for key, values in groups.items()
    ]


def _imply(
    study: TrendsStudy, task: Domain, board: str, precision: str, reference: str
) -> float | None:
    def find(name: str, adapted: str, rate: str) -> float | None:
        rows = (
            b.tflops
            for b in study.boards
            if b.table == "J.9"
            and b.board.endswith(name)
            and (b.adapted, b.precision) == (adapted, rate)
        )
        return next(rows, None)

    adapted = find(board, "For CNN" if task == "CV" else "For NLP", precision)
    base = find(reference, "No", "FP32")
    return adapted / base if adapted is not None and base is not None else None


def select_within_alexnet(models: Sequence[VisionModel]) -> list[VisionModel]:
    """The models with at most the FLOPs of AlexNet that were more accurate than all such models
    before, by date. Empty without AlexNet."""
    limit = next((m.gflops for m in models if m.model == ALEXNET), None)
    if limit is None:
        return []
    known = [
        (m.released, -m.accuracy_pct, m)
        for m in models
        if m.released is not None
        and m.accuracy_pct is not None
        and m.gflops is not None
        and m.gflops <= limit
    ]
    kept: list[VisionModel] = []
    highest_pct = 0.0
    # Of models of one day, the most accurate comes first.
    for _, negative_pct, model in sorted(known, key=lambda entry: entry[:2]):
        if -negative_pct > highest_pct:
            kept.append(model)
            highest_pct = -negative_pct
    return kept
