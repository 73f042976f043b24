"""A good row of another program's evidence, and helpers that alter it."""

from dataclasses import replace
from typing import Any

from rules.audit.row import Basis, Check, Figure, FileHash, Row, Topic, Trace

_POWER_W, _DURATION_S, _RATE = 5_200.0, 100.0, 20_000.0


def make_good_row() -> Row:
    """Eight H200 that serve tokens for 100 s, each at 650 W. Everything agrees."""
    energy_j, items = _POWER_W * _DURATION_S, _RATE * _DURATION_S
    return Row(
        source="made",
        place="made.json",
        files=("made.json",),
        board="NVIDIA H200",
        boards=8,
        unit="token",
        duration_s=_DURATION_S,
        energy_j=Figure(energy_j, Basis.SAMPLES, "trapezoid", 0.999 * energy_j, 1.001 * energy_j),
        items=Figure(items, Basis.LOG, "count"),
        mean_power_w=_POWER_W,
        peak_power_w=6_000.0,
        cap_w=700.0,
        items_per_s=_RATE,
        flops_per_item=2 * 8e9,
        precision="bf16",
        checks=(
            Check(Topic.ENERGY_OF_SAMPLES, "energy", "J", energy_j, energy_j, "the trapezoid"),
            Check(Topic.POWER_TIMES_TIME, "energy", "J", energy_j, energy_j, "power x time"),
            Check(Topic.RATE, "items", "tokens", items, items, "rate x time"),
            Check(Topic.PARTS, "energy", "J", energy_j, energy_j, "the sum of the boards"),
            Check(Topic.DURATION, "duration", "s", _DURATION_S, _DURATION_S, "end - start"),
            Check(Topic.COUNT, "boards", "boards", 8.0, 8.0, "total power / power per board"),
        ),
        traces=(
            Trace(
                label="board 0",
                readings=1_000,
                covered_share=1.0,
                largest_gap_s=0.11,
                missing_s=0.0,
                duration_s=_DURATION_S,
                mean_power_w=650.0,
                highest_w=800.0,
                boards=1,
            ),
        ),
        hashes=(FileHash("made.csv", "aa" * 20, "aa" * 20),),
    )


def restate(row: Row, topic: Topic, factor: float) -> Row:
    """The row with the stated figure of its check on `topic` multiplied."""
    checks = [
        replace(check, stated=check.stated * factor) if check.topic == topic else check
        for check in row.checks
    ]
    return replace(row, checks=tuple(checks))


def alter_trace(row: Row, **changes: Any) -> Row:
    """The row with a changed first trace."""
    first, *others = row.traces
    return replace(row, traces=(replace(first, **changes), *others))
