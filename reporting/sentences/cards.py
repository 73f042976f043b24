"""The answer of the page, and one answer card per workload."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reporting.report_table import NO_BREAK, escape_invisible
from reporting.results_model import Figure, ResultRow
from reporting.sections.cells import COMPARED_STANDINGS, BundleLink, name_setting
from reporting.sections.repeats import ReportSpread, describe_trust
from reporting.sections.sweeps.caps import CapSweep
from reporting.sentences.capping import describe_default
from reporting.sentences.choice import Choice, choose_setting, find_published_peaks, get_joules
from reporting.sentences.cost import Cost, estimate_cost
from reporting.sentences.words import (
    Amount,
    count_nouns,
    format_amount,
    format_cap,
    format_range,
    name_batch,
    name_beside,
    name_items,
)
from rules.workloads import Workload

ASSUMED_POWER = "Power is assumed equal to the cap, and no interval is printed."
NO_RESULT = "No result may be compared."


@dataclass(frozen=True)
class Leader:
    """The setting with the least energy per item of a standing."""

    standing: str
    name: str
    """Accelerators, variant and precision; of a published figure, board and authors."""
    energy: Amount
    efficiency: Amount | None
    throughput: Amount
    """Per accelerator."""
    cap: str
    """`at 700 W`, or `without a cap`."""
    batch: str
    """Batch size, or requests in flight of a server."""
    runs: int | None
    """None for a published figure, as `boards`."""
    boards: int | None
    default_note: str
    """What the default cap costs in comparison, as a sentence; empty for a published figure."""
    ties: str
    """The settings that cannot be told apart, as a sentence; empty without one. Of published
    figures, the caution says that they have no intervals."""
    trust: str
    """How far others confirm the runs: reviewed, accepted, reproduced."""
    caution: str
    """What a reader of a published figure must know; empty for a measured one."""
    bundles: tuple[str, ...]
    """Links to the bundles of all runs; empty for a published figure."""
    source_url: str | None
    model: str
    """The board."""

    @property
    def repeats(self) -> str:
        """`4 runs on 4 boards`; empty for a published figure."""
        if self.runs is None or self.boards is None:
            return ""
        return f"{count_nouns(self.runs, 'run')} on {count_nouns(self.boards, 'board')}"

    @property
    def basis(self) -> str:
        """What the interval is over: `± over runs`; empty for a published figure."""
        if self.runs is None:
            return ""
        return f"±{NO_BREAK}{'over runs' if self.runs > 1 else 'within this run'}"


@dataclass(frozen=True)
class AnswerCard:
    """The answer for one workload. Closed, open and published results never share a leader."""

    workload: str
    title: str
    item: str
    """The item in sentences."""
    sentence: str
    closed: Leader | None
    open: Leader | None
    published: Leader | None
    cost: Cost | None
    """Of the first of these leaders; None without a leader."""
    not_compared: str
    """How many results are excluded from rankings, as a sentence; empty if all may."""
    closed_runs: int
    """The number of closed runs that may win, which orders the cards."""


def build_card(
    workload: Workload,
    rows: Sequence[ResultRow],
    sweeps: Sequence[CapSweep],
    spread: ReportSpread,
    link: BundleLink,
) -> AnswerCard:
    """The card of a workload from its rows of all standings and its sweeps over caps."""
    choices = {
        standing: choice
        for standing in COMPARED_STANDINGS
        if (choice := choose_setting(rows, standing, spread))
    }
    leaders = {
        standing: _make_leader(choices[standing], workload, sweeps, spread, link)
        if standing in choices
        else None
        for standing in COMPARED_STANDINGS
    }
    return AnswerCard(
        workload=workload.id,
        title=workload.title,
        item=workload.item_name,
        sentence=_write_answer(workload, rows, leaders),
        closed=leaders["closed"],
        open=leaders["open"],
        published=leaders["published"],
        cost=next(
            (estimate_cost(workload, get_joules(choice.best).value) for choice in choices.values()),
            None,
        ),
        not_compared=_describe_not_compared(rows),
        closed_runs=sum(row.standing == "closed" and row.may_win for row in rows),
    )


def build_answer(cards: Sequence[AnswerCard]) -> str:
    """The answer of the page: that of the workload with the most closed runs, else with open runs,
    else with published figures."""
    if not cards:
        return NO_RESULT
    return max(
        cards, key=lambda c: (c.closed_runs, c.open is not None, c.published is not None)
    ).sentence


def _make_leader(
    choice: Choice,
    workload: Workload,
    sweeps: Sequence[CapSweep],
    spread: ReportSpread,
    link: BundleLink,
) -> Leader:
    setting, row = choice.best, choice.best.mean
    items = name_items(workload)
    is_measured = row.provenance is not None
    return Leader(
        standing=row.standing,
        name=name_setting(row),
        energy=format_amount(get_joules(setting), f"J/{workload.item}", setting.runs),
        efficiency=_format_optional(row.items_per_joule, f"{items}/J", setting.runs),
        throughput=format_amount(
            row.items_per_s_per_accelerator, f"{items}/s per accelerator", setting.runs
        ),
        cap=format_cap(row.cap_w),
        batch=name_batch(row, workload) if is_measured else "",
        runs=setting.runs,
        boards=setting.boards,
        default_note=describe_default(setting.rows[0], sweeps, spread, workload.item_name)
        if is_measured
        else "",
        ties=_describe_ties(choice, workload) if is_measured else "",
        trust=describe_trust(setting),
        caution="" if is_measured else _describe_caution(row),
        bundles=tuple(link(run.provenance.run.path) for run in setting.rows if run.provenance),
        source_url=row.url,
        model=row.model,
    )


def _format_optional(figure: Figure | None, unit: str, runs: int | None) -> Amount | None:
    return None if figure is None else format_amount(figure, unit, runs)


def _describe_ties(choice: Choice, workload: Workload) -> str:
    if not choice.ties:
        return ""
    nearest = choice.ties[0]
    amount = format_amount(get_joules(nearest), f"J/{workload.item}", nearest.runs)
    name = name_beside(nearest.mean, choice.best.mean, workload)
    if len(choice.ties) == 1:
        return f"It cannot be told apart from {name} with {amount.text}."
    return (
        f"It cannot be told apart from {count_nouns(len(choice.ties), 'other setting')}, such as "
        f"{name} with {amount.text}."
    )


def _describe_caution(row: ResultRow) -> str:
    return f"{ASSUMED_POWER} {escape_invisible(row.caution)}" if row.caution else ASSUMED_POWER


def _describe_not_compared(rows: Sequence[ResultRow]) -> str:
    parts = []
    for noun, is_measured in (("measured result", True), ("published figure", False)):
        excluded = sum(
            row.standing in COMPARED_STANDINGS
            and not row.may_win
            and (row.provenance is not None) == is_measured
            for row in rows
        )
        if excluded:
            parts.append(count_nouns(excluded, noun))
    total = " and ".join(parts)
    verb = "is" if total.startswith("1 ") and len(parts) == 1 else "are"
    return f"{total} {verb} not compared; the table gives the reasons." if total else ""


def _write_answer(
    workload: Workload, rows: Sequence[ResultRow], leaders: Mapping[str, Leader | None]
) -> str:
    """Closed results first. Without them it names open results as open, then published ones."""
    published = leaders["published"]
    subject = f"Lowest energy per {workload.item_name} on {workload.title}"
    closed = ", closed results" if leaders["open"] else ""
    for standing, prefix in (("closed", ""), ("open", "No closed result. Open: ")):
        if leader := leaders[standing]:
            begin = f"{prefix}{subject[0].lower()}{subject[1:]}" if prefix else subject + closed
            caps = _describe_caps(rows, leader)
            ties = f"; {leader.ties[0].lower()}{leader.ties[1:]}" if leader.ties else "."
            answer = (
                f"{begin}: {leader.name}, {leader.energy.text_with_interval} {leader.cap}{caps} "
                f"({leader.repeats}, {leader.basis}){ties} {_describe_peaks(rows)}"
            )
            return answer.strip()
    demo_runs = sum(row.standing == "demo" for row in rows)
    none_measured = (
        f"No measured result: {count_nouns(demo_runs, 'demo run')}, which nothing is compared with."
        if demo_runs
        else "No measured result."
    )
    if published is None:
        return f"{workload.title}: {none_measured} {NO_RESULT}"
    return (
        f"{none_measured} Published: {subject[0].lower()}{subject[1:]} is {published.energy.text}, "
        f"{published.name} {published.cap}. {ASSUMED_POWER}"
    )


def _describe_caps(rows: Sequence[ResultRow], leader: Leader) -> str:
    """How many caps were measured on the board of the leader in its standing."""
    runs = [
        row
        for row in rows
        if row.provenance and row.standing == leader.standing and row.model == leader.model
    ]
    caps_w = {row.cap_w for row in runs if row.cap_w is not None}
    if not caps_w:
        return ""
    if len(caps_w) == 1:
        return ", the only cap measured"
    comparable_w = {row.cap_w for row in runs if row.may_win and row.cap_w is not None}
    if len(comparable_w) == 1:
        return f", the only comparable cap of {len(caps_w)} measured"
    return f", of {len(comparable_w)} comparable caps"


def _describe_peaks(rows: Sequence[ResultRow]) -> str:
    """Where the published series peak; empty if none has a peak."""
    peaks_w = list(find_published_peaks(rows).values())
    if not peaks_w:
        return ""
    verb = "curve peaks" if len(peaks_w) == 1 else "curves peak"
    return f"Published {verb} at {format_range(peaks_w, 'W')}, with power assumed equal to the cap."
