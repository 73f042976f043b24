"""Tables of charts of rows, of servers and of nodes, from the builders of the page."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from support.report.result_rows import make_figure, make_run_row

from reporting.paper import Paper
from reporting.report_table import ReportTable
from reporting.results_model import Figure, ResultRow
from reporting.sections.data_sheets.naive import build_naive_table
from reporting.sections.nodes.fixed_work import build_fixed_work_table
from reporting.sections.nodes.racks import NodePower, build_whole_nodes_table
from reporting.sections.repeats import measure_spread
from reporting.sections.results import build_results_table
from reporting.sections.serving import build_serving_table
from reporting.sections.spread import build_epochs_table
from reporting.sections.sweeps.scaling import ScaledRun, build_scaling_table
from rules.metrics.figures import Estimate, Percentiles, ServingFigures
from rules.metrics.power.profile import PowerSpread
from rules.metrics.sweeps.scaling import Scaling
from rules.studies.metrics.naive import NaiveEstimate, RunComparison
from rules.workloads import workloads

LINK = Path.as_posix
TRAINING = workloads()["resnet50-train"]
BOARDS = ("GPU-aaaaaaaa1111", "GPU-bbbbbbbb2222", "GPU-cccccccc3333", "GPU-dddddddd4444")


def withhold(row: ResultRow) -> ResultRow:
    """The row as a reproduction, which wins nothing."""
    assert row.provenance is not None
    return replace(row, provenance=replace(row.provenance, original="center/system/run"))


def make_repeats() -> list[ResultRow]:
    """Four runs of one setting on four boards, and one of another setting. The first has the least
    energy and is withheld."""
    rows = [
        make_run_row(rate, board)
        for rate, board in zip((7600, 7500, 7400, 7300), BOARDS, strict=True)
    ]
    return [withhold(rows[0]), *rows[1:], make_run_row(5000, BOARDS[0], batch_size=64)]


def make_energy_table(rows: list[ResultRow]) -> ReportTable:
    spread = measure_spread(rows)
    return build_results_table(TRAINING, rows, LINK, "resnet50-train-results", "Results", spread)


def make_epochs_table(rows: list[ResultRow]) -> ReportTable:
    spread = measure_spread(rows)
    return build_epochs_table(TRAINING, rows, LINK, "resnet50-train-epochs", "Epochs", spread)


def make_scaling_table(*runs: tuple[int, float]) -> ReportTable:
    """Runs on so many accelerators with these speed-ups. The last one is withheld."""
    rows = [make_run_row(7000 * value / count, *BOARDS[:count]) for count, value in runs]
    rows[-1] = withhold(rows[-1])
    reference = make_run_row(7000, BOARDS[0])
    scaled = [
        ScaledRun(row, [reference], Scaling(count, *[Estimate(value, 10, 0.01, None)] * 3))
        for row, (count, value) in zip(rows, runs, strict=True)
    ]
    spread = measure_spread(make_repeats())
    return build_scaling_table(TRAINING, scaled, LINK, "resnet50-train-scaling", "Scaling", spread)


def make_peak_row(
    share: float,
    board: str,
    *,
    peak_tflops: float = 1000,
    options: Mapping[str, str] | None = None,
    **fields: Any,
) -> ResultRow:
    """A run at this share of the dense peak of its precision, with these options."""
    precision = fields.setdefault("precision", "bf16")
    estimate = NaiveEstimate(peak_tflops, f"{precision} peak", 700.0)
    factor = Estimate(1 / share, 10, 0.1, (0.9 / share, 1.1 / share))
    row = make_run_row(
        7000,
        board,
        mfu=Figure(share, "measured"),
        naive=RunComparison("measured J per item", estimate, factor),
        **fields,
    )
    assert row.provenance is not None
    settings = SimpleNamespace(requests=None, options=options)
    declaration: Any = SimpleNamespace(
        settings=settings, implementation=SimpleNamespace(settings={})
    )
    run = row.provenance.run
    kind = (*run.kind, *sorted((options or {}).items()))
    run = replace(run, declaration=declaration, kind=kind)
    return replace(row, provenance=replace(row.provenance, run=run))


def make_peaks_table(*rows: ResultRow) -> ReportTable:
    """The table of all runs over their naive estimate."""
    table = build_naive_table(rows, LINK)
    assert table is not None
    return table


def make_factors_table() -> ReportTable:
    """Two repeats at 50 % and 60 % of the peak in bf16, and a withheld run at 40 % in fp8."""
    return make_peaks_table(
        make_peak_row(0.5, BOARDS[0]),
        make_peak_row(0.6, BOARDS[1]),
        withhold(make_peak_row(0.4, BOARDS[2], peak_tflops=2000, precision="fp8")),
    )


def make_fixed_work_table(*energies: tuple[str, str, int, float]) -> ReportTable:
    """Published energies of fixed work: each with its work, its board, its batch size and its
    kWh."""
    work = [
        {
            "work": name,
            "accelerator": board,
            "accelerators": 8,
            "cap_w": None,
            "batch_size": batch,
            "items": 1e7,
            "item": "image",
            "seconds": 3600.0,
            "energy_j": kwh * 3.6e6,
            "median_w": None,
            "caution": None,
            "place": "Table 1",
        }
        for name, board, batch, kwh in energies
    ]
    paper = Paper.from_document(
        {
            "id": "doe",
            "standing": "published",
            "title": "Nodes",
            "authors": "Doe, Roe",
            "year": 2025,
            "url": "https://example.org",
            "notes": "",
            "fixed_work": work,
        }
    )
    table = build_fixed_work_table([], [paper], LINK)
    assert table is not None
    return table


def make_serving_table(*loads: tuple[int, float]) -> ReportTable:
    """Servers with so many requests in flight at these caps in W. More requests give more
    throughput, and less to each user."""
    rows = []
    for concurrency, cap_w in loads:
        row = make_run_row(
            9000.0 * concurrency / (64 + concurrency) * cap_w / 700, BOARDS[0], cap_w=cap_w
        )
        requests = SimpleNamespace(
            concurrency=concurrency, prompt_tokens=1024, output_tokens=512, rate_per_s=None
        )
        times_s = Percentiles(*(0.001 * (8 + concurrency) * n for n in (1, 2, 3)))
        declaration: Any = SimpleNamespace(
            settings=SimpleNamespace(requests=requests), implementation=SimpleNamespace(settings={})
        )
        assert row.provenance is not None
        run = replace(
            row.provenance.run,
            declaration=declaration,
            serving=ServingFigures(100, 2000.0, times_s, times_s, times_s),
        )
        rows.append(
            replace(
                row,
                provenance=replace(row.provenance, run=run),
                joules_per_item=make_figure(cap_w * (64 + concurrency) / concurrency / 9000),
            )
        )
    table = build_serving_table(rows, LINK, "llama3-8b-serve-serving", "Serving")
    assert table is not None
    return table


def make_nodes_table() -> ReportTable:
    """A measured and a published node with eight boards, and one published node with four."""
    published = NodePower(
        name="8 \u00d7 H100",
        model="H100",
        accelerators=8,
        work="training",
        control=False,
        mean_w=None,
        median_w=6000,
        max_w=6500,
        p99_60s_w=None,
        rated_w=10000,
        kind="printed",
        standing="published",
        source="Latif et al. 2024",
        url="https://arxiv.org/abs/2412.08602",
        place="figure 1",
    )
    measured = replace(
        published,
        name="8 \u00d7 H200",
        model="H200",
        mean_w=7000,
        median_w=7100,
        max_w=8000,
        kind="measured",
        standing="closed",
        source="example",
        url="bundles/run",
        spread=PowerSpread(5000, 8000, 7000, 5500, 6800, 7100, 7400, 7800),
    )
    small = replace(published, name="4 \u00d7 H100", accelerators=4, median_w=3000, max_w=3200)
    table = build_whole_nodes_table([measured, published, small])
    assert table is not None
    return table


def list_row_chart_tables() -> list[ReportTable]:
    return [
        make_energy_table(make_repeats()),
        make_epochs_table(make_repeats()),
        make_scaling_table((2, 1.9), (4, 3.6), (4, 4.1)),
        make_factors_table(),
        make_serving_table((16, 700), (64, 700), (64, 400)),
        make_nodes_table(),
        make_fixed_work_table(("a", "H100", 64, 9.0), ("a", "H100", 512, 5.0)),
    ]
