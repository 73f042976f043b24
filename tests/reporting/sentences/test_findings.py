"""The questions that generated sentences answer, and the line of trust."""

import re
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from support.report.result_rows import make_figure, make_run_row
from support.report.sentence_rows import (
    RESNET,
    answer,
    make_capped_row,
    make_h100_row,
    make_printed_row,
    make_sweep,
)

from reporting.results_model import ResultRow
from reporting.sections.repeats import JOULES, NO_REPEATS, RATE, measure_spread
from reporting.sentences.answers import build_answer
from reporting.sentences.cards import build_card
from reporting.sentences.charts import list_titles
from reporting.sentences.findings import build_findings
from reporting.sentences.other_sources import OtherSources
from reporting.sentences.trust import build_trust_line
from rules.finding import Finding, Severity
from rules.workloads import workloads


def test_measured_cap_states_saving_cost_and_interval() -> None:
    rows = [make_capped_row(500, 900), make_capped_row(700, 1000)]
    assert answer(rows, make_sweep(rows))["capping"] == (
        # 1.5 % in the rule book x 2.145 x the root of 2 on either side, as a factor.
        "Measured: node · tuned bf16 at 500\u202fW: 21\u202f% less energy per image (95\u202f% "
        "interval 16.94 to 24.17\u202f%) and 11\u202f% more time than at 700\u202fW.",
    )


@pytest.mark.parametrize("relative_error", [1e-9, 0.2, None])
def test_cap_is_told_apart_by_what_another_run_would_give(relative_error: float | None) -> None:
    """The intervals within the runs of the sweep decide nothing."""
    for rate, is_clear in ((900, True), (740, False)):
        rows = [make_capped_row(500, rate), make_capped_row(700, 1000)]
        (sentence,) = answer(rows, make_sweep(rows, relative_error))["capping"]
        unclear = "energy per image cannot be told apart from that at 700\u202fW."
        assert ("21\u202f% less energy per image" in sentence) is is_clear
        assert sentence.endswith(unclear) is not is_clear


@pytest.mark.parametrize("wide", [RATE, JOULES])
def test_energy_and_time_of_a_cap_are_each_told_apart_by_their_own_spread(wide: str) -> None:
    """At 500 W the run takes 8 % less energy and 9 % more time. The repeats of another setting on
    four boards are far apart in one of the two."""
    rows = [
        make_capped_row(500, 500 / 0.545),
        make_capped_row(700, 1000, joules_per_item=make_figure(0.6)),
    ]
    repeats = [
        make_run_row(
            scale if wide == RATE else 1.0,
            board,
            batch_size=1,
            joules_per_item=make_figure(scale if wide == JOULES else 1.0),
        )
        for board, scale in zip("bcde", (0.95, 0.96, 1.04, 1.05), strict=True)
    ]
    findings = build_findings(RESNET, rows, [make_sweep(rows)], measure_spread([*rows, *repeats]))
    (sentence,) = findings.questions[0].sentences
    assert ("9.2\u202f% less energy per image" in sentence) is (wide == RATE)
    assert ("in a time that cannot be told apart" in sentence) is (wide == RATE)
    assert ("energy per image cannot be told apart" in sentence) is (wide == JOULES)


def test_cap_of_a_run_that_may_not_win_is_not_stated() -> None:
    runs = [make_capped_row(500, 900), make_capped_row(700, 1000)]
    for place in (0, 1):
        rows = [
            replace(row, cap_enforced=False) if number == place else row
            for number, row in enumerate(runs)
        ]
        assert answer(rows, make_sweep(rows))["capping"] == (
            "No measured cap may be compared with the default cap.",
        )


def test_published_caps_are_stated_at_500_w_as_published_and_uncertain() -> None:
    caps = ((300, 400), (400, 800), (500, 900), (700, 1000))
    rows = [make_printed_row(cap, rate) for cap, rate in caps]
    rows.append(make_printed_row(200, 900, cap_enforced=False))
    assert answer(rows)["capping"] == (
        "No run measured a lower cap.",
        "Published by Paper 2026, with power assumed equal to the cap and no interval, so of "
        "unknown uncertainty: H200 needs 21\u202f% less energy per image at 500\u202fW than at "
        "700\u202fW, with 10\u202f% less throughput.",
    )


def test_published_caps_have_one_part_by_board_and_the_range_at_the_peaks() -> None:
    caps = ((300, 400), (400, 800), (500, 900), (700, 1000))
    rows = [
        make_printed_row(cap + offset, rate, model=model, system=system)
        for offset, model, system in ((0, "H200", "Paper 2026"), (10, "H100", "Paper 2027"))
        for cap, rate in caps
    ]
    _, sentence = answer(rows)["capping"]
    # H100 has no cap of 500 W: its cap of least energy takes its place.
    assert (
        "; H100 in Paper 2027 needs 28\u202f% less energy per image at 410\u202fW than" in sentence
    )
    assert sentence.endswith(
        "; the curves peak at 29\u202f% less energy per image with 20\u202f% less throughput "
        "(H200) and 28\u202f% with 20\u202f% (H100)."
    )


def test_published_caps_of_which_only_the_shape_is_compared_say_so() -> None:
    rows = [make_printed_row(cap, cap, comparison="shape") for cap in (400, 500)]
    _, sentence = answer([*rows, make_printed_row(700, 500, comparison="shape")])["capping"]
    assert "H200 needs 29\u202f% less energy per image at 500\u202fW than at 700" in sentence
    assert sentence.endswith("Only the shapes of these curves are compared, not their levels.")


def test_difference_to_a_publication_names_the_settings_that_differ() -> None:
    rows = [
        make_run_row(3400, "a", batch_size=2048),
        make_run_row(1100, "a", variant="baseline", precision="tf32", batch_size=512),
        make_printed_row(700, 1000.5),
    ]
    # Nearer, but it may not win.
    rows.append(make_run_row(1001, "b", variant="other", cap_enforced=False))
    assert answer(rows)["published"] == (
        "Paper 2026 print 1\u202f000.5\u202fimages/s for H200 at 700\u202fW.",
        "NVIDIA H200, tuned bf16, batch size 2048, reaches 3\u202f400\u202fimages/s per "
        "accelerator: "
        "3.40 times as much.",
        "NVIDIA H200, baseline tf32, batch size 512, reaches 1\u202f100\u202fimages/s per "
        "accelerator: "
        "1.10 times as much.",
        "The two measured settings differ in variant (tuned and baseline), precision (bf16 and "
        "tf32) and batch size (2048 and 512).",
        "The published row does not state its precision, variant and batch size.",
    )
    rows[2] = replace(rows[2], paper="mayr2026")
    assert answer(rows)["published"][-1] == (
        "The published row does not state its precision, variant and batch size. Runs with --like "
        "mayr have those of the published code."
    )


def test_publication_is_compared_with_the_run_with_its_settings_though_another_is_nearer() -> None:
    rows = [
        make_run_row(3400, "a"),
        make_run_row(1100, "a", variant="baseline", precision="tf32"),
        make_run_row(1200, "a", variant="mayr", precision="tf32", standing="open"),
        make_printed_row(700, 1000, paper="mayr2026"),
    ]
    assert answer(rows)["published"][2].startswith("NVIDIA H200, mayr tf32, batch size")


def test_publication_with_a_caution_is_said_not_to_be_compared() -> None:
    fields = {"comparison": "none", "caution": "Divide by four."}
    printed = [make_printed_row(cap_w, 1000, **fields) for cap_w in (600, 700)]
    assert answer([make_run_row(3400, "a"), *printed])["published"] == (
        "The figures of Paper 2026 for H200 at 700\u202fW are not compared with measured ones; the "
        "notes below the table give the reason.",
    )


@pytest.mark.parametrize(
    "fields", [{"comparison": "none"}, {"comparison": "shape"}, {"implausible": "above the peak"}]
)
def test_measured_results_are_not_compared_with_a_publication_that_forbids_it(
    fields: dict[str, Any],
) -> None:
    rows = [make_run_row(3400, "a"), make_printed_row(700, 1000, **fields)]
    sentences = answer(rows)
    assert "published" not in sentences
    assert sentences["capping"] == ("No run measured a lower cap.",)


def test_node_share_is_assumed_without_a_node_meter() -> None:
    row = make_run_row(1000, "a", mean_power_w=make_figure(475))
    assert answer([row])["node"] == (
        "No node meter measured this setting. With 100\u202fW per 4 accelerators, as Mayr "
        "et al. 2026 "
        "assume, efficiency is 5.0\u202f% lower: 2.000\u202fimages/J.",
    )


def test_assumed_node_share_stands_beside_what_others_measured() -> None:
    """475 W and 25 W give 2 images/J; 475 W and 170 or 312 W give 26 % or 40 % less than 475 W."""
    row = make_run_row(1000, "a", mean_power_w=make_figure(475))
    sources = OtherSources(("At least 290 W.",), (200.0, 311.9, 170.2))
    findings = build_findings(RESNET, [row], [], measure_spread([row]), sources)
    (node,) = (question for question in findings.questions if question.id == "node")
    assert node.sentences == (
        "No node meter measured this setting. With 100\u202fW per 4 accelerators, as Mayr et al. "
        "2026 assume, efficiency is 5.0\u202f% lower: 2.000\u202fimages/J. With the "
        "170\u2013312\u202fW per accelerator that others measured or bounded, it is 26\u202f% to "
        "40\u202f% lower.",
    )
    assert node.shared == ("At least 290 W.",)


def test_boards_are_answered_where_both_are_measured() -> None:
    h200 = [make_run_row(1000, "a"), make_run_row(1200, "a", variant="s2d")]
    assert "boards" not in answer(h200)
    rows = [*h200, make_h100_row(900, "b")]
    questions = build_findings(RESNET, rows, [], measure_spread(rows)).questions
    (boards,) = (question for question in questions if question.id == "boards")
    assert boards.question == "Which board needs less energy?"
    assert boards.sentences == (
        "H200 takes 10\u202f% less (certain) than H100, both tuned, at 1\u202f000\u202fimages/s "
        "against 900.0\u202fimages/s.",
    )
    # The answer at the top of the page has the same sentence.
    assert boards.sentences[0] in build_answer(RESNET, rows, measure_spread(rows)).text
    # A board that may not win or was not measured is not compared.
    failed = make_h100_row(900, "b", cap_enforced=False)
    assert "boards" not in answer([*h200, failed, make_printed_row(700, 900, model="H100")])


def test_cost_is_that_of_electricity() -> None:
    findings = build_findings(RESNET, [make_run_row(1000, "a")], [], NO_REPEATS)
    (cost,) = (question for question in findings.questions if question.id == "cost")
    assert cost.question == "What does the electricity for a million images cost?"
    assert cost.sentences[0].startswith("0.06319\u202fEUR and ")


def test_all_workloads_have_the_nodes_of_papers_and_no_load_of_other_sources() -> None:
    sources = OtherSources(("At least 290 W.",), (290.0,))
    rows = [make_run_row(1000, "a")]
    for workload in (RESNET, workloads()["llama3-8b-serve"]):
        findings = build_findings(workload, rows, [], measure_spread(rows), sources)
        questions = {question.id: question for question in findings.questions}
        assert questions["load"].shared == ()
        assert questions["node"].shared == ("At least 290 W.",)


def test_reproduction_names_the_centers() -> None:
    row = make_run_row(1000, "a")
    assert row.provenance is not None
    assert answer([row])["reproduced"][0] == "The setting with the least energy is not reproduced."
    reproduced = replace(row.provenance, reproducers=("beta", "gamma"))
    assert answer([replace(row, provenance=reproduced)])["reproduced"] == (
        "The setting with the least energy is reproduced by 2 centers: beta; gamma.",
        "Trust in it: not reviewed, not accepted, reproduced by 2.",
    )
    tie = make_run_row(995, "b", batch_size=64)
    rows = [row, replace(tie, provenance=replace(reproduced, run=tie.provenance.run))]  # type: ignore[union-attr]
    assert answer(rows)["reproduced"][2].startswith(
        "NVIDIA H200, tuned bf16, which cannot be told apart, is reproduced by 2 centers"
    )


def place_run(row: ResultRow, path: str, site: str, **trust: Any) -> ResultRow:
    """The row of a run in this directory, at this site."""
    assert row.provenance is not None
    system: Any = SimpleNamespace(site=site)
    run: Any = replace(row.provenance.run, path=Path(path))
    placed: Any = SimpleNamespace(**vars(run), system_facts=system, is_simulated=False)
    placed.node, placed.headline = None, run.headline
    return replace(
        row,
        center=Path(path).parts[-3],
        provenance=replace(row.provenance, run=placed, **trust),
    )


@pytest.mark.parametrize(
    ("site", "note"), [("Berlin", ", which shares the stated site"), ("Bonn", "")]
)
def test_reproduction_states_its_distance_and_an_equal_site(site: str, note: str) -> None:
    original = place_run(
        make_run_row(1000, "a"), "r/alpha/h200/run-1", "Berlin", reproducers=("beta",)
    )
    repeat = place_run(
        make_run_row(1012, "b"), "r/beta/h200/run-2", site, original="alpha/h200/run-1"
    )
    # One that does not count, of another center.
    uncounted = place_run(
        make_run_row(500, "c"), "r/delta/h200/run-3", "Berlin", original="alpha/h200/run-1"
    )
    assert answer([original, uncounted, repeat])["reproduced"][0] == (
        "The setting with the least energy is reproduced by 1 center: beta"
        f"{note} (+1.2\u202f% throughput and \u22121.2\u202f% energy per item)."
    )


def make_finding(rule: str, severity: Severity) -> Finding:
    return Finding(rule, severity, "result.json", "", "found", "expected", "message")


def test_trust_line_counts_warnings_notes_and_results_that_win_nothing() -> None:
    note, warning = make_finding("M112", Severity.NOTE), make_finding("M108", Severity.WARNING)
    rows = [
        make_run_row(1000, "a"),
        make_run_row(1000, "b", cap_enforced=False),
        make_printed_row(700, 1000, comparison="none"),
        make_run_row(1000, "c", standing="control"),
        make_run_row(1000, "d", standing="demo"),
    ]
    line = build_trust_line([[note, note], [note, warning], []], rows)
    assert line.text == "1 warning, 3 notes, 2 results not comparable"
    assert build_trust_line([[]], []).text == "0 warnings, 0 notes, 0 results not comparable"


def test_demo_runs_answer_no_question() -> None:
    rows = [make_run_row(1000, "a", standing="demo")]
    assert build_findings(RESNET, rows, [], NO_REPEATS).questions[0].sentences == (
        "No run measured a lower cap.",
    )
    assert list(answer(rows)) == ["capping"]


def make_marked_rows(random: Random) -> list[ResultRow]:
    """Rows of random standings and marks, each with a name of its own."""
    rows: list[ResultRow] = []
    for number in range(random.randint(1, 8)):
        name, rate = f"board{number}.", random.choice((900, 1000, 1010, 2000))
        cap_w = random.choice((300.0, 500.0, 700.0))
        marks: dict[str, Any] = random.choice(
            ({}, {}, {"cap_enforced": False}, {"implausible": "above the peak"})
        )
        if random.random() < 0.4:
            comparison = random.choice(("level", "shape", "none"))
            row = make_printed_row(cap_w, rate, model=name, comparison=comparison, **marks)
        else:
            standing = random.choice(("closed", "closed", "open", "demo", "control"))
            named = {"accelerator": name, "model": name}
            row = make_capped_row(cap_w, rate, standing=standing, **named, **marks)
            assert row.provenance is not None
            trust: dict[str, Any] = random.choice(
                ({}, {}, {"bars": (make_finding("X114", Severity.WARNING),)}, {"original": "a/b/c"})
            )
            row = replace(row, provenance=replace(row.provenance, **trust), batch_size=number)
        rows.append(row)
    return rows


def test_no_sentence_names_a_row_that_may_not_win() -> None:
    random, named = Random(17), 0
    for _ in range(150):
        rows = make_marked_rows(random)
        measured = [row for row in rows if row.standing in ("closed", "open")]
        sweeps = [make_sweep(measured)] if measured else []
        spread = measure_spread(rows)
        texts = (
            build_answer(RESNET, rows, spread),
            build_card(RESNET, rows, sweeps, spread, Path.as_posix),
            build_findings(RESNET, rows, sweeps, spread),
            list_titles(RESNET, rows, sweeps, spread),
        )
        for row in rows:
            if row.may_win and row.standing != "demo":
                named += row.accelerator in repr(texts)
            else:
                assert row.accelerator not in repr(texts), row
    assert named > 50


def test_measured_effects_are_one_sentence_on_500_w_and_the_best_cap() -> None:
    rows = [make_capped_row(300.0 + 20 * step, 900) for step in range(12)]
    (sentence,) = answer(rows, make_sweep(rows))["capping"]
    stated = [int(cap) for cap in re.findall(r"tuned bf16 at (\d+)", sentence)]
    assert stated == [500, 300], "the cap that readers ask for, and the most efficient one"
    assert sentence.endswith("; the tables have 9 more effects.")
