"""The figures of a study as study.json states them, under the key `figures`.

Numbers have six significant digits. Intervals come from no random numbers, or from a fixed stream
of them, so the checker gets the same figures but for the last digit.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from rules.bundle_format.records import Json
from rules.metrics.figures_json import find_differences
from rules.studies.figures import StudyFigures
from rules.studies.metrics.anchors import AnchorDrift
from rules.studies.metrics.batches import find_batch, find_highest_throughput, find_least_latency
from rules.studies.results import BatchFigures, ModelResult, Setup

DIGITS = 6
RECOMPUTE_TOLERANCE = 2e-5
"""How far a stated figure may differ from the recomputed one, as a share of it. Both are rounded to
six digits, and libraries sum in different orders."""
_BATCH_FIGURES = ("batch", "images_per_s", "joules_per_image", "latency_s")
_BEST_FIGURES = (*_BATCH_FIGURES, "joules_ci95", "mean_power_w", "peak_bytes")

DEPENDENT_ON_ACCURACIES = "fronts"
"""The only key whose figures depend on the table of published accuracies."""


def study_figures_to_json(figures: StudyFigures) -> Json:
    """Return the key `figures` of study.json."""
    numbers = {setup.setup: number for number, setup in enumerate(figures.setups)}
    return {
        "results": [_encode_result(result, numbers[result.setup]) for result in figures.results],
        "anchors": [_encode_drift(drift) for drift in figures.drifts],
        "setups": _encode(figures.setups),
        "comparisons": _encode(figures.comparisons),
        "fronts": _encode(figures.fronts),
    }


def find_figure_differences(stated: Json, computed: Json) -> Iterator[tuple[str, Any, Any]]:
    """Compare the key `figures` of study.json with the recomputed one. Yields JSON pointer, stated
    and computed value of each figure that differs. A key that is absent differs."""
    for key, value in computed.items():
        yield from find_differences(
            f"/figures/{key}", stated.get(key), value, RECOMPUTE_TOLERANCE, absolute=1e-9
        )


def _encode_result(result: ModelResult, setup_number: int) -> Json:
    least_latency = find_least_latency(result)
    assert least_latency, "all windows of a study have a latency"
    return {
        "architecture": result.architecture,
        "size": result.size,
        "setup": setup_number,
        "best": _take(result.best, _BEST_FIGURES),
        "batch_one": _take(find_batch(result, 1), _BATCH_FIGURES),
        "least_latency": _take(least_latency, _BATCH_FIGURES),
        "highest_throughput": _take(find_highest_throughput(result), _BATCH_FIGURES),
        "max_batch": result.max_batch,
    }


def _take(figures: BatchFigures | None, names: Sequence[str]) -> Json | None:
    return None if figures is None else {name: _encode(getattr(figures, name)) for name in names}


def _encode_drift(drift: AnchorDrift) -> Json:
    return {
        "session": drift.session,
        "accelerator": drift.accelerator,
        "joules_per_image": _encode(drift.joules_per_image),
        "drift": _encode(drift.drift),
    }


def _encode(value: Any) -> Any:
    """Return a record or a part of one as JSON. Models become references to their results."""
    if isinstance(value, float):
        # `+ 0.0` makes 0 of -0.
        return float(f"{value:.{DIGITS}g}") + 0.0
    if isinstance(value, Setup):
        return {name: getattr(value, name) for name in ("board", "engine", "precision", "cap_w")}
    if isinstance(value, ModelResult):
        return {
            "architecture": value.architecture,
            "size": value.size,
            "joules_per_image": _encode(value.best.joules_per_image),
            "joules_ci95": _encode(value.best.joules_ci95),
            "accuracy_pct": value.accuracy_pct.get("imagenet"),
        }
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _encode(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_encode(item) for item in value]
    return value
