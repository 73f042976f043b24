"""The study of trends gives the figures of Desislavov et al., to the digit."""

import json
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from rules.studies.trends.checks import recompute_checks
from rules.studies.trends.estimators import HUMAN_POWER_W, TrendEstimate, compute_person_power_w
from rules.studies.trends.figures import TrendFigures, compute_trends, select_fitted_boards
from rules.studies.trends.reader import read_trends_study
from rules.studies.trends.records import TrendsStudy
from rules.studies.trends.regressions import TrendLine, count_years, fit_line

ROOT = Path(__file__).parents[3]
V100_DATE = date(2018, 3, 27)


@pytest.fixture(scope="module")
def study() -> TrendsStudy:
    return read_trends_study(ROOT / "submissions/published/desislavov2023/trends.json")


@pytest.fixture(scope="module")
def figures(study: TrendsStudy) -> TrendFigures:
    return compute_trends(study)


def _line(figures: TrendFigures, id: str) -> TrendLine:
    line = figures.find_line(id)
    assert line is not None
    return line


def _digits(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def test_study_has_every_row_with_its_status(study: TrendsStudy) -> None:
    assert len(study.boards) == 86 and len(study.vision_models) == 94
    assert (len(study.language_models), len(study.speedups)) == (19, 58)
    assert (len(study.energy_checks), len(study.edge_devices)) == (42, 44)
    years = {(row.subject, row.year, row.kind) for row in study.edge_devices}
    assert len(years) == 23 + 7 and all(year and kind for _, year, kind in years)
    assert {("Kneron", 2018, "Edge AI Accelerator"), ("Nvidia T4", 2018, "GPU")} <= years
    assert ("NVIDIA Orin (MaxQ, TensorRT)", 2022, "Edge system") in years
    statuses = Counter(model.status for model in study.vision_models)
    assert statuses == {"ok": 73, "glitch_fixed": 11, "doubtful": 8, "inferred": 2}
    assert Counter(board.status for board in study.boards) == {"ok": 84, "doubtful": 2}
    assert "arXiv:2109.05472" in study.source.license_text and study.source.commit is None


def test_rows_agree_with_each_other(study: TrendsStudy) -> None:
    for board in study.boards:
        assert 1e3 * board.tflops / board.tdp_w == pytest.approx(board.gflops_per_w, rel=6e-3)
    bases = {
        (s.task, s.model, s.framework, s.reference.split()[0]): s.throughput
        for s in study.speedups
        if s.precision == "FP32"
    }
    for s in study.speedups:
        base = bases[s.task, s.model, s.framework, s.reference.split()[0]]
        assert s.throughput / base == pytest.approx(s.speedup, abs=6e-3)


@pytest.mark.parametrize(
    ("id", "n", "intercept", "slope", "factor", "r2"),
    [
        ("cv-efficiency", 32, 0.8777, 0.1140, 1.300, 0.81),
        ("nlp-efficiency", 32, 0.8434, 0.1228, 1.327, 0.81),
        ("cv-all-gflops", 88, -0.0889, 0.15689, 1.44, 0.16),
        ("cv-best-gflops", 10, -0.6809, 0.36679, 2.33, 0.94),
        ("cv-all-joules", 88, -0.9666, 0.0429, 1.10, 0.01),
        ("cv-best-joules", 10, -1.559, 0.2528, 1.79, 0.88),
        ("nlp-records-gflops", 6, -9.0408, 1.3693, 23.4, 0.84),
        ("nlp-records-joules", 6, -9.8842, 1.2465, 17.6, 0.82),
    ],
)
def test_line_has_the_golden_values(
    id: str, n: int, intercept: float, slope: float, factor: float, r2: float, figures: TrendFigures
) -> None:
    line = _line(figures, id)
    decimals = [len(str(value).partition(".")[2]) for value in (intercept, slope, factor)]
    values = (line.intercept.value, line.slope.value, line.yearly_factor)
    assert line.n == n
    assert [round(v, d) for v, d in zip(values, decimals, strict=True)] == [
        intercept,
        slope,
        factor,
    ]
    assert round(line.r2, 2) == r2


def test_efficiency_at_a_date(figures: TrendFigures) -> None:
    for id, expected in (("cv-efficiency", 65.51), ("nlp-efficiency", 71.48)):
        assert round(TrendEstimate(_line(figures, id), V100_DATE).gflops_per_w, 2) == expected


def test_energy_of_all_vision_models_has_no_trend(figures: TrendFigures) -> None:
    assert not _line(figures, "cv-all-joules").is_trend
    assert _line(figures, "cv-best-joules").is_trend


def test_best_models_of_the_years(figures: TrendFigures) -> None:
    assert [best.model.model for best in figures.cv_best] == [
        *("AlexNet", "ZFNet-b", "VGG-19", "ResNet-152", "Inception ResNet V2"),
        *("PNASNet-5 (N=4, F=216)", "ResNeXt-101 32x48d", "NoisyStudent-L2"),
        *("Meta Pseudo Labels L2", "ViT-G/14"),
    ]
    joules = {best.model.model: best.joules for best in figures.cv_best}
    assert f"{joules['AlexNet']:.3f}" == "0.100"
    assert (_digits(joules["VGG-19"], 3), _digits(joules["ViT-G/14"], 3)) == (1.53, 34.7)


def test_records_of_language_models(figures: TrendFigures) -> None:
    names = [record.model.model for record in figures.nlp_records]
    assert names == ["Transformer", "BERT Large", "GPT-2", "Megatron", "Microsoft T-NLG", "GPT-3"]
    assert round(figures.nlp_records[-1].joules) == 5604


def test_parameters_follow_flops(figures: TrendFigures) -> None:
    correlations = dict(figures.params_correlations)
    assert {name: c.n for name, c in correlations.items()} == {"CNN": 67, "Transformer": 20}
    assert round(correlations["CNN"].pearson.value, 3) == 0.781
    assert round(correlations["Transformer"].pearson.value, 3) == 0.993


def test_front_of_accuracy_and_flops(figures: TrendFigures) -> None:
    ends = [(m.gflops, m.accuracy_pct) for m in (figures.front[0], figures.front[-1])]
    assert (len(figures.front), ends) == (18, [(0.28, 67.6), (5270, 90.45)])
    assert list(figures.front) == sorted(figures.front, key=lambda m: (m.gflops, m.accuracy_pct))


def test_estimates_of_table_k10_to_every_printed_digit(
    study: TrendsStudy, figures: TrendFigures
) -> None:
    checks = [c for c in recompute_checks(study, figures.cv_efficiency) if c.table == "K.10"]
    assert len(checks) == 12
    for check in checks:
        assert check.trend_joules is not None and check.measured is not None
        assert f"{check.trend_joules:.3f}" == f"{check.printed_estimate:.3f}", check
    # What the transcription says of these estimates: 0.4 to 1.4 times the measured energies.
    ratios = [1 / check.measured_over_trend for check in checks if check.measured_over_trend]
    assert (round(min(ratios), 1), round(max(ratios), 1)) == (0.4, 1.4)


def test_table_k11_exchanges_two_estimates(study: TrendsStudy, figures: TrendFigures) -> None:
    checks = {
        c.board.removeprefix("Nvidia "): c
        for c in recompute_checks(study, figures.cv_efficiency)
        if c.table == "K.11"
    }
    titan, t4, ti = (checks[name] for name in ("Titan RTX", "Tesla T4", "RTX 2080 Ti"))
    assert f"{ti.trend_joules:.4f}" == f"{ti.printed_estimate:.4f}" == "0.1021"
    assert f"{titan.trend_joules:.4f}" == f"{t4.printed_estimate:.4f}" == "0.0958"
    assert t4.trend_joules == pytest.approx(titan.printed_estimate, abs=1e-4)
    assert (t4.measured, t4.measured_fp16) == (0.1390, 0.0337)
    assert t4.note is not None and "exchanged" in t4.note


def test_check_of_an_unknown_board_has_no_estimate(
    study: TrendsStudy, figures: TrendFigures
) -> None:
    unknown = replace(study.energy_checks[1], board="TPU v1")
    (check,) = recompute_checks(replace(study, energy_checks=(unknown,)), figures.cv_efficiency)
    assert (check.measured, check.trend_joules) == (None, None)


def test_estimated_flops_scale_with_the_product(study: TrendsStudy) -> None:
    gflops = {m.model: m.gflops for m in study.vision_models if m.gflops}
    depth, width = 5.3 / 3.1, 4.3 / 2
    b7, b0 = gflops["EfficientNet-B7"], gflops["EfficientNet-B0"]
    assert round(b7 * depth * width**2 * (800 / 600) ** 2) == gflops["NoisyStudent-L2"] == 1040
    assert round(b7 * depth * width**2) == gflops["FixEfficientNet-L2"] == 585
    assert round(b7 * (632 / 600) ** 2) == gflops["FixEfficientNet-B7"] == 82
    assert round(b0 * (320 / 224) ** 2, 1) == gflops["FixEfficientNet-B0"] == 1.6
    estimated = {m.model for m in study.vision_models if m.gflops_estimated}
    assert {"NoisyStudent-L2", "Meta Pseudo Labels L2", "ViT-G/14"} <= estimated


def test_v100_is_dated_by_its_board_with_32_gb(study: TrendsStudy) -> None:
    assert {b.launched for b in study.boards if b.board == "Tesla V100"} == {V100_DATE}


def test_human_power(figures: TrendFigures) -> None:
    assert round(HUMAN_POWER_W, 1) == 96.9
    assert round(_line(figures, "cv-best-joules").find_year(100), 1) == 2024.1
    assert compute_person_power_w(0.5, 2) == 1


def test_inferred_rows_are_in_no_fit(study: TrendsStudy, figures: TrendFigures) -> None:
    assert "inferred" not in {m.model.status for m in figures.cv_models}
    assert "EfficientNet-B6" not in {m.model.model for m in figures.cv_models}
    assert len(select_fitted_boards(study, "CV")) == 32


def test_line_agrees_with_least_squares() -> None:
    points = [(date(2011, 1, 1), 2.0), (date(2013, 6, 1), 5.0), (date(2016, 3, 1), 9.0)]
    points.append((date(2020, 1, 1), 11.0))
    line = fit_line("x", "x", "x", "J", points)
    years = [count_years(when) for when, _ in points]
    (slope, intercept), covariance = np.polyfit(
        years, np.log10([v for _, v in points]), 1, cov=True
    )
    assert line is not None
    assert (line.slope.value, line.intercept.value) == pytest.approx((slope, intercept))
    errors = (line.slope.standard_error, line.intercept.standard_error)
    assert errors == pytest.approx(np.sqrt(np.diag(covariance)))
    half_width = (line.slope.ci95[1] - line.slope.ci95[0]) / 2
    assert half_width == pytest.approx(4.303 * line.slope.standard_error)
    assert line.compute_value(points[0][0]) == pytest.approx(10 ** (intercept + slope * years[0]))
    json.dumps(line.describe(), allow_nan=False)


@pytest.mark.parametrize(
    "points",
    [
        [(date(2011, 1, 1), 2.0), (date(2012, 1, 1), 3.0)],
        [(date(2011, 1, 1), 2.0)] * 4,
        [(date(year, 1, 1), 2.0) for year in (2011, 2012, 2013)],
    ],
)
def test_too_few_values_have_no_line(points: list[tuple[date, float]]) -> None:
    assert fit_line("x", "x", "x", "J", points) is None


def test_small_study_has_no_lines(study: TrendsStudy) -> None:
    small = replace(study, boards=study.boards[:1], vision_models=(), language_models=())
    figures = compute_trends(small)
    assert (figures.lines, figures.front, figures.params_correlations) == ((), (), ())
