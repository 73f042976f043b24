"""The tables of whole nodes: their power, and how many of them a rack can hold.

The page computes the plan again when its reader changes an input.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reporting.observed_record import ObservedRecord
from reporting.paper import Paper, PublishedNode
from reporting.quantities import PERCENTILES, quantity
from reporting.report_table import Column, ReportTable, TableRow, escape_invisible
from reporting.results_model import ResultRow
from reporting.sections.cells import BundleLink, Cells
from reporting.sections.nodes.power import explain_unranked
from reporting.sections.planning import DEFAULTS, Assumptions
from reporting.sections.section import PageInput, Section
from reporting.sections.shown_columns import ShownColumns, get_number, list_numbers
from reporting.words import capitalize, format_percent_range, join_words
from rules.boards import find_board
from rules.metrics import comparison
from rules.metrics.node.observed import MINUTE_S
from rules.metrics.node.racks import plan_rack
from rules.metrics.power.profile import PowerSpread


@dataclass(frozen=True)
class NodePower:
    """The power of a whole node during one run, in W. None: not known."""

    name: str
    """Number and name of its accelerators."""
    model: str
    accelerators: int
    work: str
    control: bool
    mean_w: float | None
    median_w: float | None
    max_w: float | None
    p99_60s_w: float | None
    rated_w: float | None
    kind: str
    """`printed` or `measured`."""
    standing: str
    source: str
    url: str | None
    place: str | None
    spread: PowerSpread | None = None
    """On a grid of 1 s; None of a published node."""


@dataclass(frozen=True)
class NodeShare:
    """What a publication states of the power of a node beside its accelerators."""

    source: str
    url: str | None
    name: str
    low_w: float
    """This and the next are per accelerator."""
    high_w: float


@dataclass(frozen=True)
class _Basis:
    """A power by which nodes are planned."""

    key: str
    title: str
    node_w: float | None
    work: str | None


def list_published_nodes(papers: Iterable[Paper]) -> Iterator[NodePower]:
    """The nodes whose power is published."""
    for paper in papers:
        for node in paper.nodes or ():
            yield _make_published_node(paper, node)


def _make_published_node(paper: Paper, node: PublishedNode) -> NodePower:
    return NodePower(
        name=f"{node.accelerators} \u00d7 {node.accelerator}",
        model=node.accelerator,
        accelerators=node.accelerators,
        work=node.work,
        control=node.control,
        mean_w=node.mean_w,
        median_w=node.median_w,
        max_w=node.max_w,
        p99_60s_w=node.p99_60s_w,
        rated_w=node.rated_w,
        kind="printed",
        standing=paper.standing,
        source=paper.citation,
        url=paper.link,
        place=node.place,
    )


def list_measured_nodes(rows: Iterable[ResultRow], link: BundleLink) -> Iterator[NodePower]:
    """The nodes that runs measured with all of their accelerators in use. A run on several nodes
    has no power of one node, and racks are planned for no node that idles in part."""
    for row in rows:
        if row.provenance is None or row.provenance.run.node is None or explain_unranked(row):
            continue
        system, headline = row.provenance.run.system, row.provenance.run.node
        if len(system.nodes) != 1:
            continue
        node = system.nodes[0]
        count = len(node.accelerators)
        if node.accelerators_installed != count:
            continue
        yield NodePower(
            name=f"{count} \u00d7 {row.model}",
            model=row.model,
            accelerators=count,
            work=row.workload,
            control=row.standing == "control"
            and not row.provenance.run.declaration.settings.options,
            mean_w=headline.mean_power_w.mean,
            median_w=headline.median_power_w,
            max_w=headline.max_power_w,
            p99_60s_w=headline.p99_60s_power_w,
            rated_w=node.rated_w,
            kind="measured",
            standing=row.standing,
            source=row.system,
            url=link(row.provenance.run.path),
            place=None,
            spread=row.provenance.run.node_spread,
        )


def list_observed_nodes(records: Iterable[ObservedRecord], link: BundleLink) -> Iterator[NodePower]:
    """The nodes of observed jobs. Of several nodes, the power of one is the mean over them, and
    their highest power together is that of no single node."""
    for record in records:
        declaration, figures = record.job.declaration, record.job.figures
        node, board = declaration.node, find_board(declaration.node.accelerator)
        model = board.id if board else node.accelerator
        is_single = node.count == 1
        # Readings that are minutes apart show no peak.
        shows_peaks = is_single and (figures.max_60s_w is not None or figures.seconds < MINUTE_S)
        yield NodePower(
            name=f"{node.accelerators} \u00d7 {model}",
            model=model,
            accelerators=node.accelerators,
            work=escape_invisible(declaration.job.what),
            control=False,
            mean_w=figures.mean_w / node.count,
            median_w=figures.median_w if is_single else None,
            max_w=figures.max_w if shows_peaks else None,
            p99_60s_w=figures.p99_60s_w if is_single else None,
            rated_w=node.rated_w,
            kind="measured",
            standing=declaration.standing,
            source=f"{escape_invisible(node.system)} (observed)",
            url=link(record.path),
            place=None,
        )


def list_node_shares(papers: Iterable[Paper]) -> list[NodeShare]:
    """What publications state of the power beside the accelerators, without repeats."""
    shares = [
        NodeShare(
            source=paper.title,
            url=paper.link,
            name=f"{node.accelerators} \u00d7 {node.accelerator}",
            low_w=node.beside_boards_low_w,
            high_w=node.beside_boards_high_w,
        )
        for paper in papers
        for node in paper.nodes or ()
        if node.beside_boards_low_w and node.beside_boards_high_w
    ]
    return list(dict.fromkeys(shares))


def build_whole_nodes_table(nodes: Sequence[NodePower]) -> ReportTable | None:
    """The power of whole nodes by run, compared with their rated power; None without nodes."""
    columns = (
        Column("what", "node"),
        Column("work", "workload"),
        Column("accelerators", "accelerators", "", "count", hidden=True),
        Column("mean_w", "mean", "W", "number", kinds=True),
        quantity("node_median_power_w", key="median_w", form="number", kinds=True),
        Column("p99_60s_w", "99th percentile of 60 s means", "W", "number", kinds=True),
        quantity("node_max_power_w", key="max_w", form="number", kinds=True),
        Column("rated_w", "rated power", "W", "count"),
        Column("max_percent", "maximum / rated power", "%", "number", 3),
        Column("source", "source", form="evidence"),
        Column("place", "place in the source"),
        *_HIDDEN,
        Column("line", "node and source", hidden=True),
        *(
            Column(f"{percentile}_w", PERCENTILES[percentile], "W", "number", hidden=True)
            for percentile in _SPREAD
        ),
    )
    cells = [
        {
            **_make_node_cells(node),
            **_make_spread_cells(node.spread),
            "line": f"{node.source} \u00b7 {node.name}",
            "work": node.work,
            "accelerators": node.accelerators,
            **{key: getattr(node, key) for key in _POWERS},
            **{f"{key}_kind": node.kind for key in _POWERS},
            "rated_w": node.rated_w,
            # `relative_percent` is the difference from 100 %.
            "max_percent": comparison.relative_percent(node.max_w, node.rated_w) + 100
            if node.max_w and node.rated_w
            else None,
            "place": node.place,
        }
        for node in nodes
    ]
    if not cells:
        return None
    return ReportTable("whole-nodes", "Power of whole nodes", columns, tuple(cells))


_POWERS = ("mean_w", "median_w", "p99_60s_w", "max_w")
_SPREAD = ("min", "p5", "p25", "p75", "p95")


def _make_spread_cells(spread: PowerSpread | None) -> Cells:
    """The percentiles that publications do not state."""
    if spread is None:
        return {}
    return {f"{name}_w": getattr(spread, f"{name}_w") for name in _SPREAD}


def build_rack_table(
    nodes: Sequence[NodePower], assumptions: Assumptions = DEFAULTS
) -> ReportTable | None:
    """How many nodes of each kind a rack can hold, by each power that is known of them; None
    without nodes."""
    columns = (
        Column("what", "node"),
        Column("basis", "power by which the rack is planned"),
        Column("work", "workload"),
        Column("node_w", "power of a node", "W", "number", kinds=True),
        Column("nodes", "nodes", "", "count", about="usable power / power of a node, rounded down"),
        Column("used_kw", "power used", "kW", "number"),
        Column("margin_percent", "margin left", "%", "number", 3, about="share of the rack limit"),
        Column("source", "source", form="evidence"),
        Column("by", "basis", hidden=True),
        Column("rated_w", "rated power", "W", "count", hidden=True),
        *_HIDDEN,
    )
    groups: dict[tuple[str, str], list[NodePower]] = {}
    for node in nodes:
        groups.setdefault((node.name, node.source), []).append(node)
    cells = [
        {
            **_make_node_cells(group[0]),
            "basis": basis.title,
            "by": basis.key,
            "work": basis.work,
            "node_w": basis.node_w,
            "node_w_kind": group[0].kind,
            "rated_w": basis.node_w if basis.key == "rating" else None,
            **_make_plan_cells(basis.node_w, assumptions),
        }
        for group in groups.values()
        for basis in _list_bases(group)
    ]
    if not cells:
        return None
    compact_keys = ("what", "source", "basis", "node_w", "nodes")
    return ReportTable("rack", "Rack planner", columns, tuple(cells), compact_keys=compact_keys)


_HIDDEN = (
    Column("url", "address of the source", hidden=True),
    Column("standing", "standing", hidden=True),
    Column("model", "board", hidden=True),
)


def _make_node_cells(node: NodePower) -> Cells:
    return {
        "what": node.name,
        "source": node.source,
        "url": node.url,
        "standing": node.standing,
        "model": node.model,
    }


def _list_bases(runs: Sequence[NodePower]) -> Iterator[_Basis]:
    """The powers by which nodes of one kind are planned. The rated power is always among them,
    because a reader may know it."""
    rated_w = max((run.rated_w for run in runs if run.rated_w), default=None)
    yield _Basis("rating", "rated power", rated_w, None)
    candidates = (
        ("control", "median of the control run", [(r.median_w, r.work) for r in runs if r.control]),
        ("max", "highest reading", [(r.max_w, r.work) for r in runs]),
        ("p99", "99th percentile of 60 s means", [(r.p99_60s_w, r.work) for r in runs]),
        ("mean", "highest mean of a run", [(r.mean_w, r.work) for r in runs]),
    )
    for key, title, powers in candidates:
        if known := [(node_w, work) for node_w, work in powers if node_w]:
            yield _Basis(key, title, *max(known))


def _make_plan_cells(node_w: float | None, assumptions: Assumptions) -> Cells:
    if node_w is None:
        return {"nodes": None, "used_kw": None, "margin_percent": None}
    plan = plan_rack(assumptions.rack_kw * 1e3, assumptions.redundancy_percent, node_w)
    return {
        "nodes": plan.nodes,
        "used_kw": plan.used_w / 1e3,
        "margin_percent": plan.margin_percent,
    }


def _describe_node_powers(rows: Sequence[TableRow]) -> str:
    """The highest power of whole nodes as a share of their rated power."""
    rated_rows = [row for row in rows if get_number(row, "max_percent") is not None]
    if not rated_rows:
        return ""
    shares = format_percent_range(list_numbers(rated_rows, "max_percent"))
    is_published = all(row["standing"] == "published" for row in rated_rows)
    names = join_words(list(dict.fromkeys(str(row["what"]) for row in rated_rows)))
    finding = f"nodes with {names} draw at most {shares} of their rated power"
    return f"Published {finding}" if is_published else capitalize(finding)


def _list_nodes(page: PageInput) -> list[NodePower]:
    return [
        *list_measured_nodes(page.rows, page.link),
        *list_observed_nodes(page.observed, page.link),
        *list_published_nodes(page.papers),
    ]


SECTION = Section(name="rack", place=120, build=lambda page: [build_rack_table(_list_nodes(page))])


def _list_charts(table: ReportTable) -> dict[str, ShownColumns]:
    """One chart for each number of accelerators."""
    counts = {n for row in table.rows if isinstance(n := row["accelerators"], int)}
    return {
        str(n): ShownColumns(
            ("median_w", "max_w", "mean_w", "rated_w"),
            find=_describe_node_powers,
            finds_published=True,
            any_key=True,
            only=("accelerators", n),
        )
        for n in sorted(counts)
    }


WHOLE_NODES_SECTION = Section(
    name="whole-nodes",
    place=130,
    build=lambda page: [build_whole_nodes_table(_list_nodes(page))],
    drawn_by=("rows.spans.build_node_charts",),
    charts=_list_charts,
)
