"""The sentences on the batch size, the requests in flight and the precision of least energy."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.report.result_rows import make_figure, make_run_row
from support.report.sentence_rows import answer, make_axis_sweep, make_printed_row

from reporting.results_model import ResultRow
from reporting.sections.repeats import NO_REPEATS
from reporting.sentences import operating_points
from reporting.sentences.cards import build_card
from reporting.sentences.findings import build_findings
from rules.metrics.uncertainty.propagation import Spread
from rules.workloads import workloads


def test_best_load_names_ties_and_missing_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [make_run_row(rate, "a", batch_size=batch) for batch, rate in ((64, 500), (128, 1000))]
    assert answer(rows[:1])["load"] == (
        "No sweep over batch size of this workload has been submitted.",
    )
    for sweep_rows, sentence in (
        (
            rows,
            "node · tuned bf16: batch size 128 needs the least energy per image of 2 values, "
            "0.7000\u202fJ/image, without a measurable loss of throughput.",
        ),
        (
            [*rows, make_run_row(990, "a", batch_size=256)],
            "node · tuned bf16: batch size 128 and 256 need the least energy per image and cannot "
            "be told apart, 0.7000\u202fJ/image, without a measurable loss of throughput.",
        ),
        (
            [*rows, make_run_row(1200, "a", batch_size=256, joules_per_item=make_figure(0.701))],
            "node · tuned bf16: batch size 128 and 256 need the least energy per image and cannot "
            "be told apart, 0.7000\u202fJ/image. Throughput is highest at 256: 20\u202f% more.",
        ),
    ):
        sweep = make_axis_sweep(sweep_rows)
        monkeypatch.setattr(operating_points, "find_axis_sweeps", lambda axis, rows, s=sweep: [s])
        assert answer(sweep_rows)["load"] == (sentence,)


@pytest.mark.parametrize("boards", ["aaaa", "aaba", "abcd"])
@pytest.mark.parametrize(
    ("rates", "end"),
    [
        ((1100, 1200), ". Throughput is highest at 256: 20\u202f% more."),
        ((1200, 1100), ". Throughput is highest at 512: 20\u202f% more."),
        ((1003, 1004), ", without a measurable loss of throughput."),
        ((1003, 600), ", without a measurable loss of throughput."),
    ],
)
def test_best_load_names_the_one_with_the_highest_throughput(
    boards: str, rates: tuple[float, float], end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches 512 and 256 take more energy, on the same board or on others."""
    joules = make_figure(0.8, 0.0001)
    rows = [
        make_run_row(500, boards[0], batch_size=64),
        make_run_row(1000, boards[1], batch_size=128),
        make_run_row(rates[0], boards[3], batch_size=512, joules_per_item=joules),
        make_run_row(rates[1], boards[2], batch_size=256, joules_per_item=joules),
    ]
    sweep = make_axis_sweep(rows)
    monkeypatch.setattr(operating_points, "find_axis_sweeps", lambda axis, rows: [sweep])
    (sentence,) = answer(rows)["load"]
    assert sentence.endswith(f"J/image{end}")


def test_repeats_of_one_value_alone_do_not_widen_the_interval_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Batch 128 has two runs 1 % apart. Student's t of one degree of freedom would give the batch
    that needs 9 % more energy an interval of 11 %."""
    rows = [
        make_run_row(920, "a", batch_size=64),
        make_run_row(1000, "b", batch_size=128),
        make_run_row(1010, "c", batch_size=128),
    ]
    sweep = make_axis_sweep(rows, Spread(5e-5, 5e-5, 0.0, 1, "runs"))
    monkeypatch.setattr(operating_points, "find_axis_sweeps", lambda axis, rows: [sweep])
    (sentence,) = answer(rows)["load"]
    assert "batch size 128 needs the least energy per image of 2 values" in sentence


def test_best_precision_is_answered_where_there_is_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [make_run_row(500, "a"), make_run_row(1000, "a", variant="fp8", precision="fp8")]
    assert "precision" not in answer(rows)
    points = tuple(replace(*make_axis_sweep([row]).points, value=row.precision) for row in rows)
    sweep = replace(make_axis_sweep(rows), name="node", points=points)
    monkeypatch.setattr(
        operating_points,
        "find_axis_sweeps",
        lambda axis, rows: [sweep] if axis.name == "precision" else [],
    )
    assert answer(rows)["precision"] == (
        "node: precision fp8 needs the least energy per image of 2 values, 0.7000\u202fJ/image, "
        "without a measurable loss of throughput.",
    )


def make_precision_rows() -> list[ResultRow]:
    """bf16, FP8, and FP8 with another cache, which is in no sweep over precision."""
    usual: dict[str, Any] = {"workload": "llama3-8b-serve", "batch_size": 512}
    fp8: dict[str, Any] = {**usual, "standing": "open", "precision": "fp8"}
    return [
        make_run_row(500, "a", **usual),
        make_run_row(1000, "a", variant="fp8", **fp8),
        make_run_row(1200, "a", variant="fp8-kv", **fp8),
    ]


def answer_precision(
    rows: Sequence[ResultRow], swept: Sequence[ResultRow], monkeypatch: pytest.MonkeyPatch
) -> tuple[str, ...]:
    points = tuple(replace(*make_axis_sweep([row]).points, value=row.precision) for row in swept)
    sweep = replace(make_axis_sweep(swept), name="node", points=points)
    # Another sweep takes twice the energy.
    doubled = [replace(p.point, joules_per_item=2 * p.point.joules_per_item) for p in points]
    other_points = tuple(replace(p, point=d) for p, d in zip(points, doubled, strict=True))
    sweeps = [replace(sweep, name="other", points=other_points), sweep]
    monkeypatch.setattr(
        operating_points,
        "find_axis_sweeps",
        lambda axis, rows: sweeps if axis.name == "precision" else [],
    )
    workload = workloads()["llama3-8b-serve"]
    findings = build_findings(workload, rows, [], NO_REPEATS)
    return next(q.sentences for q in findings.questions if q.id == "precision")


def test_precision_answer_names_the_setting_of_the_card_if_it_needs_less_energy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = make_precision_rows()
    sentences = answer_precision(rows, rows[:2], monkeypatch)
    assert sentences[0].startswith("other: precision fp8 needs the least energy per output token")
    assert sentences[1:] == (
        "node: precision fp8 needs the least energy per output token of 2 values, 0.7000\u202f"
        "J/token, without a measurable loss of throughput.",
        "Other settings differ in more than precision. Of all, NVIDIA H200, fp8-kv fp8, 512 "
        "requests in flight, needs the least energy: 0.5833\u202fJ/token.",
    )
    workload = workloads()["llama3-8b-serve"]
    card = build_card(workload, rows, [], NO_REPEATS, Path.as_posix)
    assert card.open is not None
    named = f"{card.open.name}, {card.open.batch}, needs the least energy: "
    assert named + card.open.energy.text in sentences[2]


def test_precision_answer_names_no_other_setting_if_the_best_is_in_its_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = make_precision_rows()
    assert len(answer_precision(rows[:2], rows[:2], monkeypatch)) == 2
    # One that may not win, or that was not measured, is not named.
    failed = replace(rows[2], cap_enforced=False)
    printed = make_printed_row(400, 9000, workload=rows[0].workload)
    assert len(answer_precision([*rows[:2], failed, printed], rows[:2], monkeypatch)) == 2


def test_load_of_a_run_that_may_not_win_is_not_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [make_run_row(rate, "a", batch_size=batch) for batch, rate in ((64, 500), (128, 1000))]
    # Nor is a batch size that has such a run beside a good one.
    sweep = make_axis_sweep([*rows, replace(rows[1], implausible="above the peak")])
    monkeypatch.setattr(operating_points, "find_axis_sweeps", lambda axis, rows: [sweep])
    assert answer(rows)["load"][0].startswith("No sweep over batch size")
