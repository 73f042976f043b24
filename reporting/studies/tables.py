"""The tables of the page of studies: what does not depend on the choices of a reader."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from reporting.report_table import Column, ReportTable
from reporting.sections.cells import BundleLink, Cells, describe_evidence
from reporting.studies.dataset import list_doubts
from reporting.studies.labels import CLASS_NAMES, find_setup_look, label_setup
from reporting.studies.paper_tables import build_ladder_table, build_year_table
from reporting.study_record import (
    NOT_COMPARED,
    SIMULATED,
    BundleOrigin,
    PublicationOrigin,
    StudyRecord,
)
from rules.studies.figures import (
    SetupFigures,
    SetupFront,
    keep_sound,
)
from rules.studies.metrics.comparisons import compare_setups
from rules.studies.metrics.correlations import MODEL_SIZES
from rules.studies.metrics.estimates import Figure, GeometricMean, Median
from rules.studies.metrics.fits import Coefficient
from rules.studies.metrics.fronts import mean_accuracy_pct
from rules.studies.results import ModelResult, Setup

Groups = Mapping[Setup, Sequence[ModelResult]]
"""The results of each setup."""

_ID = "image-inference"
_SETUP = Column("setup", "setup")
_COUNT = Column("n", "models", form="count")


def build_tables(
    groups: Groups, figures: Sequence[SetupFigures], fronts: Sequence[SetupFront]
) -> dict[str, ReportTable]:
    """The tables that are not empty, by the name of their place on the page. `figures` and `fronts`
    are those of each setup."""
    tables = (
        _build_front_table(fronts),
        _build_decade_table(fronts),
        _build_level_table(fronts),
        _build_fit_table(figures),
        _build_pixel_table(figures),
        _build_naive_table(figures),
        _build_batch_table(figures),
        build_ladder_table(groups),
        build_year_table(groups),
        _build_pair_table(groups),
    )
    return {table.id.removeprefix(f"{_ID}-"): table for table in tables if table.rows}


def build_setup_table(
    groups: Groups, studies: Sequence[StudyRecord], link: BundleLink
) -> ReportTable:
    """The setups with their numbers of results, and links to their evidence."""
    columns = (
        _SETUP,
        Column("provenance", "provenance"),
        Column("results", "results", form="count"),
        Column("doubtful", "doubtful", form="count"),
        Column("largest_mj", "N: largest energy", "mJ/image", form="number"),
        Column("trust", "trust"),
        Column("origin", "evidence", form="evidence"),
        Column("url", "link", hidden=True),
    )
    origins = {result.setup: study.origin for study in studies for result in study.results}
    rows = []
    for setup, results in groups.items():
        energies_j = [result.best.joules_per_image for result in results if not list_doubts(result)]
        rows.append(
            {
                "setup": label_setup(setup),
                "provenance": setup.provenance,
                "results": len(results),
                "doubtful": sum(bool(list_doubts(result)) for result in results),
                "largest_mj": max(energies_j) * 1e3 if energies_j else None,
                **_describe_origin(origins[setup], link),
            }
        )
    return ReportTable(f"{_ID}-setups", "Setups", columns, tuple(rows))


def _describe_origin(origin: BundleOrigin | PublicationOrigin, link: BundleLink) -> Cells:
    if isinstance(origin, PublicationOrigin):
        return {"origin": origin.citation, "url": origin.url}
    evidence = describe_evidence(origin.signer, origin.trust_level, origin.findings)
    return {"trust": origin.trust_level, "origin": evidence, "url": link(origin.path)}


def _build_front_table(fronts: Sequence[SetupFront]) -> ReportTable:
    columns = (
        _SETUP,
        Column("architecture", "model"),
        Column("size", "size", "px", form="count"),
        Column("model_class", "class"),
        Column("accuracy_percent", "accuracy", "%", form="number", about="published top-1"),
        Column("energy_mj", "energy", "mJ/image", form="number", interval=True),
        Column("images_per_s", "rate", "images/s", form="number"),
        Column("latency_ms", "latency", "ms", form="number"),
        Column("batch", "batch", form="count"),
        Column("power_w", "power", "W", form="number"),
        # These select hue, shape and line in the chart.
        Column("line", "line", hidden=True),
        Column("model", "board", hidden=True),
        Column("variant", "engine", hidden=True),
        Column("precision", "precision", hidden=True),
        Column("provenance", "provenance", hidden=True),
        Column("standing", "standing", hidden=True),
        Column("withheld", "not compared", hidden=True),
    )
    rows = [
        {
            "setup": label_setup(front.setup),
            "architecture": ".".join(filter(None, (result.architecture, result.tag))),
            "size": result.size,
            "model_class": CLASS_NAMES[result.model_class],
            "accuracy_percent": mean_accuracy_pct(result),
            **_cell("energy_mj", _in_mj(result.best.joules_per_image, result.best.joules_ci95)),
            "images_per_s": result.best.images_per_s,
            "latency_ms": None if result.best.latency_s is None else result.best.latency_s * 1e3,
            "batch": result.best.batch,
            "power_w": result.best.mean_power_w,
            "line": label_setup(front.setup),
            "model": look.board,
            "variant": front.setup.engine,
            "precision": front.setup.precision,
            "provenance": look.provenance,
            "standing": front.setup.provenance,
            "withheld": front.setup.provenance if look.provenance == SIMULATED else None,
        }
        for front, look in ((front, find_setup_look(front.setup)) for front in fronts)
        for result in front.front
    ]
    about = (
        "No other model of the setup is at least as accurate with less energy. Doubtful results "
        "are left out."
    )
    return ReportTable(f"{_ID}-front", "Pareto fronts", columns, tuple(rows), about)


def _build_decade_table(fronts: Sequence[SetupFront]) -> ReportTable:
    most = max(len(front.decades) for front in fronts)
    columns = (
        _SETUP,
        Column("least_mj", "least energy", "mJ/image", form="number"),
        *(
            Column(
                f"within_{10**n}",
                f"within {10**n} times the least energy" if n else "at the least energy",
                "%",
                form="number",
                interval=True,
            )
            for n in range(most)
        ),
    )
    rows: list[Cells] = []
    for front in fronts:
        if front.decades:
            least_mj = front.decades[0].limit_joules * 1e3
            row: Cells = {"setup": label_setup(front.setup), "least_mj": least_mj}
            for n, decade in enumerate(front.decades):
                row |= _cell(f"within_{10**n}", Figure(decade.accuracy_pct, decade.ci95))
            rows.append(row)
    about = (
        "The highest published accuracy within a multiple of the least energy of the setup. "
        "Intervals: 95 %, by a bootstrap over architectures. Doubtful results are left out."
    )
    title = "Accuracy that each decade of energy buys"
    return ReportTable(f"{_ID}-decades", title, columns, tuple(rows), about)


def _build_level_table(fronts: Sequence[SetupFront]) -> ReportTable:
    columns = (
        _SETUP,
        Column("level_percent", "accuracy at least", "%", form="count"),
        Column("energy_mj", "least energy", "mJ/image", form="number", interval=True),
        Column("architecture", "model"),
        Column("size", "size", "px", form="count"),
    )
    rows = [
        {
            "setup": label_setup(front.setup),
            "level_percent": level.accuracy_pct,
            **_cell("energy_mj", _in_mj(level.result.best.joules_per_image, level.joules_ci95)),
            "architecture": ".".join(filter(None, (level.result.architecture, level.result.tag))),
            "size": level.result.size,
        }
        for front in fronts
        for level in front.levels
    ]
    about = (
        "Intervals: 95 %, by a bootstrap over architectures. They tell how far the least energy "
        "depends on which models were measured. Doubtful results are left out."
    )
    title = "Energy that each accuracy takes"
    return ReportTable(f"{_ID}-levels", title, columns, tuple(rows), about)


def _build_fit_table(figures: Sequence[SetupFigures]) -> ReportTable:
    columns = (
        _SETUP,
        _COUNT,
        Column("activations", "exponent of activations", form="number", digits=3, interval=True),
        Column("flops", "exponent of FLOPs", form="number", digits=3, interval=True),
        Column("intercept", "intercept", form="number", interval=True, hidden=True),
        *(
            Column(f"{key}_error", f"standard error of {title}", form="number", hidden=True)
            for key, title in (
                ("activations", "exponent of activations"),
                ("flops", "exponent of FLOPs"),
                ("intercept", "intercept"),
            )
        ),
        Column("r2", "R²", form="number", digits=3),
        *(
            Column(f"r_{name}", f"r with {label}", form="number", digits=3, interval=True)
            for name, label in zip(MODEL_SIZES, ("parameters", "FLOPs", "activations"), strict=True)
        ),
    )
    rows = []
    for setup_figures in figures:
        row: Cells = {"setup": label_setup(setup_figures.setup)}
        if (fit := setup_figures.fit) is not None:
            row |= {"n": fit.n, "r2": fit.r2}
            for name, coefficient in (
                ("activations", fit.activations),
                ("flops", fit.flops),
                ("intercept", fit.intercept),
            ):
                row |= _cell(name, coefficient) | {f"{name}_error": coefficient.standard_error}
        for name, correlation in setup_figures.correlations.items():
            if correlation is not None:
                row |= _cell(f"r_{name}", correlation.log_pearson)
        rows.append(row)
    about = (
        "Fit: log E = a + b log activations + c log FLOPs, by least squares. r: correlation of the "
        "logarithms. Intervals: 95 %. Doubtful results are left out. Downloads have the intercept "
        "a and the standard errors too."
    )
    title = "Energy against activations and FLOPs"
    return ReportTable(f"{_ID}-fits", title, columns, tuple(rows), about)


def _build_pixel_table(figures: Sequence[SetupFigures]) -> ReportTable:
    columns = (_SETUP, _COUNT, Column("slope", "slope", form="number", digits=3, interval=True))
    rows = [
        {"setup": label_setup(f.setup), "n": slope.n, **_cell("slope", slope)}
        for f in figures
        if (slope := f.size_exponent) is not None
    ]
    about = (
        "Slope of log E over log side, the median over models that were measured at several sizes. "
        "A slope of 2 means that energy is proportional to pixels."
    )
    return ReportTable(f"{_ID}-pixels", "Energy and input size", columns, tuple(rows), about)


def _build_naive_table(figures: Sequence[SetupFigures]) -> ReportTable:
    columns = (
        _SETUP,
        _COUNT,
        Column("factor", "factor", form="number", digits=3, interval=True),
        Column("sd", "geometric sd", form="number", digits=3),
        Column("smallest", "smallest", form="number", digits=3),
        Column("largest", "largest", form="number", digits=3),
        Column("numerator", "numerator"),
        Column("denominator", "denominator"),
    )
    rows = [
        {
            "setup": label_setup(setup_figures.setup),
            "n": comparison.factor.n,
            **_cell("factor", comparison.factor),
            "sd": comparison.factor.sd,
            "smallest": comparison.smallest,
            "largest": comparison.largest,
            "numerator": comparison.numerator,
            "denominator": comparison.denominator,
        }
        for setup_figures in figures
        for comparison in setup_figures.naive
    ]
    about = "Factor: geometric mean over models, with its 95 % interval."
    title = "Measured energy over a naive estimate"
    return ReportTable(f"{_ID}-naive", title, columns, tuple(rows), about)


def _build_batch_table(figures: Sequence[SetupFigures]) -> ReportTable:
    columns = (
        _SETUP,
        _COUNT,
        Column("best_batch", "best batch", form="count", interval=True, about="median"),
        Column("best_power_w", "power there", "W", form="number", digits=3, interval=True),
        Column("share_of_cap", "share of the cap", form="number", digits=3, interval=True),
        Column("is_largest", "best is the largest", "% of models", form="number", digits=3),
        Column("throughput_share", "throughput over highest", form="number", digits=3),
        Column("batch_one", "energy at batch 1 over least", form="number", digits=3, interval=True),
    )
    rows: list[Cells] = []
    for setup_figures in figures:
        # A publication may have one batch size for each model, which says nothing about others.
        if (batches := setup_figures.batches) is None or batches.batch_one_energy_ratio is None:
            continue
        row: Cells = {"setup": label_setup(setup_figures.setup), "n": setup_figures.models}
        row |= _cell("best_batch", batches.best_batch) | _cell("best_power_w", batches.best_power_w)
        if batches.best_share_of_cap is not None:
            row |= _cell("share_of_cap", batches.best_share_of_cap)
        row |= {"is_largest": 100 * batches.best_is_largest_share}
        row |= {"throughput_share": batches.throughput_share.value}
        rows.append(row | _cell("batch_one", batches.batch_one_energy_ratio))
    about = (
        "Batch and power at the least energy: medians over models. Ratios: geometric means over "
        "models. Intervals: 95 %."
    )
    return ReportTable(f"{_ID}-batches", "Where the least energy lies", columns, tuple(rows), about)


def _build_pair_table(groups: Groups) -> ReportTable:
    columns = (
        Column("setup", "setup"),
        Column("other", "compared with"),
        _COUNT,
        Column("energy_ratio", "energy ratio", form="number", interval=True),
        Column("energy_sd", "geometric sd", form="number"),
        Column("throughput_ratio", "throughput ratio", form="number", interval=True),
        Column("r", "r", form="number", interval=True, about="of energies, as Yang et al."),
        Column("r_log", "r of logarithms", form="number", interval=True),
        Column("rho", "rank correlation", form="number", interval=True),
    )
    about = (
        "Ratios: geometric means over the models that both setups have, with 95 % intervals. "
        "A study measures seeded weights. It is compared with one published result for each "
        "architecture and input size."
    )
    rows = tuple(_compare_pairs(groups))
    return ReportTable(f"{_ID}-pairs", "Setups compared", columns, rows, about)


def may_be_compared(provenance: str, other: str) -> bool:
    """Whether results of these provenances are compared: simulated and demo ones only with their
    like."""
    return provenance == other or not {provenance, other} & NOT_COMPARED


def _compare_pairs(groups: Groups) -> Iterator[Cells]:
    sound = {setup: keep_sound(results) for setup, results in groups.items()}
    untagged = {setup: _drop_tags(results) for setup, results in sound.items()}
    for (setup, results), (other, others) in combinations(sound.items(), 2):
        if not may_be_compared(setup.provenance, other.provenance):
            continue
        pair: tuple[Sequence[ModelResult], Sequence[ModelResult]] = others, results
        if setup.provenance != other.provenance:
            pair = untagged[other], untagged[setup]
        comparison = compare_setups(*pair)
        if comparison is None:
            continue
        row: Cells = {"setup": label_setup(other), "other": label_setup(setup)}
        row |= {"n": comparison.energy_ratio.n, "energy_sd": comparison.energy_ratio.sd}
        row |= _cell("energy_ratio", comparison.energy_ratio)
        row |= _cell("throughput_ratio", comparison.throughput_ratio)
        if (correlation := comparison.energy_correlation) is not None:
            row |= _cell("r", correlation.pearson)
            row |= _cell("r_log", correlation.log_pearson)
            row |= _cell("rho", correlation.spearman)
        yield row


def _drop_tags(results: Sequence[ModelResult]) -> list[ModelResult]:
    """The first result of each architecture and input size, without the name of its weights, which
    do not change the energy."""
    first: dict[tuple[str, int], ModelResult] = {}
    for result in results:
        first.setdefault((result.architecture, result.size), result)
    return [replace(result, tag=None) for result in first.values()]


def _in_mj(joules: float, ci95: tuple[float, float] | None) -> Figure:
    return Figure(joules * 1e3, ci95 and (ci95[0] * 1e3, ci95[1] * 1e3))


def _cell(key: str, figure: Figure | GeometricMean | Median | Coefficient) -> Cells:
    low, high = figure.ci95 or (None, None)
    return {key: figure.value, f"{key}_low": low, f"{key}_high": high}
