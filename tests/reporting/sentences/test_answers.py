"""The generated answer of the page and its answer cards."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.report.result_rows import make_figure, make_run_row
from support.report.sentence_rows import make_capped_row, make_printed_row, make_sweep

from reporting.results_model import ResultRow
from reporting.sections.repeats import NO_REPEATS, measure_spread
from reporting.sections.sweeps.caps import CapSweep
from reporting.sentences.cards import AnswerCard, build_answer, build_card
from rules.finding import Finding, Severity
from rules.workloads import workloads

RESNET = workloads()["resnet50-train"]
UNUSUAL = Finding("X114", Severity.WARNING, "result.json", "", "2000 images/s", "at most 1100", "")


def make_card(rows: Sequence[ResultRow], *sweeps: CapSweep) -> AnswerCard:
    return build_card(RESNET, rows, sweeps, measure_spread(rows), Path.as_posix)


def test_answer_names_setting_energy_cap_runs_and_boards() -> None:
    rows = [make_run_row(rate, board) for rate, board in ((1000, "a"), (1010, "b"))]
    rows += [make_run_row(500, "a", variant="baseline", precision="tf32")]
    assert make_card(rows).sentence == (
        "Lowest energy per image on ResNet-50 training: NVIDIA H200, tuned bf16, "
        "0.6965\u202f±\u202f0.0440\u202fJ/image at 700\u202fW, the only cap measured (2 "
        "runs on 2 boards, ±\u202fover runs)."
    )


def test_answer_uses_the_singular_for_one_run_on_one_board() -> None:
    assert make_card([make_run_row(1000, "a")]).sentence.endswith(
        "(1 run on 1 board, ±\u202fwithin this run)."
    )


def test_answer_calls_settings_within_the_board_spread_a_tie() -> None:
    rows = [make_run_row(1000, "a"), make_run_row(985, "b", batch_size=64)]
    assert make_card(rows).sentence.endswith(
        "(1 run on 1 board, ±\u202fwithin this run); it cannot be told apart from NVIDIA H200, "
        "tuned bf16, batch size 64 with 0.7107\u202fJ/image."
    )
    rows.append(make_run_row(990, "c", system="other"))
    assert make_card(rows).sentence.endswith(
        "; it cannot be told apart from 2 other settings, such as NVIDIA H200, tuned bf16 on other "
        "with 0.7071\u202fJ/image."
    )


def test_answer_calls_overlapping_intervals_a_tie_and_a_clear_difference_none() -> None:
    wide = make_run_row(900, "b", batch_size=64, joules_per_item=make_figure(0.78, 0.09))
    assert "cannot be told apart" in make_card([make_run_row(1000, "a"), wide]).sentence
    narrow = make_run_row(900, "b", batch_size=64)
    assert "cannot be told apart" not in make_card([make_run_row(1000, "a"), narrow]).sentence


def test_setting_without_an_interval_cannot_be_told_apart() -> None:
    best = make_run_row(1000, "a", joules_per_item=replace(make_figure(0.7), ci95=None))
    card = make_card([best, make_run_row(500, "b", batch_size=64)])
    assert "0.7000\u202fJ/image at 700\u202fW" in card.sentence
    assert "cannot be told apart" in card.sentence
    assert card.closed is not None and card.closed.energy.half_width == ""


def test_answer_counts_caps_that_are_comparable() -> None:
    runs = [make_capped_row(400, 700), make_capped_row(700, 1000)]
    assert "at 400\u202fW, of 2 comparable caps" in make_card(runs).sentence
    failed = replace(runs[0], cap_enforced=False)
    assert (
        "at 700\u202fW, the only comparable cap of 2 measured"
        in make_card([failed, runs[1]]).sentence
    )
    assert "without a cap (" in make_card([make_run_row(1000, "a", cap_w=None)]).sentence


def test_published_curves_peak_inside_their_comparable_caps_only() -> None:
    curve = [make_printed_row(cap, rate) for cap, rate in ((300, 500), (400, 900), (500, 1000))]
    rising = [
        make_printed_row(cap, rate, model="MI300X") for cap, rate in ((400, 900), (500, 1000))
    ]
    sentence = make_card([make_run_row(1000, "a"), *curve, *rising]).sentence
    assert sentence.endswith(
        "Published curve peaks at 400\u202fW, with power assumed equal to the cap."
    )
    forbidden = make_printed_row(350, 9000, comparison="none")
    assert make_card([make_run_row(1000, "a"), *curve, forbidden]).sentence == sentence
    second = [replace(row, model="H100", cap_w=(row.cap_w or 0) + 50) for row in curve]
    sentence = make_card([make_run_row(1000, "a"), *curve, *second]).sentence
    assert "Published curves peak at 400\u2013450\u202fW" in sentence


def test_open_result_is_named_open_and_never_the_closed_leader() -> None:
    fast = make_run_row(3000, "b", standing="open", precision="fp8", variant="fp8")
    card = make_card([make_run_row(1000, "a"), fast])
    assert card.closed is not None and card.closed.name == "NVIDIA H200, tuned bf16"
    assert card.open is not None and card.open.name == "NVIDIA H200, fp8"
    assert "fp8" not in card.sentence
    # The open result has less energy, so the answer says that it is on closed ones.
    subject = "Lowest energy per image on ResNet-50 training"
    assert card.sentence.startswith(f"{subject}, closed results: NVIDIA H200, tuned bf16")
    assert make_card([make_run_row(1000, "a")]).sentence.startswith(f"{subject}: NVIDIA")
    assert make_card([fast]).sentence.startswith(
        "No closed result. Open: lowest energy per image on ResNet-50 training: NVIDIA H200, fp8, "
    )


def test_published_figures_answer_as_published_without_a_measured_result() -> None:
    card = make_card([make_printed_row(700, 1000), make_printed_row(400, 900, caution="Sum?")])
    assert card.sentence == (
        "No measured result. Published: lowest energy per image on ResNet-50 training is "
        "≈\u202f0.4444\u202fJ/image, H200 (Paper 2026) at 400\u202fW. Power is assumed "
        "equal to the cap, and "
        "no interval is printed."
    )
    assert card.published is not None and card.published.caution.endswith("printed. Sum?")
    assert card.published.repeats == "" and card.published.ties == ""


def test_demo_runs_give_no_answer() -> None:
    demo_rows = [make_run_row(9000, board, standing="demo") for board in ("a", "b")]
    card = make_card(demo_rows)
    assert card.sentence == (
        "ResNet-50 training: No measured result: 2 demo runs, which nothing is compared with. "
        "No result may be compared."
    )
    assert (card.closed, card.open, card.published) == (None, None, None)


def test_page_answers_for_the_workload_with_most_closed_runs() -> None:
    one, two = make_card([make_run_row(1000, "a")]), make_card([make_printed_row(700, 1000)])
    assert build_answer([two, one]) == one.sentence
    assert build_answer([two]) == two.sentence
    assert build_answer([]) == "No result may be compared."


@pytest.mark.parametrize(
    "row",
    [
        make_run_row(9000, "z", cap_enforced=False),
        make_run_row(9000, "z", implausible="exceeds the peak"),
        make_printed_row(700, 9000, comparison="none", caution="Do not compare."),
        make_printed_row(700, 9000, comparison="shape"),
        make_run_row(9000, "z", standing="control"),
        make_run_row(9000, "z", standing="demo"),
    ],
    ids=["cap failed", "implausible", "not compared", "shape", "control", "demo"],
)
def test_row_that_may_not_win_is_in_no_answer(row: ResultRow) -> None:
    others = [make_run_row(1000, "a"), make_printed_row(700, 500)]
    row = replace(row, accelerator="forbidden", model="forbidden")
    with_row, without = make_card([*others, row]), make_card(others)
    assert "forbidden" not in repr(replace(with_row, not_compared=""))
    assert with_row.sentence == without.sentence


def test_unreviewed_and_reproducing_runs_are_in_no_answer() -> None:
    usual = make_run_row(1000, "a")
    fast = make_run_row(2000, "b", batch_size=64)
    assert fast.provenance is not None
    for fields in ({"bars": (UNUSUAL,)}, {"original": "reference/h200/run"}):
        barred = replace(fast, provenance=replace(fast.provenance, **fields))
        card = make_card([usual, barred])
        assert card.sentence == make_card([usual]).sentence
        assert (
            card.not_compared == "1 measured result is not compared; the table gives the reasons."
        )


def test_hostile_names_are_escaped() -> None:
    card = make_card([make_run_row(1000, "a", accelerator="H200\u202e<b>")])
    assert "H200\\u202e<b>" in card.sentence and "\u202e" not in card.sentence


def test_card_says_what_the_default_cap_costs() -> None:
    rows = [make_capped_row(400, 760), make_capped_row(700, 1000)]
    card = make_card(rows, make_sweep(rows))
    assert card.closed is not None
    assert card.closed.default_note == (
        "At 400\u202fW, 25\u202f% less energy per image (95\u202f% interval 24.57 to 25.05\u202f%) "
        "and 32\u202f% more time "
        "than at 700\u202fW, the default cap; 2 caps measured."
    )
    unsure = make_card(rows, make_sweep(rows, relative_error=0.2)).closed
    assert unsure is not None and unsure.default_note == (
        "At 400\u202fW, energy per image cannot be told apart from that at 700\u202fW, the "
        "default cap; "
        "2 caps measured."
    )
    without_interval = make_card(rows, make_sweep(rows, relative_error=None)).closed
    assert without_interval is not None
    assert "cannot be told apart" in without_interval.default_note


def test_card_says_that_only_one_cap_was_measured() -> None:
    card = make_card([make_run_row(1000, "a")])
    assert card.closed is not None
    assert card.closed.default_note == "700\u202fW is the only cap measured with this setting."
    assert card.closed.bundles == ("submissions/a",)
    assert card.closed.standing == "closed"


def test_card_at_the_default_cap_says_so() -> None:
    rows = [make_capped_row(400, 300), make_capped_row(700, 1000)]
    card = make_card(rows, make_sweep(rows))
    assert card.closed is not None
    assert card.closed.default_note == "700\u202fW is the default cap; 2 caps measured."


def test_trust_of_several_runs_counts_each_state() -> None:
    runs = [make_run_row(1000, "a"), make_run_row(1001, "b")]
    assert runs[0].provenance is not None
    confirmed = replace(runs[0].provenance, accepted="1.8.0", reproducers=("beta",))
    card = make_card([replace(runs[0], provenance=confirmed), runs[1]])
    assert card.closed is not None
    assert card.closed.trust == "of 2 runs, 0 reviewed, 1 accepted, 1 reproduced"


def test_serving_names_requests_in_flight() -> None:
    workload = workloads()["llama3-8b-serve"]
    row = make_run_row(1000, "a", workload=workload.id, batch_size=512)
    card = build_card(workload, [row], [], NO_REPEATS, Path.as_posix)
    assert card.closed is not None
    assert (card.closed.batch, card.closed.energy.unit) == ("512 requests in flight", "J/token")
    assert card.sentence.startswith("Lowest energy per output token on LLaMA 3 8B serving: ")
    assert card.cost is not None and card.cost.subject == "A million output tokens"


def test_closed_run_on_simulated_boards_is_in_no_answer() -> None:
    simulated = make_run_row(9000, "b", batch_size=64)
    assert simulated.provenance is not None
    run = simulated.provenance.run
    boards = tuple(replace(board, name="Simulated H200") for board in run.accelerators)
    assert all(board.is_simulated for board in boards)
    provenance = replace(simulated.provenance, run=replace(run, accelerators=boards))
    rows = [make_run_row(1000, "a"), replace(simulated, provenance=provenance)]
    assert make_card(rows).sentence == make_card(rows[:1]).sentence
