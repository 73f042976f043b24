"""The answer for each workload at the top of the page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.report.result_rows import make_figure, make_run_row
from support.report.sentence_rows import make_capped_row, make_h100_row, make_printed_row

from reporting.results_model import ResultRow
from reporting.sections.repeats import NO_REPEATS, measure_spread
from reporting.sentences.answers import MEANING, build_answer, describe_meaning, list_caps_w
from reporting.sentences.other_sources import OtherSources
from reporting.sentences.page import build_page_sentences
from rules.finding import Finding, Severity
from rules.workloads import Workload, workloads

RESNET = workloads()["resnet50-train"]
SERVING = workloads()["llama3-8b-serve"]
UNUSUAL = Finding("X114", Severity.WARNING, "result.json", "", "2000 images/s", "at most 1100", "")


def answer(rows: Sequence[ResultRow], workload: Workload = RESNET) -> str:
    names_caps = len(list_caps_w(rows)) > 1
    return build_answer(workload, rows, measure_spread(rows), names_caps).text


def make_rival(rate: float, board: str = "b", **fields: Any) -> ResultRow:
    """A run of the baseline."""
    return make_run_row(rate, board, **{"variant": "baseline", "precision": "tf32"} | fields)


# In the rule book a run on another board of H200 has a standard deviation of 1.5 % with 14 degrees
# of freedom, so the 95 % interval of a ratio of two runs is 1.5 % x 1.414 x 2.145 = 4.55 % in
# logarithms, and that of 99 % is 6.32 %.
@pytest.mark.parametrize(
    ("rate", "percent", "certainty"),
    [
        (500, "50", "certain"),
        (930, "7.0", "certain"),
        (945, "5.5", "likely"),
        (965, "3.5", "not told apart"),
    ],
)
def test_answer_says_how_much_less_energy_than_the_next_setting_and_how_certain(
    rate: float, percent: str, certainty: str
) -> None:
    assert answer([make_run_row(1000, "a"), make_rival(rate)]) == (
        f"H200 with tuned (compiled) takes {percent}\u202f% less energy per image ({certainty}) "
        f"than baseline (uncompiled, TF32), at 1\u202f000\u202fimages/s."
    )


@pytest.mark.parametrize("runs", [1, 2, 3, 10])
def test_difference_above_8_percent_is_never_called_equal(runs: int) -> None:
    rows = [make_run_row(1000, f"a{place}") for place in range(runs)]
    assert "(certain)" in answer([*rows, make_rival(1000 / 1.08)])


@pytest.mark.parametrize("half_width", [0.0, 0.5, None])
def test_interval_within_a_run_decides_no_certainty(half_width: float | None) -> None:
    rows = [
        replace(
            make_run_row(rate, board, variant=variant),
            joules_per_item=replace(
                make_figure(700 / rate),
                ci95=None if half_width is None else (700 / rate - half_width, 9.0),
            ),
        )
        for rate, board, variant in ((1000, "a", "s2d"), (900, "b", "tuned"))
    ]
    assert "takes 10\u202f% less energy per image (certain) than tuned (compiled)" in answer(rows)
    near = [rows[0], make_rival(990)]
    assert "(not told apart)" in answer(near)


def test_answer_has_the_mean_over_repeats_and_not_the_better_run() -> None:
    rows = [make_run_row(1000, "a"), make_run_row(1100, "b"), make_rival(500, "c")]
    assert answer(rows) == (
        # (0.7 + 0.6364) / 2 = 0.6682 J against 1.4 J.
        "H200 with tuned (compiled) takes 52\u202f% less energy per image (certain) than baseline "
        "(uncompiled, TF32), at 1\u202f050\u202fimages/s."
    )


def make_pair(boards: Sequence[str], variant: str, rate: float) -> list[ResultRow]:
    """Two runs of a variant on each board. Boards are 8 % apart, runs on a board 0.1 %."""
    return [
        make_run_row(rate * (1 + 0.08 * place) * (1 + 0.001 * run), board, variant=variant)
        for place, board in enumerate(boards)
        for run in (0, 1)
    ]


def test_settings_on_the_same_boards_are_compared_on_these() -> None:
    tuned = make_pair("abcd", "tuned", 1000)
    same_boards = answer([*tuned, *make_pair("abcd", "s2d", 1030)])
    assert same_boards.startswith(
        "H200 with s2d (first convolution on 2 \u00d7 2 blocks) takes 2.9\u202f% less energy per "
        "image (certain) than tuned (compiled)"
    )
    other_boards = answer([*tuned, *make_pair("efgh", "s2d", 1030)])
    assert "takes 2.9\u202f% less energy per image (not told apart) than tuned (compiled)" in (
        other_boards
    )


def test_kinds_of_boards_are_compared_where_both_are_measured() -> None:
    rows = [
        make_run_row(1200, "a", variant="s2d"),
        make_run_row(1000, "a"),
        # It needs less energy than all others but the first, and its variant is not the rival's.
        make_h100_row(1100, "c", variant="tuned"),
        make_h100_row(500, "c", variant="baseline"),
    ]
    assert answer(rows) == (
        "H200 with s2d (first convolution on 2 \u00d7 2 blocks) takes 17\u202f% less energy per "
        "image (certain) than tuned (compiled), at 1\u202f200\u202fimages/s. H200 takes 10\u202f% "
        "more (certain) than H100, both tuned, at 1\u202f000\u202fimages/s against 1\u202f100"
        "\u202fimages/s."
    )


def test_boards_that_share_no_variant_are_compared_by_the_first_sentence_alone() -> None:
    rows = [make_run_row(1000, "a", variant="s2d"), make_h100_row(900, "c")]
    assert answer(rows) == (
        "H200 with s2d (first convolution on 2 \u00d7 2 blocks) takes 10\u202f% less energy per "
        "image (certain) than H100, tuned (compiled), at 1\u202f000\u202fimages/s."
    )


def test_each_other_kind_of_board_has_a_sentence() -> None:
    rows = [make_run_row(1000, "a"), make_rival(500)]
    rows += [
        make_run_row(rate, board, model=model)
        for model, rate, board in (("H100", 900, "c"), ("A100", 500, "d"))
    ]
    assert answer(rows).endswith(
        " H200 takes 10\u202f% less (certain) than H100, both tuned, at 1\u202f000\u202fimages/s "
        "against 900.0\u202fimages/s. H200 takes 50\u202f% less (certain) than A100, both tuned, "
        "at 1\u202f000\u202fimages/s against 500.0\u202fimages/s."
    )


def test_boards_are_compared_by_the_variant_that_both_have() -> None:
    rows = [
        make_run_row(1200, "a", variant="s2d"),
        make_run_row(700, "b", variant="baseline"),
        make_h100_row(1000, "c"),
        make_h100_row(500, "d", variant="baseline"),
    ]
    assert "H200 takes 29\u202f% less (certain) than H100, both baseline, at " in answer(rows)


def test_boards_at_other_caps_are_not_compared() -> None:
    rows = [make_capped_row(400, 700), make_rival(300, "e"), make_h100_row(1000, "c")]
    assert "than H100" not in answer(rows)
    assert "than H100" in answer([*rows, make_capped_row(700, 1000)])


def test_boards_without_another_variant_are_compared_once() -> None:
    text = answer([make_run_row(1000, "a"), make_h100_row(800, "c")])
    assert text.count("H100") == 1


def test_boards_are_compared_though_the_first_sentence_compares_batch_sizes() -> None:
    rows = [
        make_run_row(1000, "a", batch_size=2048),
        make_run_row(990, "b", batch_size=1024),
        make_h100_row(800, "c", variant="tuned", batch_size=1024),
    ]
    assert answer(rows).endswith(
        " H200 takes 20\u202f% less (certain) than H100, both tuned, at 1\u202f000\u202fimages/s "
        "with batch size 2048 against 800.0\u202fimages/s with batch size 1024."
    )


def test_both_loads_are_named_where_they_differ() -> None:
    rows = [make_run_row(1000, "a", batch_size=2048), make_rival(500, batch_size=256)]
    assert answer(rows).endswith(
        " than baseline (uncompiled, TF32), batch size 256, at 1\u202f000\u202fimages/s with batch "
        "size 2048."
    )


def test_open_setting_that_takes_more_on_shared_boards_is_not_named() -> None:
    """The open setting ran on the best board alone."""
    rates = (1000.0, 1020.0, 1040.0, 1080.0)
    tuned = [make_run_row(rate, board) for rate, board in zip(rates, "abcd", strict=True)]
    repeats = [make_run_row(1080.0 + n, "d") for n in range(4)]
    fp8 = [make_run_row(1070.0, "d", standing="open", variant="s2d") for _ in range(2)]
    assert "Open" not in answer([*tuned, *repeats, *fp8])
    assert "Open" in answer([*tuned, *fp8, make_run_row(1200, "d", standing="open")])


def test_setting_that_takes_more_energy_on_shared_boards_is_not_the_least() -> None:
    """The mean of s2d is the lowest, because it ran on the best board alone."""
    rates = (1000.0, 1020.0, 1040.0, 1080.0)
    tuned = [make_run_row(rate, board) for rate, board in zip(rates, "abcd", strict=True)]
    s2d = [make_run_row(1070.0, "d", variant="s2d") for _ in range(2)]
    repeats = [make_run_row(1080.0 + n, "d") for n in range(4)]
    rows = [*tuned, *repeats, *s2d]
    text = build_answer(RESNET, rows, measure_spread(rows)).text
    assert text.startswith("H200 with tuned (compiled) takes "), text
    assert " less energy per image (certain) than s2d " in text


def test_only_setting_has_its_energy_with_an_interval() -> None:
    assert answer([make_run_row(1000, "a")]) == (
        "H200 with tuned (compiled) is the only compared setting: 0.7000\u202f±\u202f0.0319"
        "\u202fJ/image, at 1\u202f000\u202fimages/s."
    )


def test_rival_of_the_same_variant_is_named_by_what_differs() -> None:
    rows = [make_run_row(1000, "a", batch_size=256), make_run_row(900, "b", batch_size=64)]
    assert answer(rows) == (
        "H200 with tuned (compiled) takes 10\u202f% less energy per image (certain) than batch "
        "size 64, at 1\u202f000\u202fimages/s with batch size 256."
    )
    servers = [replace(row, workload=SERVING.id) for row in rows]
    assert answer(servers, SERVING) == (
        "H200 with tuned (larger graphs and pages) takes 10\u202f% less energy per output token "
        "(certain) than 64 requests in flight, at 1\u202f000\u202ftokens/s with 256 requests in "
        "flight."
    )


def test_rival_is_of_another_variant_though_another_batch_size_is_nearer() -> None:
    rows = [
        make_run_row(1000, "a", batch_size=256),
        make_run_row(990, "b", batch_size=64),
        make_rival(500, batch_size=256),
    ]
    assert "takes 50\u202f% less energy per image (certain) than baseline (uncompiled, TF32)" in (
        answer(rows)
    )


def test_rival_is_on_as_many_boards_of_the_same_kind_if_there_is_one() -> None:
    rows = [
        make_run_row(1000, "a"),
        make_h100_row(900, "b", variant="s2d"),
        make_run_row(850, *"cdef", variant="s2d"),
        make_run_row(800, "g", variant="s2d"),
    ]
    first, _ = answer(rows).split(". ")
    assert first == (
        "H200 with tuned (compiled) takes 20\u202f% less energy per image (certain) than s2d "
        "(first convolution on 2 \u00d7 2 blocks), at 1\u202f000\u202fimages/s"
    )


def test_throughput_of_several_boards_is_per_accelerator() -> None:
    rows = [make_run_row(1000, *"abcd"), make_run_row(900, "e")]
    assert answer(rows) == (
        "4 \u00d7 H200 with tuned (compiled) takes 10\u202f% less energy per image (certain) than "
        "H200, at 1\u202f000\u202fimages/s per accelerator."
    )


def test_cap_is_stated_where_caps_differ() -> None:
    runs = [make_capped_row(400, 700), make_capped_row(700, 1000)]
    assert answer(runs) == (
        "H200 with tuned (compiled) takes 18\u202f% less energy per image (certain) than at "
        "700\u202fW, at 700.0\u202fimages/s with a cap of 400\u202fW."
    )
    assert "cap" not in answer([make_run_row(1000, "a"), make_rival(500)])
    uncapped = [make_run_row(1000, "a", cap_w=None), make_rival(500)]
    assert answer(uncapped).endswith("images/s with no cap.")


def test_open_result_is_named_open_and_only_if_it_takes_less_energy() -> None:
    closed = make_run_row(1000, "a")
    fast = make_run_row(1400, "b", standing="open", variant="fp8", precision="fp8")
    assert answer([closed, make_rival(500), fast]).endswith(
        " Open: fp8 takes 29\u202f% less (certain) than the best closed setting, at "
        "1\u202f400\u202fimages/s."
    )
    slow = make_run_row(900, "b", standing="open", variant="fp8", precision="fp8")
    assert answer([closed, slow]) == answer([closed])


def test_answer_without_a_closed_result_says_so() -> None:
    fast = make_run_row(1000, "b", standing="open")
    assert answer([fast]).startswith(
        "No closed result. Open: H200 with tuned (compiled) is the only compared setting: "
    )
    assert answer([fast, make_rival(500, standing="open")]).startswith(
        "No closed result. Open: H200 with tuned (compiled) takes 50\u202f% less energy per image "
    )


def test_published_figures_answer_as_published_without_a_measured_result() -> None:
    rows = [make_printed_row(700, 1000), make_printed_row(400, 900)]
    published = (
        "Published: H200 (Paper 2026) at 400\u202fW takes the least energy per image, \u2248\u202f"
        "0.4444\u202fJ/image, with power assumed equal to the cap."
    )
    assert answer(rows) == f"No measured result. {published}"
    demo = make_run_row(9000, "a", standing="demo")
    assert answer([*rows, demo]) == (
        f"No measured result: 1 demo run, which nothing is compared with. {published}"
    )
    assert "Published" not in answer([*rows, make_run_row(10, "a")])


def test_demo_runs_give_no_answer() -> None:
    demo_rows = [make_run_row(9000, board, standing="demo") for board in ("a", "b")]
    assert answer(demo_rows) == (
        "No measured result: 2 demo runs, which nothing is compared with. No result may be "
        "compared."
    )
    assert answer([make_run_row(1000, "a", implausible="above the peak")]) == (
        "No measured result. No result may be compared."
    )


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
    others = [make_run_row(1000, "a"), make_rival(500), make_printed_row(700, 500)]
    row = replace(row, accelerator="forbidden", model="forbidden")
    answers = [build_answer(RESNET, rows, NO_REPEATS) for rows in (others, [*others, row])]
    assert answers[0] == answers[1]


def test_unreviewed_reproducing_and_older_runs_are_in_no_answer() -> None:
    usual = make_run_row(1000, "a")
    fast = make_run_row(2000, "b", batch_size=64)
    assert fast.provenance is not None
    for fields in (
        {"bars": (UNUSUAL,)},
        {"original": "reference/h200/run"},
        {"newer": "reference/h200/run"},
    ):
        barred = replace(fast, provenance=replace(fast.provenance, **fields))
        assert answer([usual, barred]) == answer([usual])


def test_closed_run_on_simulated_boards_is_in_no_answer() -> None:
    simulated = make_run_row(9000, "b", "c", batch_size=64)
    assert simulated.provenance is not None
    run = simulated.provenance.run
    board, other = run.accelerators
    boards = (board, replace(other, name="Simulated H200"))
    provenance = replace(simulated.provenance, run=replace(run, accelerators=boards))
    rows = [make_run_row(1000, "a"), replace(simulated, provenance=provenance)]
    assert answer(rows) == answer(rows[:1])


def test_hostile_names_are_escaped() -> None:
    text = answer([make_run_row(1000, "a", model="H200\u202e<b>")])
    assert "H200\\u202e<b>" in text and "\u202e" not in text


def test_answers_and_cards_have_the_workload_with_most_closed_runs_first() -> None:
    rows = [
        make_run_row(1000, "a", workload=SERVING.id),
        *(make_run_row(900, board, workload=SERVING.id, cap_enforced=False) for board in "bc"),
        *(make_run_row(1000, board) for board in "ab"),
        make_printed_row(700, 1000, workload="llama3-8b-pretrain"),
    ]
    page = build_page_sentences(rows, (), (), NO_REPEATS, Path.as_posix, OtherSources())
    # By name, they have the reverse order.
    order = ["resnet50-train", "llama3-8b-serve", "llama3-8b-pretrain"]
    assert [(first.workload, first.runs) for first in page.answers] == list(
        zip(order, (2, 1, 0), strict=True)
    )
    assert [card.workload for card in page.cards] == order
    assert [first.title for first in page.answers][:2] == [RESNET.title, SERVING.title]
    empty = build_page_sentences([], (), (), NO_REPEATS, Path.as_posix, OtherSources())
    assert (list(empty.answers), list(empty.cards)) == ([], [])


def test_meaning_states_the_cap_that_all_compared_runs_share() -> None:
    rows = [make_run_row(1000, "a"), make_run_row(900, "b")]
    uncompared = [
        make_printed_row(400, 900),
        make_run_row(900, "c", cap_w=300.0, cap_enforced=False),
        make_run_row(900, "d", cap_w=300.0, standing="demo"),
    ]
    assert describe_meaning([*rows, *uncompared]) == (
        f"{MEANING} All compared runs have a cap of 700\u202fW."
    )
    assert describe_meaning([*rows, make_run_row(900, "c", cap_w=300.0)]) == MEANING
    assert describe_meaning([replace(row, cap_w=None) for row in rows]) == (
        f"{MEANING} All compared runs have no cap."
    )
    assert describe_meaning(uncompared) == MEANING


def test_meaning_explains_the_words_of_the_answers() -> None:
    for word in (
        "Certain: ",
        "Likely: ",
        "±: ",
        "Standing: closed,",
        "open,",
        "published,",
        "Scope: ",
    ):
        assert word in MEANING


@pytest.mark.parametrize("workload", workloads().values(), ids=lambda workload: workload.id)
def test_each_variant_has_a_few_words(workload: Workload) -> None:
    assert workload.variants_in_words.keys() == workload.variants.keys()
    for variant, words in workload.variants_in_words.items():
        assert words and words != variant and len(words) <= 40
