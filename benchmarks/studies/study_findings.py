"""What studies of image models find, in figures, as Markdown tables.

    python benchmarks/studies/study_findings.py PATH…

A path is the bundle of a study, or a file of published figures such as
submissions/published/yang2025.json. The tables say where the least energy lies, how far batch size
1 is from it, what energy follows, ratios of engines and precisions, measured over naive energy,
accuracy by energy, and the drift of anchors, beside what the publication of Yang, Adámek and Armour
(2024) states. Figures seen are in docs/image-inference.md.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rules.bundle_format.files import Refused, read_files
from rules.bundle_format.study_load import read_study
from rules.bundle_format.study_records import STUDY_FILE
from rules.metrics.energy import MetricsError
from rules.studies.accuracy import read_shipped_table
from rules.studies.bundle import StudyBundle
from rules.studies.figures import (
    SetupFigures,
    SetupFront,
    compute_comparisons,
    compute_setup_figures,
    compute_setup_front,
    compute_study_figures,
    sort_setups,
)
from rules.studies.metrics.anchors import AnchorDrift
from rules.studies.metrics.comparisons import group_by_setup, merge_weights
from rules.studies.metrics.correlations import MODEL_SIZES
from rules.studies.metrics.estimates import Figure, GeometricMean, Interval, Median
from rules.studies.metrics.fits import Coefficient
from rules.studies.published import read_published_study
from rules.studies.results import ModelResult, Setup

PAPER = "stated by Yang et al."
ANCHOR_MODEL = "resnet50@224"
"""The model that every study measures."""
Cells = Sequence[str]


def read_results(path: Path) -> tuple[tuple[ModelResult, ...], tuple[AnchorDrift, ...]]:
    """Read the results and the anchors of a bundle, or the results of a published study. Ends the
    program with a message if that is not possible."""
    try:
        if path.is_file():
            return read_published_study(path).results, ()
        if not (path / STUDY_FILE).is_file():
            sys.exit(f"{path}: no {STUDY_FILE}; name the bundle of a study")
        evidence, _ = read_study(read_files(path))
        if evidence is None:
            sys.exit(f"{path}: the bundle cannot be read; bench-check {path} says why")
        figures = compute_study_figures(StudyBundle(path, (), evidence), read_shipped_table())
    except Refused:
        sys.exit(f"{path}: the file cannot be read; bench-check {path} says why")
    except (MetricsError, OSError) as error:
        sys.exit(f"{path}: {error}")
    return figures.results, figures.drifts


def render_findings(results: Iterable[ModelResult], drifts: Iterable[AnchorDrift]) -> str:
    """Return all tables."""
    groups = sort_setups(group_by_setup(tuple(results)))
    setups = [compute_setup_figures(group) for group in groups]
    fronts = [compute_setup_front(group) for group in groups]
    sections = [
        ("Where the least energy lies", _list_batches(setups)),
        (f"Batch sizes of {ANCHOR_MODEL}", _list_batch_sizes(groups)),
        ("What energy follows", _list_fits(setups)),
        ("Correlation of energy with sizes of models", _list_correlations(setups)),
        ("One setup over another", _list_ratios(groups)),
        ("Measured over naive energy", _list_naive(setups)),
        ("Highest accuracy by energy", _list_decades(fronts)),
        ("Least energy by accuracy", _list_levels(fronts)),
        ("Anchors", _list_drifts(drifts)),
    ]
    return "\n\n".join(
        f"## {title}\n\n{render_table(rows)}" for title, rows in sections if len(rows) > 1
    )


def render_table(rows: Sequence[Cells]) -> str:
    """Return rows as a Markdown table. The first row is the header."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def _list_batches(setups: Sequence[SetupFigures]) -> list[Cells]:
    rows: list[Cells] = [
        (
            "setup",
            "models",
            "batch size of least energy, median",
            "W there, median",
            "share of the cap",
            "models at their largest batch size",
            "images/s there over the highest",
            "J/image at batch size 1 over the least",
        )
    ]
    for figures in setups:
        batches = figures.batches
        if batches is not None:
            rows.append(
                (
                    _name(figures.setup),
                    str(figures.models),
                    _format(batches.best_batch),
                    _format(batches.best_power_w),
                    _format(batches.best_share_of_cap),
                    f"{batches.best_is_largest_share:.0%}",
                    _format(batches.throughput_share),
                    _format(batches.batch_one_energy_ratio),
                )
            )
    return rows


def _list_batch_sizes(groups: Sequence[Sequence[ModelResult]]) -> list[Cells]:
    rows: list[Cells] = [
        ("setup", "batch", "images/s", "W", "mJ/image", "energy over the least", "ms a batch")
    ]
    for group in groups:
        for result in group:
            if f"{result.architecture}@{result.size}" != ANCHOR_MODEL or not result.batches:
                continue
            least_j = min(figures.joules_per_image for figures in result.batches)
            rows += (
                (
                    _name(result.setup),
                    str(figures.batch),
                    f"{figures.images_per_s:.0f}",
                    f"{figures.mean_power_w:.0f}",
                    f"{1e3 * figures.joules_per_image:.2f}",
                    f"{figures.joules_per_image / least_j:.3f}",
                    "none" if figures.latency_s is None else f"{1e3 * figures.latency_s:.2f}",
                )
                for figures in result.batches
            )
    return rows


def _list_fits(setups: Sequence[SetupFigures]) -> list[Cells]:
    rows: list[Cells] = [
        (
            "setup",
            "models",
            "exponent of activations",
            "exponent of FLOPs",
            "R²",
            "exponent of the side of the image, median",
            "models of several sizes",
        )
    ]
    for figures in setups:
        fit, exponent = figures.fit, figures.size_exponent
        rows.append(
            (
                _name(figures.setup),
                str(fit.n) if fit else "none",
                _format(fit and fit.activations),
                _format(fit and fit.flops),
                f"{fit.r2:.2f}" if fit else "none",
                _format(exponent),
                str(exponent.n) if exponent else "0",
            )
        )
    return rows


def _list_correlations(setups: Sequence[SetupFigures]) -> list[Cells]:
    rows: list[Cells] = [("setup", "with", "models", "Pearson", "of logarithms", "Spearman")]
    for figures in setups:
        for name in MODEL_SIZES:
            correlation = figures.correlations[name]
            if correlation is not None:
                coefficients = (
                    correlation.pearson,
                    correlation.log_pearson,
                    correlation.spearman,
                )
                rows.append(
                    (
                        _name(figures.setup),
                        name,
                        str(correlation.n),
                        *(_format(coefficient) for coefficient in coefficients),
                    )
                )
    rows += [
        (PAPER, "params", "", "0.6572", "", ""),
        (PAPER, "flops", "", "0.8683", "", ""),
        (PAPER, "activations", "", "0.8999", "", ""),
    ]
    return rows


def _list_ratios(groups: Sequence[Sequence[ModelResult]]) -> list[Cells]:
    rows: list[Cells] = [
        (
            "setup",
            "over",
            "models",
            "J/image",
            "geometric sd",
            "images/s",
            "difference of energy, median",
        )
    ]
    # Weights do not matter for energy, and measured results have none.
    for comparison in compute_comparisons([merge_weights(group) for group in groups]):
        ratio = comparison.energy_ratio
        rows.append(
            (
                _name(comparison.numerator),
                _name(comparison.denominator),
                str(ratio.n),
                _format(ratio),
                f"{ratio.sd:.3f}" if ratio.sd else "none",
                _format(comparison.throughput_ratio),
                f"{100 * comparison.energy_difference.value:.2f} %",
            )
        )
    rows += [
        ("PyTorch on A100", "TensorRT, " + PAPER, "", "3.89", "1.53", "", ""),
        ("PyTorch on H100", "TensorRT, " + PAPER, "", "4.02", "1.55", "", ""),
    ]
    return rows


def _list_naive(setups: Sequence[SetupFigures]) -> list[Cells]:
    rows: list[Cells] = [("setup", "models", "numerator", "denominator", "factor", "least to most")]
    for figures in setups:
        for naive in figures.naive:
            rows.append(
                (
                    _name(figures.setup),
                    str(naive.factor.n),
                    naive.numerator,
                    naive.denominator,
                    _format(naive.factor),
                    f"{naive.smallest:.3g} to {naive.largest:.3g}",
                )
            )
    return rows


def _list_decades(fronts: Sequence[SetupFront]) -> list[Cells]:
    rows: list[Cells] = [("setup", "least energy", "up to mJ/image", "accuracy", "95 % interval")]
    for front in fronts:
        for decade in front.decades:
            rows.append(
                (
                    _name(front.setup),
                    f"x {decade.factor:g}",
                    f"{1e3 * decade.limit_joules:.3g}",
                    f"{decade.accuracy_pct:.1f} %",
                    _format_interval(decade.ci95),
                )
            )
    rows += [
        (PAPER, f"x {factor}", "", f"{accuracy_pct} %", "")
        for factor, accuracy_pct in ((1, 40), (10, 80), (100, 87), (1000, 90))
    ]
    return rows


def _list_levels(fronts: Sequence[SetupFront]) -> list[Cells]:
    rows: list[Cells] = [("setup", "accuracy from", "mJ/image", "95 % interval", "model", "px")]
    for front in fronts:
        for level in front.levels:
            interval = level.joules_ci95 and (
                1e3 * level.joules_ci95[0],
                1e3 * level.joules_ci95[1],
            )
            rows.append(
                (
                    _name(front.setup),
                    f"{level.accuracy_pct:g} %",
                    f"{1e3 * level.result.best.joules_per_image:.3g}",
                    _format_interval(interval),
                    level.result.architecture,
                    str(level.result.size),
                )
            )
    return rows


def _list_drifts(drifts: Iterable[AnchorDrift]) -> list[Cells]:
    return [
        ("session", "accelerator", "anchors", "drift"),
        *(
            (
                str(drift.session),
                drift.accelerator,
                str(len(drift.joules_per_image)),
                f"{100 * drift.drift:+.2f} %",
            )
            for drift in drifts
        ),
    ]


def _name(setup: Setup) -> str:
    cap = "" if setup.cap_w is None else f" {setup.cap_w:g} W"
    return f"{setup.source}: {setup.board}, {setup.engine} {setup.precision}{cap}"


def _format(figure: Median | GeometricMean | Coefficient | Figure | None) -> str:
    if figure is None:
        return "none"
    interval = f" ({_format_interval(figure.ci95)})" if figure.ci95 else ""
    return f"{figure.value:.3g}{interval}"


def _format_interval(interval: Interval | None) -> str:
    return "none" if interval is None else f"{interval[0]:.3g} to {interval[1]:.3g}"


def main(paths: Sequence[str]) -> None:
    if not paths:
        sys.exit("expected the bundle of a study, or a file of published figures")
    results: list[ModelResult] = []
    drifts: list[AnchorDrift] = []
    for path in paths:
        path_results, path_drifts = read_results(Path(path))
        results += path_results
        drifts += path_drifts
    print(render_findings(results, drifts))


if __name__ == "__main__":
    main(sys.argv[1:])
