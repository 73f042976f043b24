"""The slowdown of an AMD GPU: which of its residency counters grew between two readings."""

from collections.abc import Mapping
from typing import Any

from harness.power.rocm_devices import known_number

PROCESSOR_HOT, PACKAGE_POWER, SOCKET_THERMAL, REGULATOR_THERMAL, MEMORY_THERMAL = (
    0x1,
    0x2,
    0x4,
    0x8,
    0x10,
)
"""Bits of a slowdown. Package power tracking (PPT) is the power cap; the others are thermal."""
RESIDENCY_COUNTERS = {
    PROCESSOR_HOT: "prochot_residency_acc",
    PACKAGE_POWER: "ppt_residency_acc",
    SOCKET_THERMAL: "socket_thm_residency_acc",
    REGULATOR_THERMAL: "vr_thm_residency_acc",
    MEMORY_THERMAL: "hbm_thm_residency_acc",
}


def find_slowdown(
    earlier: Mapping[int, int], table: Mapping[str, Any]
) -> tuple[int | None, dict[int, int]]:
    """The bits of the residency counters that grew since the last call, None without an earlier
    value; and the counters for the next call, by bit. `table` are the GPU metrics of AMD SMI."""
    counts = {bit: known_number(table.get(name)) for bit, name in RESIDENCY_COUNTERS.items()}
    current = {bit: count for bit, count in counts.items() if count is not None}
    comparable = current.keys() & earlier.keys()
    grown = sum(bit for bit in comparable if current[bit] > earlier[bit])
    # A counter that is missing this time keeps its earlier value for the next comparison.
    return grown if comparable else None, {**earlier, **current}
