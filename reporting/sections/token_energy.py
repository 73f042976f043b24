"""Energy of the input and the output tokens of a server, apart."""

from collections.abc import Sequence

from reporting.quantities import quantities, quantity
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow, name_submitted_line
from reporting.sections.cells import FACET_COLUMNS, Cells, make_estimate_cells, make_facet_cells
from reporting.sections.section import Section
from rules.metrics.serving import TokenEnergy, TokenRun, separate_token_energy
from rules.workloads import Workload

ABOUT = (
    "Model: the energy of a run is a times its input tokens plus b times its output tokens, fitted "
    "by least squares over runs of one server with other ratios of tokens, such as prompts with "
    "one output token and short prompts with long outputs. The intervals of two runs come from "
    "those within the runs, the intervals of more runs from their deviations from the model. The "
    "model gives all of an output token to decoding, also the reading of a key-value cache that "
    "grows with the prompt."
)


_OMITTED_FACETS = ("standing", "status")
"""Closed and open runs of one server are in one row."""


def build_token_energy_table(
    workload: Workload, rows: Sequence[ResultRow], id: str, title: str
) -> ReportTable | None:
    """One row for each server with runs of different ratios; None without such runs."""
    groups: dict[tuple[object, ...], list[ResultRow]] = {}
    for row in rows:
        if row.provenance and row.provenance.run.serving and row.joules_per_item:
            groups.setdefault(_get_server(row), []).append(row)
    cells = {}
    for server, members in groups.items():
        energy = separate_token_energy([_make_token_run(row) for row in members])
        if energy is not None:
            cells[server] = _make_cells(members[0], energy)
    if not cells:
        return None
    columns = (
        quantity("line"),
        Column("standings", "standing"),
        *quantities("cap_w", "concurrency"),
        Column("input_j", "input token", "J", "number", interval=True),
        Column("output_j", "output token", "J", "number", interval=True),
        Column("runs", "runs", "", "count"),
        Column("deviation_percent", "largest deviation from the model", "%", "number", 3),
        *(column for column in FACET_COLUMNS if column.key not in ("cap_w", *_OMITTED_FACETS)),
    )
    servers, table_rows = tuple(cells), tuple(cells.values())
    return ReportTable(id, title, columns, table_rows, ABOUT, identities=servers)


def _get_server(row: ResultRow) -> tuple[object, ...]:
    """What runs of one server have in common: all but the lengths of the requests."""
    assert row.provenance is not None and row.provenance.run.requests is not None
    requests = row.provenance.run.requests
    name = row.center, name_submitted_line(row), row.standing == "demo", row.accelerator
    return *name, row.cap_w, requests.concurrency, requests.rate_per_s


def _make_token_run(row: ResultRow) -> TokenRun:
    assert row.provenance is not None and row.provenance.run.serving is not None
    headline = row.provenance.run.headline
    assert headline.joules_per_item is not None
    inputs_per_s = row.provenance.run.serving.input_tokens_per_s
    return TokenRun(headline.joules_per_item, inputs_per_s / headline.items_per_s.mean)


def _make_cells(row: ResultRow, energy: TokenEnergy) -> Cells:
    assert row.provenance is not None and row.provenance.run.requests is not None
    return {
        **{k: value for k, value in make_facet_cells(row).items() if k not in _OMITTED_FACETS},
        "line": name_submitted_line(row),
        "standings": "demo" if row.standing == "demo" else "closed and open",
        "concurrency": row.provenance.run.requests.concurrency,
        **make_estimate_cells("input_j", energy.input_j),
        **make_estimate_cells("output_j", energy.output_j),
        "runs": energy.n,
        "deviation_percent": 100 * energy.largest_deviation if energy.n > 2 else None,
    }


SECTION = Section(
    name="tokens",
    place=60,
    build_of_workload=lambda part: [
        build_token_energy_table(
            part.workload,
            part.runs,
            f"{part.id}-tokens",
            part.make_title("energy by kind of token"),
        )
    ],
    demo_place=60,
    is_for_nodes=True,
)
