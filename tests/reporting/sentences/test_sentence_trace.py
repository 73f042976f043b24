"""The numbers of all sentences on submissions/ are those of the tables of the page."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

import pytest
from support.committed_runs import SUBMISSIONS
from support.report.recomputed_results import JOULES, PER_JOULE, RATE

from reporting.collect import collect
from reporting.page_model import PageModel, build_page_model
from reporting.report_table import NO_BREAK, ReportTable, TableRow, format_number, format_value
from reporting.words import format_percent
from rules.metrics.uncertainty.between_runs import compare_settings

NUMBER = rf"\d[\d{NO_BREAK}]*(?:\.\d+)?"
UNIT = r"(?:images|tokens)/[sJ]|J/(?:image|token)|W"
AMOUNT = re.compile(rf"({NUMBER})(?:(?:\u2013|\s±\s)({NUMBER}))?\s({UNIT})\b")
_COSTS = ("eur_per_million", "gco2e_per_million")
MEASURED_SHARE = re.compile(
    r"With the (\d+)\u2013(\d+)\sW per accelerator that others measured or bounded, it is "
    r"([\d.]+)\s% to ([\d.]+)\s% lower"
)
PRINTED_CHANGE = re.compile(
    r"(\S+) needs ([\d.]+)\s% (less|more) energy per [\w ]+? at (\d+)\sW than at (\d+)\sW, with "
    r"([\d.]+)\s% (less|more) throughput"
)


@pytest.fixture(scope="module")
def page() -> PageModel:
    return build_page_model(collect([SUBMISSIONS]), Path.as_posix)


def list_tables(page: PageModel, workload: str) -> list[ReportTable]:
    return [table for table in page.tables if table.id.startswith(f"{workload}-")]


def list_sound_rows(table: ReportTable) -> list[TableRow]:
    marks = ("doubt", "implausible", "withheld")
    return [row for row in table.rows if not any(row.get(mark) for mark in marks)]


def list_series_rows(table: ReportTable) -> list[TableRow]:
    """The published rows that count within their series over the cap."""
    return [
        row
        for row in table.rows
        if row.get("standing") == "published"
        and not (row.get("doubt") or row.get("implausible"))
        and "only the shape" in str(row.get("withheld") or "only the shape")
    ]


def list_sentences(page: PageModel, workload: str) -> list[str]:
    """All generated texts on a workload."""
    (card,) = [card for card in page.sentences.cards if card.workload == workload]
    (answer,) = [answer for answer in page.sentences.answers if answer.workload == workload]
    leaders = [leader for leader in (card.closed, card.open, card.published) if leader]
    texts = [answer.text]
    for leader in leaders:
        amounts = [a for a in (leader.energy, leader.efficiency, leader.throughput) if a]
        texts += [leader.default_note, leader.ties, leader.cap, leader.spread]
        texts += [amount.text_with_interval for amount in amounts]
    texts += [
        sentence
        for question in page.sentences.findings[workload].questions
        # Tests of their own have these two.
        if question.id not in ("node", "cost")
        for sentence in question.sentences
    ]
    for table in list_tables(page, workload):
        for text in page.sentences.chart_texts.get(table.id, {}).values():
            texts += [text.title, text.alt]
    return texts


def list_shown_values(tables: Sequence[ReportTable]) -> Iterator[tuple[str, str]]:
    """The unit and the text of each number of the tables, and of half of each interval, without
    rows that may not win."""
    for table in tables:
        for column in table.columns:
            unit = re.split(r",? (?:per|all) ", column.unit)[0].removesuffix(",")
            for row in list_sound_rows(table):
                value = row.get(column.key)
                if not isinstance(value, int | float):
                    continue
                text = format_value(column, row).lstrip(f"≈{NO_BREAK}")
                yield from ((unit, text), (unit, format_number(value)))
                low, high = row.get(f"{column.key}_low"), row.get(f"{column.key}_high")
                if isinstance(low, int | float) and isinstance(high, int | float):
                    decimals = len(text.partition(".")[2])
                    yield unit, f"{(high - low) / 2:.{decimals}f}"


SETTING_KEYS = ("line", "cap_w", "batch", "count", "standing")


def list_setting_values(results: ReportTable, compare: ReportTable) -> Iterator[tuple[str, str]]:
    """The means over the repeats of each setting in a table of results, computed again from the
    single runs, and half of their intervals. Those of energy are in the table of comparisons, and
    those of efficiency are as wide as these."""
    settings: dict[tuple[object, ...], list[TableRow]] = {}
    for row in list_sound_rows(results):
        if row["standing"] != "published":
            settings.setdefault(tuple(row[name] for name in SETTING_KEYS), []).append(row)
    compared = {tuple(row[name] for name in SETTING_KEYS): row for row in compare.rows}
    for key, rows in settings.items():
        if len(rows) < 2:
            continue
        for name in (RATE, JOULES, PER_JOULE):
            column = results.get_column(name)
            mean = fmean(float(row[name] or 0) for row in rows)
            unit, text = column.unit.removesuffix(" per accelerator"), format_number(mean)
            energy_low, energy, energy_high = (
                float(compared[key][f"{JOULES}{end}"] or 0) for end in ("_low", "", "_high")
            )
            half_width = mean * (energy_high - energy_low) / 2 / energy
            decimals = len(text.partition(".")[2])
            yield from ((unit, text), (unit, f"{half_width:.{decimals}f}"))


WORKLOADS = (
    "llama3-8b-pretrain",
    "llama3-8b-serve",
    "resnet50-train",
    "sd2-latents-train",
    "sd2-train",
    "vitl16-train",
)


def test_every_workload_has_a_card_and_findings(page: PageModel) -> None:
    assert sorted(card.workload for card in page.sentences.cards) == sorted(WORKLOADS)
    assert sorted(page.sentences.findings) == sorted(WORKLOADS)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_amount_is_in_a_table_of_its_workload(page: PageModel, workload: str) -> None:
    tables = list_tables(page, workload)
    (results,) = [table for table in tables if table.id == f"{workload}-results"]
    caps_w = {
        ("W", format_number(float(row["cap_w"] or 0), 1)) for row in list_series_rows(results)
    }
    shown_values = {*list_shown_values(tables), *caps_w}
    # A workload with one setting has no comparison.
    for compare in tables:
        if compare.id == f"{workload}-compare":
            shown_values |= {*list_setting_values(results, compare)}
    count = 0
    for sentence in list_sentences(page, workload):
        for low, high, unit in AMOUNT.findall(sentence):
            for number in filter(None, (low, high)):
                assert (unit, number) in shown_values, sentence
                count += 1
    assert count > 30


def read_runs(row: TableRow) -> dict[str, list[float]]:
    """The energies of the runs of a setting by board. Of several runs on a board the table has the
    mean, so that each counts as often as its board has runs."""
    runs: dict[str, list[float]] = {}
    for part in str(row["runs_by_board"]).split("; "):
        board, count, _, joules = part.split(", ")
        runs[board] = int(count) * [float(joules)]
    return runs


def compare_rows(page: PageModel, row: TableRow, baseline: TableRow) -> tuple[str, str, str]:
    """How far the energy of a setting is above that of another one, and how certain that is."""
    spreads = [page.spread.find(str(r["model"])).by_figure[JOULES] for r in (row, baseline)]
    difference = compare_settings(read_runs(row), spreads[0], read_runs(baseline), spreads[1])
    percent = format_percent(difference.percent)
    return percent, "less" if difference.percent < 0 else "more", difference.certainty


def choose_least(rows: Sequence[TableRow], **cells: object) -> TableRow:
    """The row of least energy that has these cells."""
    return min(
        (row for row in rows if all(row[key] == cell for key, cell in cells.items())),
        key=lambda row: float(row[JOULES] or 0),
    )


LEAST = re.compile(
    r"(?P<model>\S+) with (?P<variant>\S+) \([^)]+\) takes ([\d.]+\s%) (less|more) energy per "
    r"[a-z ]+ \((?P<told>certain|likely|not told apart)\) than (?P<rival>\S+) .*?, at "
)
BOARDS = re.compile(
    r"(?P<model>\S+) takes ([\d.]+\s%) (less|more) "
    r"\((?P<told>certain|likely|not told apart)\) than (?P<other>\S+), both (?P<variant>\S+), at "
)
OPEN = re.compile(
    r"Open: (?P<variant>\S+) \([^)]+\)(?:, [^.]+?)? takes ([\d.]+\s%) (less|more) "
    r"\((?P<told>certain|likely|not told apart)\) than the best closed setting, at "
)


def test_answers_are_those_of_the_tables_of_comparisons(page: PageModel) -> None:
    counts = dict.fromkeys(("least", "boards", "open"), 0)
    for answer in page.sentences.answers:
        rows = [
            row
            for table in list_tables(page, answer.workload)
            if table.id == f"{answer.workload}-compare"
            for row in table.rows
        ]
        if match := LEAST.match(answer.text):
            best = choose_least(rows, standing="closed")
            assert (best["model"], best["variant"]) == (match["model"], match["variant"])
            same_boards = {key: best[key] for key in ("model", "count", "standing")}
            rival = choose_least(rows, variant=match["rival"], **same_boards)
            assert (match[3], match[4], match["told"]) == compare_rows(page, best, rival)
            others = [row for row in rows if row["variant"] != best["variant"]]
            assert rival is choose_least(others, **same_boards)
            counts["least"] += 1
        for match in BOARDS.finditer(answer.text):
            own, other = (
                choose_least(
                    rows, standing="closed", model=match[model], variant=match["variant"], count=1
                )
                for model in ("model", "other")
            )
            assert (match[2], match[3], match["told"]) == compare_rows(page, own, other)
            counts["boards"] += 1
        if match := OPEN.search(answer.text):
            best, closed = (choose_least(rows, standing=name) for name in ("open", "closed"))
            assert best["variant"] == match["variant"]
            assert (match[2], match[3], match["told"]) == compare_rows(page, best, closed)
            counts["open"] += 1
    # One workload has a single setting. H100 is measured for one workload.
    assert counts == {"least": 5, "boards": 1, "open": 3}


def test_leader_of_the_precision_answer_is_that_of_the_card(page: PageModel) -> None:
    """Two answers to which setting needs the least energy are the same."""
    count = 0
    for card in page.sentences.cards:
        leaders = [leader for leader in (card.closed, card.open) if leader]
        least = min(leaders, key=lambda leader: float(leader.energy.value))
        for question in page.sentences.findings[card.workload].questions:
            if question.id == "precision":
                stated = re.findall(rf"({NUMBER})\sJ/", " ".join(question.sentences))
                assert min(map(float, stated)) == float(least.energy.value)
                count += 1
    assert count == 3


def test_no_sentence_of_a_workload_is_on_image_models(page: PageModel) -> None:
    """Studies of image models are no results of these workloads."""
    for workload in WORKLOADS:
        shared = [q.shared for q in page.sentences.findings[workload].questions]
        assert "image model" not in repr((list_sentences(page, workload), shared))


def test_printed_changes_are_those_of_the_tables(page: PageModel) -> None:
    count = 0
    for workload in WORKLOADS:
        rows = {
            (row["model"], row["cap_w"]): row
            for table in list_tables(page, workload)
            if table.id.endswith("-results")
            for row in list_series_rows(table)
        }
        for question in page.sentences.findings[workload].questions:
            for sentence in question.sentences:
                for (
                    model,
                    joules,
                    joules_way,
                    cap,
                    reference_w,
                    rate,
                    rate_way,
                ) in PRINTED_CHANGE.findall(sentence):
                    row, reference = rows[model, int(cap)], rows[model, int(reference_w)]
                    for key, size, way in (
                        ("items_per_s_per_accelerator", rate, rate_way),
                        ("joules_per_item", joules, joules_way),
                    ):
                        change = 100 * (float(row[key] or 0) / float(reference[key] or 0) - 1)
                        assert format_percent(change) == f"{size}{NO_BREAK}%"
                        assert (change < 0) == (way == "less")
                        count += 1
    assert count == 24


def test_node_share_follows_from_power_and_throughput(page: PageModel) -> None:
    for card in page.sentences.cards:
        (node,) = (
            question
            for question in page.sentences.findings[card.workload].questions
            if question.id == "node"
        )
        (sentence,) = node.sentences
        efficiency = float(re.findall(rf"lower: ({NUMBER})", sentence)[0])
        assert card.closed is not None
        joules = float(card.closed.energy.value)
        rate = float(card.closed.throughput.value.replace(NO_BREAK, ""))
        assert efficiency == pytest.approx(1 / (joules + 25 / rate), rel=2e-3)
        low_w, high_w, least, most = map(float, MEASURED_SHARE.findall(sentence)[0])
        # The publications are named below.
        stated_w = [float(watts) for watts in re.findall(r"\d{3}", " ".join(node.shared))]
        assert {low_w, high_w} <= set(stated_w)
        assert low_w == min(share.low_w for share in page.node_shares)
        for share_w, percent in ((low_w, least), (high_w, most)):
            lower = 100 * (1 - joules / (joules + share_w / rate))
            assert percent == pytest.approx(lower, abs=0.6)


def test_costs_are_those_of_the_what_if_table(page: PageModel) -> None:
    costs = {
        (row["workload"], *(format_number(float(row[key] or 0)) for key in _COSTS))
        for row in list_sound_rows(page.find("what-if"))
    }
    for workload in WORKLOADS:
        (sentence,) = next(
            question.sentences
            for question in page.sentences.findings[workload].questions
            if question.id == "cost"
        )
        cost = re.match(rf"({NUMBER})\sEUR and ({NUMBER})\sg\sCO2e for", sentence)
        assert cost is not None and (workload, cost[1], cost[2]) in costs
