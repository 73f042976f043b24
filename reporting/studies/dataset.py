"""The results of studies as the JSON of their page: columns of numbers, and each name once.

`templates/study/data.js` reads it. Power is energy times throughput, so it is not stored.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reporting.report_table import round_significant
from reporting.study_record import DEMO, SIMULATED
from rules.bundle_format.records import Json
from rules.studies.figures import keep_sound
from rules.studies.models import MODEL_CLASSES, UNKNOWN_CLASS
from rules.studies.plausibility import THROUGHPUT_ABOVE_PEAK
from rules.studies.publications import find_publication
from rules.studies.results import BatchFigures, ModelResult, Setup

_DIGITS = 4
"""Significant digits of figures: more than the noise of the method has."""
_ACCURACY_DECIMALS = 3
"""Decimals of an accuracy in percent, as in its source."""


def list_doubts(result: ModelResult) -> tuple[str, ...]:
    """The ids of the rules that doubt the energy of a result."""
    return () if not result.doubts or keep_sound([result]) else result.doubts


@dataclass(frozen=True)
class _ModelKey:
    architecture: str
    tag: str | None
    size: int

    @classmethod
    def from_result(cls, result: ModelResult) -> "_ModelKey":
        return cls(result.architecture, result.tag, result.size)


@dataclass
class _Numbering:
    """Numbers values in the order of their first use."""

    values: list[list[int]] = field(default_factory=list)

    def number(self, value: list[int]) -> int:
        if value not in self.values:
            self.values.append(value)
        return self.values.index(value)


def group_by_setup(results: Iterable[ModelResult]) -> dict[Setup, list[ModelResult]]:
    """The results of each setup: measured setups first, then published, short and
    simulated ones. Of these, the setup with the most results comes first."""
    groups: dict[Setup, list[ModelResult]] = {}
    for result in results:
        groups.setdefault(result.setup, []).append(result)
    order = ("measured", "published", DEMO, SIMULATED)

    def key(group: tuple[Setup, list[ModelResult]]) -> tuple[int, int]:
        setup, results = group
        return order.index(setup.provenance), -len(results)

    return dict(sorted(groups.items(), key=key))


def build_dataset(groups: Mapping[Setup, Sequence[ModelResult]]) -> Json:
    """The dataset of the page. Numbers are rounded to `_DIGITS` significant digits."""
    by_key = {_ModelKey.from_result(r): r for group in groups.values() for r in reversed(group)}
    keys = sorted(by_key, key=lambda key: (key.architecture, key.tag or "", key.size))
    places = {key: place for place, key in enumerate(keys)}
    models = [by_key[key] for key in keys]
    image_sets = sorted({name for model in models for name in model.accuracy_pct})
    # The set that accuracies refer to by default comes first.
    image_sets.sort(key=lambda name: name != "imagenet")
    # Only studies of models that timm does not have need the class `unknown`.
    has_unknown = any(model.model_class == UNKNOWN_CLASS for model in models)
    classes = (*MODEL_CLASSES, UNKNOWN_CLASS) if has_unknown else MODEL_CLASSES
    ladders = _Numbering()
    return {
        "classes": classes,
        "image_sets": image_sets,
        "models": {
            "architecture": [model.architecture for model in models],
            "tag": [model.tag for model in models],
            "size": [model.size for model in models],
            "class": [classes.index(model.model_class) for model in models],
            "year": [_find_year(model) for model in models],
            "params": [_round(model.params) for model in models],
            "flops": [_round(model.flops) for model in models],
            "activations": [_round(model.activations) for model in models],
            "accuracy": [
                [_round_accuracy(model.accuracy_pct.get(name)) for model in models]
                for name in image_sets
            ],
        },
        "results": [
            _build_columns(group, [places[_ModelKey.from_result(r)] for r in group], ladders)
            for group in groups.values()
        ],
        "ladders": ladders.values,
    }


def _build_columns(
    results: Sequence[ModelResult], models: Sequence[int], ladders: _Numbering
) -> Json:
    bests = [result.best for result in results]
    intervals = [best.joules_ci95 or (None, None) for best in bests]
    columns: dict[str, Any] = {
        "model": models,
        "batch": [best.batch for best in bests],
        "images_per_s": [_round(best.images_per_s) for best in bests],
        "joules": [_round(best.joules_per_image) for best in bests],
        "joules_low": [_round(low) for low, _ in intervals],
        "joules_high": [_round(high) for _, high in intervals],
        "latency_s": [_round(best.latency_s) for best in bests],
        "max_batch": [result.max_batch for result in results],
        "doubts": {str(n): doubts for n, r in enumerate(results) if (doubts := list_doubts(r))},
        "quotes": {str(n): r.quotes for n, r in enumerate(results) if list_doubts(r) and r.quotes},
        # Above the peak of the precision that the publication states.
        "mislabelled": [n for n, r in enumerate(results) if THROUGHPUT_ABOVE_PEAK in r.doubts],
    }
    if any(len(result.batches) > 1 for result in results):
        columns |= {
            "ladder": [ladders.number([b.batch for b in r.batches]) for r in results],
            "ladder_images_per_s": [_round_all(r.batches, "images_per_s") for r in results],
            "ladder_joules": [_round_all(r.batches, "joules_per_image") for r in results],
        }
    # A column without a value would hold thousands of nulls.
    return {
        k: v
        for k, v in columns.items()
        if k in ("doubts", "mislabelled") or any(x is not None for x in v)
    }


def _find_year(model: ModelResult) -> int | None:
    publication = find_publication(model.architecture, model.tag, model.size)
    return publication.year if publication else None


def _round_all(batches: Sequence[BatchFigures], name: str) -> list[float | int | None]:
    return [_round(getattr(batch, name)) for batch in batches]


def _round(value: float | None) -> float | int | None:
    return None if value is None else round_significant(value, _DIGITS)


def _round_accuracy(value: float | None) -> float | None:
    return None if value is None else round(value, _ACCURACY_DECIMALS)
