"""Boards and image models after the publication, from data sheets and from timm's table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from rules.boards import BOARDS, Board
from rules.studies.accuracy import ModelAccuracy, read_shipped_table
from rules.studies.publications import Publication, find_publication
from rules.studies.trends.releases import BOARD_LAUNCHES, Release

LAST_YEAR = 2021
"""The last year of the publication's rows."""


@dataclass(frozen=True)
class LaterBoard:
    """A board by its data sheet: dense peak over highest power."""

    board: Board
    launch: Release
    precision: str
    tflops: float
    power_w: float

    @property
    def gflops_per_w(self) -> float:
        return 1e3 * self.tflops / self.power_w


@dataclass(frozen=True)
class LaterModel:
    """The most accurate model of a paper on arXiv, in timm's table."""

    publication: Publication
    model: ModelAccuracy

    @property
    def name(self) -> str:
        return f"{self.model.architecture}.{self.model.tag}@{self.model.size}"

    @property
    def released(self) -> date:
        """The middle of the month of the first version."""
        return date(self.publication.year, self.publication.month, 15)

    @property
    def accuracy_pct(self) -> float:
        return self.model.accuracy_pct["imagenet"]


def list_later_boards() -> list[LaterBoard]:
    """The boards with a known launch after `LAST_YEAR`, each at FP32 and at bf16, by launch."""
    boards = []
    for board in BOARDS:
        launch = BOARD_LAUNCHES.get(board.id)
        if launch is None or launch.released.year <= LAST_YEAR or board.max_power_w is None:
            continue
        for precision in ("fp32", "bf16"):
            tflops = board.peak_tflops.get(precision)
            if tflops is not None:
                boards.append(LaterBoard(board, launch, precision, tflops, board.max_power_w))
    return sorted(boards, key=lambda b: (b.launch.released, b.board.id, b.precision))


def list_later_models() -> Sequence[LaterModel]:
    """The most accurate model of each paper after `LAST_YEAR`, by date."""
    best: dict[Publication, ModelAccuracy] = {}
    for model in read_shipped_table().models:
        publication = find_publication(model.architecture, model.tag, model.size)
        if publication is None or publication.year <= LAST_YEAR:
            continue
        holder = best.get(publication)
        if holder is None or model.accuracy_pct["imagenet"] > holder.accuracy_pct["imagenet"]:
            best[publication] = model
    return [LaterModel(publication, model) for publication, model in sorted(best.items())]
