"""The figures of a published study of trends, recomputed from its rows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

import numpy as np

from rules.studies.metrics.correlations import Correlation, correlate
from rules.studies.trends.estimators import TrendEstimate
from rules.studies.trends.records import LanguageModel, PublishedBoard, TrendsStudy, VisionModel
from rules.studies.trends.regressions import TrendLine, fit_line

Domain = Literal["CV", "NLP"]
_ADAPTED = {"CV": ("No", "For CNN"), "NLP": ("No", "For NLP")}


@dataclass(frozen=True)
class DatedModel:
    """A model with its GFLOPs and its energy by the trend of boards at its release."""

    model: VisionModel | LanguageModel
    released: date
    gflops: float
    joules: float


@dataclass(frozen=True)
class TrendFigures:
    """Everything that is computed from a study of trends. A line or correlation is None if too few
    rows are known."""

    cv_efficiency: TrendLine | None
    nlp_efficiency: TrendLine | None
    cv_models: tuple[DatedModel, ...]
    """Complete rows, in the order of the study."""
    cv_best: tuple[DatedModel, ...]
    """The most accurate model of each year."""
    nlp_models: tuple[DatedModel, ...]
    nlp_records: tuple[DatedModel, ...]
    """Models with more GFLOPs than all before."""
    model_lines: tuple[TrendLine, ...]
    """GFLOPs and joules over time, of all models and of the best."""
    params_correlations: tuple[tuple[str, Correlation], ...]
    """Parameters against GFLOPs, by architecture."""
    front: tuple[VisionModel, ...]
    """No other model is more accurate with fewer GFLOPs. By rising GFLOPs."""

    @property
    def lines(self) -> tuple[TrendLine, ...]:
        """All regressions."""
        efficiencies = (self.cv_efficiency, self.nlp_efficiency)
        return (*(line for line in efficiencies if line), *self.model_lines)

    def get_efficiency(self, domain: Domain) -> TrendLine | None:
        """The efficiency of boards for models of a domain."""
        return self.cv_efficiency if domain == "CV" else self.nlp_efficiency

    def find_line(self, id: str) -> TrendLine | None:
        """The line with this id; None if too few rows are known for it."""
        return next((line for line in self.lines if line.id == id), None)


def select_fitted_boards(study: TrendsStudy, domain: Domain) -> list[PublishedBoard]:
    """The rows that the efficiency of a domain is fitted to."""
    return [b for b in study.boards if b.table == "J.9" and b.adapted in _ADAPTED[domain]]


def compute_trends(study: TrendsStudy) -> TrendFigures:
    """Compute the figures of a study."""
    cv_line, nlp_line = (_fit_efficiency(study, domain) for domain in ("CV", "NLP"))
    cv_models = _date_models((m for m in study.vision_models if m.is_complete), cv_line)
    nlp_models = _date_models(study.language_models, nlp_line)
    cv_best, nlp_records = _find_best_of_years(cv_models), _find_records(nlp_models)
    groups = (
        ("cv-all", "vision models", cv_models),
        ("cv-best", "most accurate vision model of each year", cv_best),
        ("nlp-all", "language models", nlp_models),
        ("nlp-records", "language models with more FLOPs than all before", nlp_records),
    )
    correlations = (
        (name, _correlate_params(study.vision_models, name)) for name in ("CNN", "Transformer")
    )
    return TrendFigures(
        cv_efficiency=cv_line,
        nlp_efficiency=nlp_line,
        cv_models=cv_models,
        cv_best=cv_best,
        nlp_models=nlp_models,
        nlp_records=nlp_records,
        model_lines=tuple(line for group in groups for line in _fit_models(*group)),
        params_correlations=tuple((name, c) for name, c in correlations if c is not None),
        front=_find_front(study.vision_models),
    )


def _fit_efficiency(study: TrendsStudy, domain: Domain) -> TrendLine | None:
    points = [(b.launched, b.gflops_per_w) for b in select_fitted_boards(study, domain)]
    name = f"efficiency of boards for {'vision' if domain == 'CV' else 'language'} models"
    return fit_line(f"{domain.lower()}-efficiency", name, "efficiency", "GFLOP/s per W", points)


def _date_models(
    models: Iterable[VisionModel | LanguageModel], efficiency: TrendLine | None
) -> tuple[DatedModel, ...]:
    """The models with the energy that boards of their release date take by the trend."""
    if efficiency is None:
        return ()
    return tuple(
        DatedModel(
            m, m.released, m.gflops, TrendEstimate(efficiency, m.released).compute_joules(m.gflops)
        )
        for m in models
        if m.released is not None and m.gflops is not None
    )


def _fit_models(id: str, name: str, models: Sequence[DatedModel]) -> Iterable[TrendLine]:
    read: tuple[tuple[str, str, str, Callable[[DatedModel], float]], ...] = (
        ("gflops", "FLOPs of an inference", "GFLOP", lambda m: m.gflops),
        ("joules", "energy of an inference", "J", lambda m: m.joules),
    )
    for key, quantity, unit, get_value in read:
        points = [(m.released, get_value(m)) for m in models]
        line = fit_line(f"{id}-{key}", f"{quantity}: {name}", quantity, unit, points)
        if line is not None:
            yield line


def _find_best_of_years(models: Sequence[DatedModel]) -> tuple[DatedModel, ...]:
    best: dict[int, DatedModel] = {}
    for model in models:
        holder = best.get(model.released.year)
        if holder is None or _get_accuracy(model) > _get_accuracy(holder):
            best[model.released.year] = model
    return tuple(model for _, model in sorted(best.items()))


def _get_accuracy(model: DatedModel) -> float:
    assert isinstance(model.model, VisionModel) and model.model.accuracy_pct is not None
    return model.model.accuracy_pct


def _find_records(models: Sequence[DatedModel]) -> tuple[DatedModel, ...]:
    records: list[DatedModel] = []
    # Of models of one day, only the largest can hold the record.
    for model in sorted(models, key=lambda m: (m.released, -m.gflops)):
        if not records or model.gflops > records[-1].gflops:
            records.append(model)
    return tuple(records)


def _correlate_params(models: Sequence[VisionModel], architecture: str) -> Correlation | None:
    pairs = [
        (m.params_m, m.gflops)
        for m in models
        if m.architecture == architecture and m.params_m is not None and m.gflops is not None
    ]
    params_m, gflops = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return correlate(params_m, gflops)


def _find_front(models: Sequence[VisionModel]) -> tuple[VisionModel, ...]:
    known = [
        (m.gflops, m.accuracy_pct, m)
        for m in models
        if m.gflops is not None and m.accuracy_pct is not None
    ]
    front = [
        (gflops, accuracy_pct, model)
        for gflops, accuracy_pct, model in known
        if not any(fewer < gflops and higher > accuracy_pct for fewer, higher, _ in known)
    ]
    return tuple(model for _, _, model in sorted(front, key=lambda point: point[:2]))
