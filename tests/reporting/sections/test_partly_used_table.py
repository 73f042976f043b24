"""The table of runs on a part of the boards of a node, with the idle boards counted."""

from pathlib import Path
from typing import Any

import pytest
from conftest import Submissions
from support.bundles import make_other_run, rederive
from support.report.report_runs import make_run_at_cap

from reporting.collect import collect
from reporting.page_model import PageModel, build_page_model
from reporting.report_table import TableRow
from rules.testing.cases.node.idle_contradicts_evidence import record_idle
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power

ID = "resnet50-train-partly"
IDLE_W = 90.0
RATES = {500: 0.9, 600: 0.95, 700: 1.0}


def idle_boards(evidence: EvidenceFrames, count: int, power_w: float | None = IDLE_W) -> None:
    """Give the node so many boards that take no part, each with this power."""
    (node,) = evidence.system["nodes"]
    node["accelerators_installed"] = len(node["accelerators"]) + count
    record_idle(evidence)
    evidence.result["idle"] += [
        {
            "node": "node0",
            "accelerator": f"GPU-idle-{place}",
            "used": False,
            "bare_w": power_w,
            "resident_w": power_w,
            "mean_w": power_w,
            "energy_j": None if power_w is None else power_w * 300,
        }
        for place in range(count)
    ]


def add_partial_sweep(
    submissions: Submissions,
    idle: int,
    metered: bool = False,
    power_w: float | None = IDLE_W,
    system: str = "h200x2",
    first: int = 0,
    **meter: object,
) -> Path:
    """Add runs at three caps on two boards of a node with so many idle ones. Returns the directory
    of the system."""
    for place, (cap_w, rate) in enumerate(RATES.items(), first):
        evidence = make_run_at_cap(cap_w, rate)
        make_other_run(evidence, place)
        if metered:
            add_node_power(evidence, seed=place)
            evidence.system["meters"][0].update(meter)
        rederive(evidence)
        # The phases are placed by the readings, so they come last.
        idle_boards(evidence, idle, power_w)
        submissions.add(evidence, f"20260101T000000Z-run-{place}", system=system)
    return submissions.root / "example" / system


def build_page(directory: Path) -> PageModel:
    return build_page_model(collect([directory]), Path.as_posix)


def list_rows(page: PageModel, id: str = ID) -> list[TableRow]:
    return [row for table in page.tables if table.id == id for row in table.rows]


def read(row: TableRow, key: str) -> float:
    value: Any = row[key]
    return float(value)


def test_idle_boards_are_counted_for_the_time_of_the_run(submissions: Submissions) -> None:
    page = build_page(add_partial_sweep(submissions, 6))
    rows = list_rows(page)
    assert [(row["used"], row["idle_boards"], row["cap_w"]) for row in rows] == [
        (2, 6, cap_w) for cap_w in RATES
    ]
    rates = {row["cap_w"]: read(row, "items_per_s") for row in list_rows(page, ID[:-6] + "sweeps")}
    for row in rows:
        assert row["idle_w"] == 6 * IDLE_W
        idle_j = 6 * IDLE_W / rates[row["cap_w"]]
        assert read(row, "with_idle_joules_per_item") == pytest.approx(
            read(row, "joules_per_item") + idle_j
        )
        assert read(row, "idle_percent") == pytest.approx(
            100 * idle_j / read(row, "with_idle_joules_per_item")
        )
        assert row["node_joules_per_item"] is None


def test_gains_are_less_with_idle_boards(
    submissions: Submissions,
) -> None:
    page = build_page(add_partial_sweep(submissions, 2))
    gains = {row["cap_w"]: row for row in list_rows(page)}
    assert gains[700]["energy_gain_percent"] is None, "the reference has no gain"
    for cap_w in (500, 600):
        row = gains[cap_w]
        of_boards, counted = (
            read(row, f"{scope}energy_gain_percent") for scope in ("", "with_idle_")
        )
        assert 0 < counted < of_boards
        low, high = (read(row, f"with_idle_energy_gain_percent_{end}") for end in ("low", "high"))
        assert low < counted < high


def test_more_idle_boards_leave_less_of_the_gain(submissions: Submissions) -> None:
    gains = []
    for idle, first in ((2, 0), (6, 3)):
        directory = add_partial_sweep(submissions, idle, system=f"h200x{2 + idle}", first=first)
        (row,) = [row for row in list_rows(build_page(directory)) if row["cap_w"] == 500]
        gains.append(read(row, "with_idle_energy_gain_percent"))
    assert gains[1] < gains[0]


def test_node_meters_count_idle_boards_and_their_runs_rank_nowhere(
    submissions: Submissions,
) -> None:
    page = build_page(add_partial_sweep(submissions, 6, metered=True))
    rows = {row["cap_w"]: row for row in list_rows(page)}
    nodes = {row["cap_w"]: row for row in list_rows(page, "resnet50-train-nodes")}
    for cap_w, row in rows.items():
        assert read(row, "node_joules_per_item") == pytest.approx(
            read(nodes[cap_w], "node_joules_per_item")
        )
        assert nodes[cap_w]["unranked"] == "node0: 6 accelerators did not take part"
    # The host draws power too.
    assert read(rows[500], "node_energy_gain_percent") < read(rows[500], "energy_gain_percent")
    assert rows[500]["node_gain_minus_extra_time_points"] is not None
    # No table of whole nodes has them: neither gains nor racks.
    ids = {table.id for table in page.tables}
    assert not ids & {"resnet50-train-node-gains", "rack", "whole-nodes"}
    assert page.node_scope is None


@pytest.mark.parametrize(
    ("power_w", "why"), [(None, "a board was not read"), (400.0, "other work ran on the boards")]
)
def test_power_that_is_not_idle_is_not_counted(
    submissions: Submissions, power_w: float | None, why: str
) -> None:
    assert not list_rows(build_page(add_partial_sweep(submissions, 6, power_w=power_w))), why


def test_meter_of_a_rack_gives_no_energy_of_a_node(submissions: Submissions) -> None:
    meter = {"scope": "rack", "nodes_covered": 4}
    rows = list_rows(build_page(add_partial_sweep(submissions, 6, metered=True, **meter)))
    assert [row["node_joules_per_item"] for row in rows] == [None] * 3


def test_wholly_used_nodes_are_not_in_the_table(submissions: Submissions) -> None:
    assert not list_rows(build_page(add_partial_sweep(submissions, 0, metered=True)))
