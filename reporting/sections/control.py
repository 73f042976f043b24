"""Control runs: their table, and the control run that the power of another run is compared with."""

from collections.abc import Sequence
from dataclasses import replace

from reporting.quantities import quantities, quantity, read_cells
from reporting.report_table import Column, ReportTable
from reporting.results_model import ControlShare, ResultRow
from reporting.sections.cells import BundleLink, Cells, add_mark_columns, make_mark_cells
from reporting.sections.section import Section
from rules.metrics.power.profile import share_of_control

DEFAULT_PRECISION = "bf16"
"""The precision of a control run that nobody chose otherwise."""

CONTROL_COLUMNS = (
    Column(
        "control_percent",
        "share of control",
        "%",
        "number",
        3,
        about="mean power of the run over the median power of a control run",
    ),
    Column("control_run", "control run", about="the control run, and why it was chosen"),
)

CONTROL_ABOUT = (
    "A control run loads the boards with matrix products, as much as they can take. It is compared "
    "with no workload. The share of control of a run is its mean power over the median power of a "
    "control run at the same cap: of the same accelerators or, failing that, of the same kind of "
    "board."
)


def add_control_shares(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """The rows, each with its share of a control run if there is one at the same cap."""
    controls = [row for row in rows if is_measure(row)]
    return [replace(row, control=_find_share(row, controls)) for row in rows]


def is_measure(row: ResultRow) -> bool:
    """Whether the power of other runs is stated as a share of this control run."""
    return (
        row.standing == "control"
        and row.comparable
        and row.provenance is not None
        # Neither the smoke size nor other values and sizes of matrices load a board fully.
        and row.provenance.run.declaration.size == "full"
        and not row.provenance.run.declaration.settings.options
        and row.provenance.run.spread is not None
    )


def _find_share(row: ResultRow, controls: Sequence[ResultRow]) -> ControlShare | None:
    """The share of the run in the control run of the same accelerators, else of the same kind of
    board, at the same cap. Of several, one in the default precision, and the latest of these."""
    if row.standing == "control" or row.provenance is None or row.mean_power_w is None:
        return None
    boards = _list_uuids(row)
    candidates = [
        control
        for control in controls
        if control.accelerator == row.accelerator and control.cap_w == row.cap_w
    ]
    if not candidates:
        return None
    control = max(
        candidates,
        key=lambda control: (
            _list_uuids(control) == boards,
            control.precision == DEFAULT_PRECISION,
            control.provenance.run.declaration.started_at if control.provenance else "",
        ),
    )
    assert control.provenance is not None and control.provenance.run.spread is not None
    median_w, is_same_boards = (
        control.provenance.run.spread.median_w,
        _list_uuids(control) == boards,
    )
    control_run, run = control.provenance.run, row.provenance.run
    node_share = node_median_w = None
    # The power of nodes depends on how many of their boards work.
    if is_same_boards and run.node is not None and control_run.node is not None:
        node_median_w = control_run.node.median_power_w
        node_share = share_of_control(run.node.mean_power_w.mean, node_median_w)
    return ControlShare(
        share_of_control(row.mean_power_w.value, median_w),
        median_w,
        control_run.run_id,
        is_same_boards,
        node_share,
        node_median_w,
    )


def _list_uuids(row: ResultRow) -> frozenset[str]:
    accelerators = row.provenance.run.accelerators if row.provenance else ()
    return frozenset(accelerator.uuid for accelerator in accelerators)


def make_control_cells(row: ResultRow) -> Cells:
    """The cells of `CONTROL_COLUMNS`; none without a control run."""
    control = row.control
    if control is None:
        return {}
    reason = "same accelerators" if control.is_same_boards else "same kind of board, same cap"
    return {
        "control_percent": control.share * 100,
        "control_run": f"{control.run_id} ({reason})",
    }


def build_control_table(rows: Sequence[ResultRow], link: BundleLink) -> ReportTable | None:
    """The control runs; None if there are none."""
    controls = [row for row in rows if row.standing == "control"]
    if not controls:
        return None
    columns = add_mark_columns(
        *quantities("system", "accelerators", "precision"),
        Column("options", "options", about="values and size of the matrices, if chosen"),
        quantity("cap_w"),
        Column("rate", "throughput", "per accelerator", about="with its unit"),
        quantity("mfu_percent", title="share of peak", kinds=False),
        quantity("power_w", unit="W"),
        quantity("median_w", title="median power"),
        quantity("max_w", title="maximum power"),
        *(_NODE_COLUMNS if any(_has_node_power(row) for row in controls) else ()),
        Column("host_load", "host load", about="the program that loaded the host"),
    )
    cells = tuple(_make_cells(row, columns, link) for row in controls)
    return ReportTable("control", "Control runs", columns, cells, CONTROL_ABOUT)


_NODE_COLUMNS = (
    quantity("node_median_power_w", key="node_median_w", title="node median power"),
    quantity("node_max_60s_power_w", key="node_max_60s_w", title="node maximum of 60 s"),
)


def _has_node_power(row: ResultRow) -> bool:
    return row.provenance is not None and row.provenance.run.node is not None


def _make_cells(row: ResultRow, columns: Sequence[Column], link: BundleLink) -> Cells:
    settings = row.run.declaration.settings
    return {
        **read_cells(columns, row),
        "options": ", ".join(
            f"{name} {value}" for name, value in sorted((settings.options or {}).items())
        )
        or None,
        "rate": f"{row.items_per_s_per_accelerator.value:.1f} {row.run.rate_unit}",
        "host_load": settings.host_load,
        **make_mark_cells(row, link),
        # The table says it of all its rows.
        "withheld": None,
    }


SECTION = Section(
    name="control",
    place=165,
    build=lambda page: [build_control_table(page.rows, page.link)],
    is_across=True,
    paper_keys=("line", "cap_w", "median_w", "max_w", "power_w", "mfu_percent", "rate"),
)
