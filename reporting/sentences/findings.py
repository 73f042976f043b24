"""The questions about a workload that sentences answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from reporting.report_table import escape_invisible, format_number
from reporting.results_model import ResultRow
from reporting.sections.cells import name_load, name_setting
from reporting.sections.like_paper import PAPERS
from reporting.sections.nodes.power import explain_unranked
from reporting.sections.repeats import ReportSpread, Setting, join_repeats
from reporting.sections.sweeps.caps import CapSweep
from reporting.sentences.answers import compare_boards
from reporting.sentences.capping import (
    describe_measured_effects,
    describe_printed_effects,
    list_effects,
)
from reporting.sentences.choice import choose_setting, get_joules
from reporting.sentences.confirmation import describe_reproduction
from reporting.sentences.cost import estimate_cost
from reporting.sentences.operating_points import describe_best_precision, describe_operating_point
from reporting.sentences.other_sources import OtherSources
from reporting.words import (
    format_amount,
    format_cap,
    format_percent,
    format_percent_range,
    format_range,
    format_value_with_unit,
    format_watts,
    join_words,
    name_items,
)
from rules.metrics.comparison import relative_percent
from rules.metrics.power.profile import NODE_ACCELERATORS, NODE_OVERHEAD_W, with_node_overhead
from rules.workloads import Workload, pluralize_item

NO_OTHER_SOURCES = OtherSources()


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question and the sentences that answer it."""

    id: str
    question: str
    sentences: tuple[str, ...]
    joules_per_item: float | None = None
    """Of the question of cost: the page computes the cost under other assumptions from it."""
    shared: tuple[str, ...] = ()
    """Sentences that follow, equal for several workloads: from studies or publications. A printed
    page has them once."""


@dataclass(frozen=True)
class WorkloadFindings:
    """The answered questions about a workload. A question without an answer is left out."""

    questions: tuple[AnsweredQuestion, ...]


def build_findings(
    workload: Workload,
    rows: Sequence[ResultRow],
    sweeps: Sequence[CapSweep],
    spread: ReportSpread,
    sources: OtherSources = NO_OTHER_SOURCES,
) -> WorkloadFindings:
    """The findings from the rows of a workload of all standings, its measured sweeps over caps, and
    other sources."""
    choice = choose_setting(rows, "closed", spread) or choose_setting(rows, "open", spread)
    submitted = [row for row in rows if row.standing in ("closed", "open")]
    candidates = [
        _answer(
            "capping",
            "What does a lower cap cost and save?",
            _describe_capping(workload, rows, sweeps, spread),
        )
    ]
    if choice is not None:
        candidates += [
            _answer(
                "published",
                "Why do published and measured figures differ?",
                _describe_published(workload, rows, choice.best),
            ),
            _describe_cost(workload, choice.best),
            _answer(
                "node",
                "How much does the node add?",
                _describe_node(workload, choice.best, sources.node_shares_w),
                sources.nodes,
            ),
            _answer("boards", "Which board needs less energy?", compare_boards(choice, workload)),
            _answer(
                "load",
                "Which load is most efficient?",
                describe_operating_point(workload, submitted, spread),
            ),
            _answer(
                "precision",
                "Which precision is most efficient?",
                describe_best_precision(workload, submitted, spread),
            ),
            _answer(
                "reproduced", "Is this result reproduced?", describe_reproduction(choice, rows)
            ),
        ]
    return WorkloadFindings(tuple(question for question in candidates if question.sentences))


def _answer(
    id: str, question: str, sentences: Sequence[str], shared: tuple[str, ...] = ()
) -> AnsweredQuestion:
    return AnsweredQuestion(id, question, tuple(sentences), shared=shared)


def _describe_capping(
    workload: Workload,
    rows: Sequence[ResultRow],
    sweeps: Sequence[CapSweep],
    spread: ReportSpread,
) -> list[str]:
    """One sentence on measured effects, and one on printed ones."""
    effects = [effect for sweep in sweeps for effect in list_effects(sweep, spread)]
    if effects:
        measured = describe_measured_effects(effects, workload.item_name)
    elif sweeps:
        measured = "No measured cap may be compared with the default cap."
    else:
        with_meter = " with a node meter" if any(row.is_of_nodes for row in rows) else ""
        measured = f"No run{with_meter} measured a lower cap."
    printed = describe_printed_effects(rows, workload.item_name)
    return [measured, printed] if printed else [measured]


def _describe_published(
    workload: Workload, rows: Sequence[ResultRow], leader: Setting
) -> list[str]:
    """The throughput of the leader beside the published one of the same board and cap, and the
    measured setting nearest to it."""
    row = leader.mean
    printed = next(
        (
            candidate
            for candidate in rows
            if candidate.provenance is None
            and candidate.may_win
            and (candidate.model, candidate.cap_w) == (row.model, row.cap_w)
        ),
        None,
    )
    if printed is None:
        return _explain_no_comparison(rows, row)
    unit = f"{name_items(workload)}/s"
    printed_per_s = printed.items_per_s_per_accelerator.value
    amount = format_amount(printed.items_per_s_per_accelerator, unit)
    sentences = [
        f"{escape_invisible(printed.system)} print {amount.text} "
        f"for {escape_invisible(printed.model)} {format_cap(printed.cap_w)}.",
        _compare_with_printed(row, printed_per_s, workload),
    ]
    nearest = _find_nearest(rows, row, printed)
    if nearest is not None:
        sentences.append(_compare_with_printed(nearest, printed_per_s, workload))
        if differences := _list_differences(row, nearest, workload):
            sentences.append(f"The two measured settings differ in {join_words(differences)}.")
    return [*sentences, *_describe_unstated(printed)]


def _compare_with_printed(row: ResultRow, printed_per_s: float, workload: Workload) -> str:
    rate = row.items_per_s_per_accelerator.value
    unit = f"{name_items(workload)}/s per accelerator"
    return (
        f"{name_setting(row)}, {name_load(row)}, reaches "
        f"{format_value_with_unit(rate, unit)}: {format_number(rate / printed_per_s, 3)} times as "
        "much."
    )


def _find_nearest(
    rows: Sequence[ResultRow], leader: ResultRow, printed: ResultRow
) -> ResultRow | None:
    """The measured setting of the same board and cap that is nearest to the printed one: with the
    settings of the paper, else by throughput. None if that is the leader."""
    candidates = [
        setting.mean
        for setting in join_repeats(
            row
            for row in rows
            if row.standing in ("closed", "open")
            and row.may_win
            and (row.model, row.cap_w) == (leader.model, leader.cap_w)
        )
    ]

    printed_per_s = printed.items_per_s_per_accelerator.value

    def get_distance(row: ResultRow) -> tuple[bool, float]:
        ratio = row.items_per_s_per_accelerator.value / printed_per_s
        return PAPERS.get(row.variant or "") != printed.paper, max(ratio, 1 / ratio)

    nearest = min([leader, *candidates], key=get_distance)
    return None if nearest is leader else nearest


def _list_differences(first: ResultRow, second: ResultRow, workload: Workload) -> list[str]:
    load = "requests in flight" if workload.mode == "inference" else "batch size"
    pairs = (
        ("variant", first.variant, second.variant),
        ("precision", first.precision, second.precision),
        (load, first.batch_size, second.batch_size),
        ("number of accelerators", first.count, second.count),
    )
    return [
        f"{name} ({first_value} and {second_value})"
        for name, first_value, second_value in pairs
        if first_value != second_value
    ]


def _describe_unstated(printed: ResultRow) -> list[str]:
    """What the row of a paper does not state, as one sentence; empty if it states everything."""
    settings = (
        ("precision", printed.precision),
        ("variant", printed.variant),
        ("batch size", printed.batch_size),
    )
    unstated = [name for name, value in settings if value is None]
    if not unstated:
        return []
    sentence = f"The published row does not state its {join_words(unstated)}."
    variants = [variant for variant, paper in PAPERS.items() if paper == printed.paper]
    if not variants:
        return [sentence]
    return [f"{sentence} Runs with --like {variants[0]} have those of the published code."]


def _explain_no_comparison(rows: Sequence[ResultRow], leader: ResultRow) -> list[str]:
    """That figures of papers for the board and cap of the leader are not compared with it, one
    sentence for each paper; empty without such figures. The section prints their cautions."""
    systems = {
        escape_invisible(row.system)
        for row in rows
        if row.provenance is None
        and row.caution
        and (row.model, row.cap_w) == (leader.model, leader.cap_w)
    }
    return [
        f"The figures of {system} for {escape_invisible(leader.model)} "
        f"{format_cap(leader.cap_w)} are not compared with measured ones; the notes below the "
        "table give the reason."
        for system in sorted(systems)
    ]


def _describe_cost(workload: Workload, leader: Setting) -> AnsweredQuestion:
    """Cost and carbon of the leader under the default assumptions of the what-if analysis."""
    joules = get_joules(leader).value
    items = pluralize_item(workload.item_name)
    question = f"What does the electricity for a million {items} cost?"
    cost = estimate_cost(workload, joules, leader.mean.is_of_nodes)
    return AnsweredQuestion("cost", question, (cost.sentence,), joules)


def _describe_node(
    workload: Workload, leader: Setting, node_shares_w: Sequence[float]
) -> list[str]:
    """What node meters measured beside the accelerators; without them, what a paper assumes beside
    what other publications measured (`node_shares_w`, per accelerator)."""
    row = leader.mean
    run = leader.rows[0].provenance
    node = run.run.node if run and not explain_unranked(leader.rows[0]) else None
    if node is not None and node.over_accelerators is not None:
        ratio = node.over_accelerators.mean
        return [
            f"Node meters measured {format_number(ratio, 3)} times the energy of the accelerators."
        ]
    power_w = row.mean_power_w.value if row.mean_power_w else row.cap_w
    if power_w is None or row.is_of_nodes:
        return []
    rate = row.items_per_s_per_accelerator.value
    without, efficiency = rate / power_w, with_node_overhead(rate, power_w)
    unit = f"{name_items(workload)}/J"
    sentence = (
        f"No node meter measured this setting. With {format_watts(NODE_OVERHEAD_W)} per "
        f"{NODE_ACCELERATORS} accelerators, as Mayr et al. 2026 assume, efficiency is "
        f"{format_percent(relative_percent(efficiency, without))} lower: "
        f"{format_value_with_unit(efficiency, unit)}."
    )
    if not node_shares_w:
        return [sentence]
    ends = (
        with_node_overhead(rate, power_w, share_w, 1)
        for share_w in (min(node_shares_w), max(node_shares_w))
    )
    lower = format_percent_range([relative_percent(end, without) for end in ends])
    return [
        f"{sentence} With the {format_range([round(w) for w in node_shares_w], 'W')} per "
        f"accelerator that others measured or bounded, it is {lower} lower."
    ]
