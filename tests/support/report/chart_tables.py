"""Tables with rows for each kind of chart, for the tests of charts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair
import numpy as np
from conftest import copy_evidence
from support.bundles import rederive
from support.report.result_rows import make_run_row
from support.report.row_chart_tables import list_row_chart_tables

from reporting.charts import build_charts
from reporting.charts.chart import Chart
from reporting.pareto import EfficiencyPoint, mark_points
from reporting.report_table import Column, ReportTable
from reporting.sections.course import ControlPower, build_course_tables
from reporting.traces import build_trace_table
from rules.bundle import Bundle
from rules.bundle_format.records import Json
from rules.metrics.power.profile import spread
from rules.testing.node_power import add_node_power

RATE, PER_JOULE, NODE = (
    "items_per_s_per_accelerator",
    "items_per_joule",
    "node_items_per_joule_assumed",
)
NUMBERS = (
    "cap_w",
    "power_w",
    RATE,
    PER_JOULE,
    NODE,
    "relative_rate_percent",
    "energy_gain_percent",
    "extra_time_percent",
    "sm_mhz",
)
FACETS = ("variant", "precision", "provenance")
TEXTS = ("line", "model", "standing", *FACETS, "doubt", "implausible")
MARKS = ("front", "peak", "front_node", "peak_node", "best")


def make_table(kind: str, *rows: dict[str, Any], **fields: Any) -> ReportTable:
    columns = (
        *(
            Column(key, key, "unit", "number")
            for key in (*NUMBERS, *fields, "count", "batch", "value", "baseline_rate")
        ),
        Column("joules_per_item", "energy", "J/image", "number", interval=True, kinds=True),
        Column("speed_up", "speed-up", "", "number", interval=True),
        *(Column(key, key, hidden=True) for key in (*TEXTS, *MARKS)),
    )
    usual = {"line": "a", "model": "H200", "standing": "closed"}
    return ReportTable(
        f"resnet50-train-{kind}",
        "made for a test",
        columns,
        tuple({**usual, **row} for row in rows),
        "What it says.",
    )


def make_result(cap_w: float, rate: float, per_joule: float, **fields: Any) -> dict[str, Any]:
    return {
        "cap_w": cap_w,
        RATE: rate,
        PER_JOULE: per_joule,
        NODE: per_joule * 0.9,
        "joules_per_item": 1 / per_joule,
        **fields,
    }


def mark_fronts(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the marks that the table of results has."""

    def point(row: Mapping[str, Any], key: str) -> EfficiencyPoint:
        comparable = not row.get("doubt") and not row.get("implausible")
        return EfficiencyPoint(
            row["line"], row["standing"], comparable, comparable, row["cap_w"], row[RATE], row[key]
        )

    accelerator_marks, with_node = (
        mark_points([point(row, key) for row in rows]) for key in (PER_JOULE, NODE)
    )
    return [
        {
            **row,
            "front": accelerator.is_on_front,
            "peak": accelerator.is_peak,
            "front_node": node.is_on_front,
            "peak_node": node.is_peak,
        }
        for row, accelerator, node in zip(rows, accelerator_marks, with_node, strict=True)
    ]


def make_results(*rows: dict[str, Any]) -> ReportTable:
    accelerator = [
        make_result(
            cap,
            cap * 2.0,
            900 / cap,
            joules_per_item=cap / 100,
            relative_rate_percent=cap / 7,
            energy_gain_percent=(700 - cap) / 10,
            extra_time_percent=(700 - cap) / 20,
        )
        for cap in (300.0, 500.0, 700.0)
    ]
    return make_table(
        "results",
        *mark_fronts(
            [
                {"line": "a", "model": "H200", "standing": "closed", **row}
                for row in (*accelerator, *rows)
            ]
        ),
    )


def make_bundle() -> Bundle:
    return Bundle(Path("bundle"), (), copy_evidence().evidence())


CHART_TABLES = (
    make_results(
        make_result(300.0, 500.0, 2.0, line="b", doubt="The cap did not hold."),
        make_result(
            400.0, 9000.0, 2.0, line="paper", standing="published", implausible="exceeds the peak"
        ),
    ),
    make_table(
        "results",
        *(
            {
                "joules_per_item": v,
                "joules_per_item_kind": "measured",
                "joules_per_item_low": v - 0.1,
                "joules_per_item_high": v + 0.1,
            }
            for v in (1.5, 2.5)
        ),
    ),
    make_table("scaling", *({"count": n, "speed_up": n * 0.9, "cap_w": 700.0} for n in (4, 8))),
    make_table("tuned", {"cap_w": 700.0, RATE: 7444.0, "baseline_rate": 2500.0}),
    make_table(
        "power",
        *(
            {"cap_w": cap, "sm_mhz": cap * 2, **vars(spread(np.array([300.0, cap])))}
            for cap in (400.0, 700.0)
        ),
        **vars(spread(np.ones(1))),
    ),
)


def list_charts() -> Iterator[Chart]:
    trace = build_trace_table(make_bundle(), "resnet50-train-trace-1")
    for table in (*CHART_TABLES, *list_row_chart_tables(), trace, make_course_table()):
        yield from build_charts(table)


def make_course_table() -> ReportTable:
    """The course of a run with a node meter, on two boards."""
    evidence = copy_evidence()
    add_node_power(evidence)
    rederive(evidence)
    bundle = Bundle(Path("bundle"), (), evidence.evidence())
    (table,) = build_course_tables(
        bundle, make_run_row(500.0, "a"), ControlPower(690.0, 1900.0), 60
    )
    return replace(table, id="resnet50-train-course-1")


def validate_spec(spec: Json) -> None:
    """Raise altair.utils.schemapi.SchemaValidationError unless the spec follows the schema of
    Vega-Lite, without the `encoding` of legends, which the schema leaves out."""

    def omit_legend_encoding(fields: Json) -> Json:
        is_legend = "symbolDash" in fields
        return {k: v for k, v in fields.items() if not (is_legend and k == "encoding")}

    altair.Chart.from_dict(json.loads(json.dumps(spec), object_hook=omit_legend_encoding))
