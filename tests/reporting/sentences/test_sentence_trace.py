"""The numbers of all sentences on submissions/ are those of the tables of the page."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.committed_runs import SUBMISSIONS
from support.report.recomputed_results import JOULES, PER_JOULE, RATE

from reporting.collect import collect
from reporting.page_model import PageModel, build_page_model
from reporting.report_table import NO_BREAK, ReportTable, TableRow, format_number, format_value
from reporting.sentences.words import format_percent
from rules.metrics.figures import estimate_mean

NUMBER = rf"\d[\d{NO_BREAK}]*(?:\.\d+)?"
UNIT = r"(?:images|tokens)/[sJ]|J/(?:image|token)|W"
AMOUNT = re.compile(rf"({NUMBER})(?:(?:\u2013|\s±\s)({NUMBER}))?\s({UNIT})\b")
_COSTS = ("eur_per_million", "gco2e_per_million")
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
    leaders = [leader for leader in (card.closed, card.open, card.published) if leader]
    texts = [card.sentence]
    for leader in leaders:
        amounts = [a for a in (leader.energy, leader.efficiency, leader.throughput) if a]
        texts += [leader.default_note, leader.ties, leader.cap]
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


def list_setting_values(table: ReportTable) -> Iterator[tuple[str, str]]:
    """The means over the repeats of each setting in a table of results, and half of their
    intervals, computed again from the single runs."""
    settings: dict[tuple[object, ...], list[TableRow]] = {}
    for row in list_sound_rows(table):
        if row["standing"] != "published":
            key = tuple(row[name] for name in ("line", "cap_w", "batch", "count", "standing"))
            settings.setdefault(key, []).append(row)
    for rows in settings.values():
        for column in table.columns:
            if column.key not in (RATE, JOULES, PER_JOULE) or len(rows) < 2:
                continue
            estimate = estimate_mean([float(row[column.key] or 0) for row in rows])
            unit, text = column.unit.removesuffix(" per accelerator"), format_number(estimate.mean)
            decimals = len(text.partition(".")[2])
            yield from ((unit, text), (unit, f"{estimate.half_width:.{decimals}f}"))


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
    shown_values = {*list_shown_values(tables), *list_setting_values(results), *caps_w}
    count = 0
    for sentence in list_sentences(page, workload):
        for low, high, unit in AMOUNT.findall(sentence):
            for number in filter(None, (low, high)):
                assert (unit, number) in shown_values, sentence
                count += 1
    assert count > 30


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
        (sentence,) = next(
            question.sentences
            for question in page.sentences.findings[card.workload].questions
            if question.id == "node"
        )
        efficiency = float(re.findall(rf"lower: ({NUMBER})", sentence)[0])
        assert card.closed is not None
        joules = float(card.closed.energy.value)
        rate = float(card.closed.throughput.value.replace(NO_BREAK, ""))
        assert efficiency == pytest.approx(1 / (joules + 25 / rate), rel=2e-3)


def test_costs_are_those_of_the_what_if_table(page: PageModel) -> None:
    assert page.what_if is not None
    costs = {
        (row["workload"], *(format_number(float(row[key] or 0)) for key in _COSTS))
        for row in list_sound_rows(page.what_if)
    }
    for workload in WORKLOADS:
        (sentence,) = next(
            question.sentences
            for question in page.sentences.findings[workload].questions
            if question.id == "cost"
        )
        cost = re.match(rf"({NUMBER})\sEUR and ({NUMBER})\sg\sCO2e for", sentence)
        assert cost is not None and (workload, cost[1], cost[2]) in costs
