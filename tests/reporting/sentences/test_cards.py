"""The answer cards of workloads."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.report.result_rows import make_figure, make_run_row
from support.report.sentence_rows import make_capped_row, make_printed_row, make_sweep

from reporting.results_model import ResultRow
from reporting.sections.repeats import NO_REPEATS, measure_spread
from reporting.sections.sweeps.caps import CapSweep
from reporting.sentences.cards import AnswerCard, Leader, build_card
from rules.finding import Finding, Severity
from rules.workloads import workloads

RESNET = workloads()["resnet50-train"]
UNUSUAL = Finding("X114", Severity.WARNING, "result.json", "", "2000 images/s", "at most 1100", "")


def make_card(rows: Sequence[ResultRow], *sweeps: CapSweep) -> AnswerCard:
    return build_card(RESNET, rows, sweeps, measure_spread(rows), Path.as_posix)


def make_closed(rows: Sequence[ResultRow], *sweeps: CapSweep) -> Leader:
    """The closed leader of the card of these rows."""
    leader = make_card(rows, *sweeps).closed
    assert leader is not None
    return leader


def test_leader_has_the_mean_over_its_runs_and_names_cap_runs_and_boards() -> None:
    rows = [make_run_row(rate, board) for rate, board in ((1000, "a"), (1010, "b"))]
    rows += [make_run_row(500, "a", variant="baseline", precision="tf32")]
    leader = make_closed(rows)
    assert leader.name == "NVIDIA H200, tuned bf16"
    # 1.5 % in the rule book x 2.145 x the root of (1 + 1/2 boards) = 3.94 % of the mean.
    assert leader.energy.text_with_interval == "0.6965\u202f±\u202f0.0274\u202fJ/image"
    assert leader.throughput.text_with_interval == (
        "1\u202f005\u202f±\u202f40\u202fimages/s per accelerator"
    )
    assert leader.cap == "at 700\u202fW"
    assert leader.repeats == "2 runs on 2 boards"
    assert leader.spread == "Without repeats, ± is from the H200 boards of the rule book."


def test_leader_says_where_its_interval_comes_from_unless_from_repeats_of_its_workload() -> None:
    """Five boards of H200, each 1 % above the one before; H100 and servers have no repeats."""
    rows = [make_run_row(1000 * 1.01**place, board) for place, board in enumerate("abcde")]
    leader = make_closed(rows)
    assert leader.spread == ""
    # The standard deviation of these five is 1.573 % of their mean, with 4 degrees of freedom:
    # 1.573 % x 2.776 x the root of (1 + 1/5) = 4.78 %.
    assert leader.energy.text_with_interval == "0.6863\u202f±\u202f0.0328\u202fJ/image"
    other = make_run_row(2000, "z", model="H100", accelerator="NVIDIA H100")
    assert make_closed([*rows, other]).spread == "Too few repeats on H100: ± is from H200."
    workload = workloads()["llama3-8b-serve"]
    server = make_run_row(1000, "z", workload=workload.id)
    spread = measure_spread([*rows, server])
    card = build_card(workload, [server], [], spread, Path.as_posix)
    assert card.closed is not None
    assert card.closed.spread == "No repeats of this workload: ± is from other workloads."


def test_leader_uses_the_singular_for_one_run_on_one_board() -> None:
    leader = make_closed([make_run_row(1000, "a")])
    assert leader.repeats == "1 run on 1 board"
    # One run has a wider interval than two on two boards: 1.5 % x 2.145 x the root of 2.
    assert leader.energy.text_with_interval == "0.7000\u202f±\u202f0.0319\u202fJ/image"


def test_leader_names_the_settings_that_cannot_be_told_apart() -> None:
    rows = [make_run_row(1000, "a"), make_run_row(985, "b", batch_size=64)]
    assert make_closed(rows).ties == (
        "It cannot be told apart from NVIDIA H200, tuned bf16, batch size 64 with 0.7107\u202f"
        "J/image."
    )
    rows.append(make_run_row(990, "c", system="other"))
    assert make_closed(rows).ties == (
        "It cannot be told apart from 2 other settings, such as NVIDIA H200, tuned bf16 on other "
        "with 0.7071\u202fJ/image."
    )


@pytest.mark.parametrize("half_width", [0.0, 0.0001, 0.5, None])
def test_interval_within_a_run_decides_no_tie_and_is_on_no_card(half_width: float | None) -> None:
    def make_row(rate: float, board: str, batch_size: int | None = None) -> ResultRow:
        figure = make_figure(700 / rate, half_width or 0.0)
        if half_width is None:
            figure = replace(figure, ci95=None)
        return make_run_row(rate, board, joules_per_item=figure, batch_size=batch_size)

    near = [make_row(1000, "a"), make_row(985, "b", batch_size=64)]
    assert make_closed(near).ties.startswith("It cannot be told apart from")
    far = [make_row(1000, "a"), make_row(900, "b", batch_size=64)]
    assert make_closed(far).ties == ""
    assert make_closed(far).energy.half_width == "0.0319"


def test_open_result_is_named_open_and_never_the_closed_leader() -> None:
    fast = make_run_row(3000, "b", standing="open", precision="fp8", variant="fp8")
    card = make_card([make_run_row(1000, "a"), fast])
    assert card.closed is not None and card.closed.name == "NVIDIA H200, tuned bf16"
    assert card.open is not None and card.open.name == "NVIDIA H200, fp8"
    assert "fp8" not in repr(replace(card, open=None))


def test_published_figures_are_published_without_a_measured_result() -> None:
    card = make_card([make_printed_row(700, 1000), make_printed_row(400, 900, caution="Sum?")])
    leader = card.published
    assert leader is not None
    assert (leader.name, leader.energy.text_with_interval, leader.cap) == (
        "H200 (Paper 2026)",
        "≈\u202f0.4444\u202fJ/image",
        "at 400\u202fW",
    )
    assert leader.caution == ("Power is assumed equal to the cap, and no interval is printed. Sum?")
    assert leader.repeats == "" and leader.ties == "" and leader.spread == ""


def test_demo_runs_are_on_no_card() -> None:
    card = make_card([make_run_row(9000, board, standing="demo") for board in ("a", "b")])
    assert (card.closed, card.open, card.published, card.cost) == (None, None, None, None)


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
def test_row_that_may_not_win_is_on_no_card(row: ResultRow) -> None:
    others = [make_run_row(1000, "a"), make_printed_row(700, 500)]
    row = replace(row, accelerator="forbidden", model="forbidden")
    with_row, without = make_card([*others, row]), make_card(others)
    assert replace(with_row, not_compared="") == replace(without, not_compared="")


def test_unreviewed_reproducing_and_older_runs_are_on_no_card() -> None:
    usual = make_run_row(1000, "a")
    fast = make_run_row(2000, "b", batch_size=64)
    assert fast.provenance is not None
    for fields in (
        {"bars": (UNUSUAL,)},
        {"original": "reference/h200/run"},
        {"newer": "reference/h200/run"},
    ):
        barred = replace(fast, provenance=replace(fast.provenance, **fields))
        card = make_card([usual, barred])
        assert card.closed == make_card([usual]).closed
        assert (
            card.not_compared == "1 measured result is not compared; the table gives the reasons."
        )


def test_hostile_names_are_escaped() -> None:
    name = make_closed([make_run_row(1000, "a", accelerator="H200\u202e<b>")]).name
    assert name == "H200\\u202e<b>, tuned bf16"


def test_card_says_what_the_default_cap_costs() -> None:
    rows = [make_capped_row(400, 760), make_capped_row(700, 1000)]
    # -24.8 %, and 1.5 % in the rule book x 2.145 x the root of 2 on either side.
    assert make_closed(rows, make_sweep(rows)).default_note == (
        "At 400\u202fW, 25\u202f% less energy per image (95\u202f% interval 21.31 to 28.16\u202f%) "
        "and 32\u202f% more time than at 700\u202fW, the default cap; 2 caps measured."
    )


@pytest.mark.parametrize("relative_error", [1e-9, 0.2, None])
def test_default_cap_is_told_apart_by_what_another_run_would_give(
    relative_error: float | None,
) -> None:
    """The intervals within the runs of the sweep decide nothing."""
    far = [make_capped_row(400, 760), make_capped_row(700, 1000)]
    note = make_closed(far, make_sweep(far, relative_error)).default_note
    assert note.startswith("At 400\u202fW, 25\u202f% less energy per image")
    near = [make_capped_row(400, 590), make_capped_row(700, 1000)]
    assert make_closed(near, make_sweep(near, relative_error)).default_note == (
        "At 400\u202fW, energy per image cannot be told apart from that at 700\u202fW, the "
        "default cap; 2 caps measured."
    )


def test_card_says_that_only_one_cap_was_measured() -> None:
    leader = make_closed([make_run_row(1000, "a")])
    assert leader.default_note == "700\u202fW is the only cap measured with this setting."
    assert leader.bundles == ("submissions/a",)
    assert leader.standing == "closed"


def test_card_at_the_default_cap_says_so() -> None:
    rows = [make_capped_row(400, 300), make_capped_row(700, 1000)]
    leader = make_closed(rows, make_sweep(rows))
    assert leader.default_note == "700\u202fW is the default cap; 2 caps measured."


def test_trust_of_several_runs_counts_each_state() -> None:
    runs = [make_run_row(1000, "a"), make_run_row(1001, "b")]
    assert runs[0].provenance is not None
    confirmed = replace(runs[0].provenance, accepted="1.8.0", reproducers=("beta",))
    leader = make_closed([replace(runs[0], provenance=confirmed), runs[1]])
    assert leader.trust == "of 2 runs, 0 reviewed, 1 accepted, 1 reproduced"


def test_serving_names_requests_in_flight() -> None:
    workload = workloads()["llama3-8b-serve"]
    row = make_run_row(1000, "a", workload=workload.id, batch_size=512)
    card = build_card(workload, [row], [], NO_REPEATS, Path.as_posix)
    assert card.closed is not None
    assert (card.closed.batch, card.closed.energy.unit) == ("512 requests in flight", "J/token")
    assert card.cost is not None and card.cost.subject == "Electricity for a million output tokens"


def test_cost_says_that_it_is_that_of_electricity() -> None:
    cost = make_card([make_run_row(1000, "a")]).cost
    # 0.7 J/image x 1.3 x 1e6 / 3.6e6 = 0.2528 kWh.
    assert cost is not None and cost.sentence.startswith(
        "0.06319\u202fEUR and 101.1\u202fg\u202fCO2e for the energy of the "
        "accelerators, at the assumed 0.25\u202fEUR/kWh"
    )


def test_closed_run_on_simulated_boards_is_on_no_card() -> None:
    simulated = make_run_row(9000, "b", batch_size=64)
    assert simulated.provenance is not None
    run = simulated.provenance.run
    boards = tuple(replace(board, name="Simulated H200") for board in run.accelerators)
    assert all(board.is_simulated for board in boards)
    provenance = replace(simulated.provenance, run=replace(run, accelerators=boards))
    rows = [make_run_row(1000, "a"), replace(simulated, provenance=provenance)]
    assert make_closed(rows) == make_closed(rows[:1])
