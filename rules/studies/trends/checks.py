"""The publication's comparison of measured and estimated energies (Tables K.10 and K.11),
recomputed."""

from collections.abc import Iterator
from dataclasses import dataclass

from rules.studies.trends.estimators import TrendEstimate
from rules.studies.trends.records import PrintedFigure, TrendsStudy
from rules.studies.trends.regressions import TrendLine

_NAMES = {
    "GoogleNet": "Inception V1/GoogleLeNet",
    "ResNet50": "ResNet-50",
    "Vgg16": "VGG-16",
}
"""Names of models in these tables that differ from those of the table of models."""
_MAKER = "Nvidia "


@dataclass(frozen=True)
class EnergyCheck:
    """The energy of an image with a model on a board, in J. None: not stated, or not known."""

    table: str
    model: str
    board: str
    measured: float | None
    measured_fp16: float | None
    printed_estimate: float
    trend_joules: float | None
    """The trend estimate at the launch of the board."""
    note: str | None

    @property
    def measured_over_trend(self) -> float | None:
        """The measured energy over the trend estimate; None if one is not known."""
        if self.measured is None or self.trend_joules is None:
            return None
        return self.measured / self.trend_joules


def recompute_checks(study: TrendsStudy, efficiency: TrendLine | None) -> tuple[EnergyCheck, ...]:
    """The rows of both tables, with the estimates that `efficiency` gives."""
    return tuple(_recompute(study, efficiency))


def _recompute(study: TrendsStudy, efficiency: TrendLine | None) -> Iterator[EnergyCheck]:
    rows: dict[tuple[str, str, str], dict[str, PrintedFigure]] = {}
    for figure in study.energy_checks:
        key = (figure.table, figure.subject, figure.board or "")
        rows.setdefault(key, {})[figure.quantity] = figure
    for (table, model, board), figures in rows.items():
        if (estimate := figures.get("estimate")) is None:
            continue
        measured = figures.get("nvml_measured") or figures.get("measured_fp32")
        measured_fp16 = figures.get("measured_fp16")
        yield EnergyCheck(
            table,
            model,
            board,
            measured.value if measured else None,
            measured_fp16.value if measured_fp16 else None,
            estimate.value,
            _estimate(study, efficiency, model, board),
            estimate.note,
        )


def _estimate(
    study: TrendsStudy, efficiency: TrendLine | None, model: str, board: str
) -> float | None:
    """The trend estimate of a model at the launch of a board; None if one of them is not known."""
    name = _NAMES.get(model, model)
    gflops = next((m.gflops for m in study.vision_models if m.model == name), None)
    # The tables of boards name the line before the model, such as `Tesla P100`.
    short_name = board.removeprefix(_MAKER)
    launches = {
        b.launched
        for b in study.boards
        if f" {b.board.removeprefix(_MAKER)}".endswith(f" {short_name}")
    }
    if efficiency is None or gflops is None or len(launches) != 1:
        return None
    return TrendEstimate(efficiency, launches.pop()).compute_joules(gflops)
