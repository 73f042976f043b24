"""All figures of a study: results of models, drift of anchors, figures of setups and their
comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from rules.metrics.energy import MetricsError
from rules.studies.accuracy import AccuracyTable
from rules.studies.bundle import StudyBundle
from rules.studies.metrics.anchors import AnchorDrift, compute_drifts
from rules.studies.metrics.batches import BatchFindings, find_batch_findings
from rules.studies.metrics.comparisons import SetupComparison, compare_setups, group_by_setup
from rules.studies.metrics.correlations import (
    MODEL_SIZES,
    Correlation,
    ModelSize,
    correlate_with_size,
)
from rules.studies.metrics.estimates import Median
from rules.studies.metrics.fits import EnergyFit, fit_energy, fit_size_exponent
from rules.studies.metrics.fronts import (
    ClassCentre,
    Decade,
    Level,
    compute_centres,
    compute_decades,
    compute_levels,
    find_front,
)
from rules.studies.metrics.models import BoardInSession, compute_results
from rules.studies.metrics.naive import NaiveComparison, choose_estimates, compare_with_naive
from rules.studies.metrics.points import SessionBoard
from rules.studies.plausibility import THROUGHPUT_ABOVE_PEAK
from rules.studies.results import ModelResult, Setup

MAX_SETUPS = 64
"""The most setups of a study: each two are compared."""


@dataclass(frozen=True)
class SetupFigures:
    """What the energies of the models of a setup say. Doubtful results are left out."""

    setup: Setup
    models: int
    doubtful: int
    """How many results are left out."""
    fit: EnergyFit | None
    size_exponent: Median | None
    correlations: Mapping[ModelSize, Correlation | None]
    """Of energy with a size of the model."""
    batches: BatchFindings | None
    naive: tuple[NaiveComparison, ...]
    """One for each peak of the precision."""


@dataclass(frozen=True)
class SetupFront:
    """Energy against the published accuracy on ImageNet of the models of a setup. Doubtful results
    are left out."""

    setup: Setup
    front: tuple[ModelResult, ...]
    levels: tuple[Level, ...]
    decades: tuple[Decade, ...]
    centres: tuple[ClassCentre, ...]


@dataclass(frozen=True)
class StudyFigures:
    """All figures of a study. Setups and comparisons are in the order of board, engine, precision
    and cap, whatever the order of the study."""

    results: tuple[ModelResult, ...]
    drifts: tuple[AnchorDrift, ...]
    setups: tuple[SetupFigures, ...]
    comparisons: tuple[SetupComparison, ...]
    fronts: tuple[SetupFront, ...]
    """The only figures that depend on published accuracies."""


def compute_study_figures(bundle: StudyBundle, accuracies: AccuracyTable) -> StudyFigures:
    """Compute the figures of a study from its tables. Raises MetricsError where the evidence does
    not allow it."""
    if bundle.point_figures is None:
        raise MetricsError(bundle.point_figures_error)
    points, figures = bundle.point_table, bundle.point_figures
    results = compute_results(points, figures, _list_boards(bundle), accuracies)
    groups = sort_setups(group_by_setup(results))
    if len(groups) > MAX_SETUPS:
        raise MetricsError(
            f"the points have {len(groups)} setups; at most {MAX_SETUPS} are compared"
        )
    return StudyFigures(
        results=results,
        drifts=compute_drifts(points, figures),
        setups=tuple(compute_setup_figures(members) for members in groups),
        comparisons=compute_comparisons(groups),
        fronts=tuple(compute_setup_front(members) for members in groups),
    )


def _list_boards(bundle: StudyBundle) -> dict[SessionBoard, BoardInSession]:
    """The accelerators of all sessions."""
    study_id = bundle.declaration.study_id
    boards: dict[SessionBoard, BoardInSession] = {}
    for session in bundle.sessions:
        for uuid in session.accelerators:
            board = bundle.accelerators[session.node, uuid]
            boards[session.session, uuid] = BoardInSession(
                source=study_id,
                provenance="simulated" if board.is_simulated else "measured",
                board=board.name,
                cap_w=session.power.cap_w,
            )
    return boards


def sort_setups(
    groups: Mapping[Setup, Sequence[ModelResult]],
) -> tuple[tuple[ModelResult, ...], ...]:
    """The results of each setup, in the order of board, engine, precision and cap."""

    def key(setup: Setup) -> tuple[str, str, str, str, float]:
        return setup.source, setup.board, setup.engine, setup.precision, setup.cap_w or 0.0

    return tuple(tuple(groups[setup]) for setup in sorted(groups, key=key))


def compute_setup_figures(results: Sequence[ModelResult]) -> SetupFigures:
    """The figures of a setup that do not depend on accuracies, from all its results, of which there
    is at least one."""
    sound = keep_sound(results)
    naive = [compare_with_naive(sound, e) for e in choose_estimates(results[0].setup)]
    return SetupFigures(
        setup=results[0].setup,
        models=len(sound),
        doubtful=len(results) - len(sound),
        fit=fit_energy(sound),
        size_exponent=fit_size_exponent(sound),
        correlations={name: correlate_with_size(sound, name) for name in MODEL_SIZES},
        batches=find_batch_findings(sound),
        naive=tuple(comparison for comparison in naive if comparison),
    )


def compute_setup_front(results: Sequence[ModelResult]) -> SetupFront:
    """Front and tables of a setup, from all its results, of which there is at least one."""
    sound = keep_sound(results)
    return SetupFront(
        setup=results[0].setup,
        front=find_front(sound),
        levels=compute_levels(sound),
        decades=compute_decades(sound),
        centres=compute_centres(sound),
    )


def compute_comparisons(groups: Sequence[Sequence[ModelResult]]) -> tuple[SetupComparison, ...]:
    """Compare each two setups that have models in common, without doubtful results."""
    sound = [keep_sound(results) for results in groups]
    pairs = (compare_setups(*pair) for pair in combinations(sound, 2))
    return tuple(comparison for comparison in pairs if comparison is not None)


def keep_sound(results: Sequence[ModelResult]) -> tuple[ModelResult, ...]:
    """The results whose energy no rule doubts. A throughput above the peak of the precision that a
    publication states doubts that precision, and not the energy."""
    return tuple(
        result
        for result in results
        if not result.doubts
        or (result.doubts == (THROUGHPUT_ABOVE_PEAK,) and result.setup.claimed_precision)
    )
