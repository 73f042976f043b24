"""One answer card per workload."""

from collections.abc import Sequence
from dataclasses import dataclass

from reporting.report_table import escape_invisible
from reporting.results_model import Figure, ResultRow
from reporting.sections.cells import COMPARED_STANDINGS, BundleLink, name_load, name_setting
from reporting.sections.repeats import ReportSpread, describe_trust
from reporting.sections.sweeps.caps import CapSweep
from reporting.sentences.capping import describe_default
from reporting.sentences.choice import Choice, choose_setting, get_joules
from reporting.sentences.cost import Cost, estimate_cost
from reporting.words import (
    Amount,
    count_nouns,
    format_amount,
    format_cap,
    name_items,
)
from rules.workloads import Workload

ASSUMED_POWER = "Power is assumed equal to the cap, and no interval is printed."


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
    spread: str
    """Where the interval comes from, as a sentence; empty if from repeats of this workload, and
    for a published figure."""
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


@dataclass(frozen=True)
class AnswerCard:
    """The answer for one workload. Closed, open and published results never share a leader."""

    workload: str
    title: str
    item: str
    """The item in sentences."""
    closed: Leader | None
    open: Leader | None
    published: Leader | None
    cost: Cost | None
    """Of the first of these leaders; None without a leader."""
    not_compared: str
    """How many results are excluded from rankings, as a sentence; empty if all may."""


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
        closed=leaders["closed"],
        open=leaders["open"],
        published=leaders["published"],
        cost=next(
            (estimate_cost(workload, get_joules(choice.best).value) for choice in choices.values()),
            None,
        ),
        not_compared=_describe_not_compared(rows),
    )


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
        energy=format_amount(get_joules(setting), f"J/{workload.item}"),
        efficiency=_format_optional(row.items_per_joule, f"{items}/J"),
        throughput=format_amount(row.items_per_s_per_accelerator, f"{items}/s per accelerator"),
        cap=format_cap(row.cap_w),
        batch=name_load(row) if is_measured else "",
        runs=setting.runs,
        boards=setting.boards,
        default_note=describe_default(setting.rows[0], sweeps, spread, workload.item_name)
        if is_measured
        else "",
        ties=_describe_ties(choice, workload) if is_measured else "",
        spread=setting.spread.note_source(row.model, row.workload) if setting.spread else "",
        trust=describe_trust(setting),
        caution="" if is_measured else _describe_caution(row),
        bundles=tuple(link(run.provenance.run.path) for run in setting.rows if run.provenance),
        source_url=row.url,
        model=row.model,
    )


def _format_optional(figure: Figure | None, unit: str) -> Amount | None:
    return None if figure is None else format_amount(figure, unit)


def _describe_ties(choice: Choice, workload: Workload) -> str:
    if not choice.ties:
        return ""
    nearest = choice.ties[0]
    amount = format_amount(get_joules(nearest), f"J/{workload.item}")
    name = name_beside(nearest.mean, choice.best.mean)
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


def name_beside(row: ResultRow, leader: ResultRow) -> str:
    """The name of a setting with what tells it from the leader."""
    name = name_setting(row)
    if row.cap_w != leader.cap_w:
        name += f" {format_cap(row.cap_w)}"
    if row.batch_size != leader.batch_size:
        name += f", {name_load(row)}"
    # The systems only where nothing else differs.
    if name == name_setting(leader):
        name += f" on {escape_invisible(row.system)}"
    return name
