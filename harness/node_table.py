"""Reads the table `[node]` of system.toml, which states what is rated of every node of the run."""

import math
from pathlib import Path

from harness.errors import PlanError
from rules.bundle_format.files import shorten
from rules.bundle_format.records import Json

NODE_KEYS = (
    *("rated_w", "rated_source"),
    *("power_supplies", "supplies_needed", "supply_capacities_w"),
)
"""The keys of `[node]`, which every node of system.json gets."""
HIGHEST_RATED_W = 1e7
HIGHEST_SUPPLIES = 1000
LONGEST_SOURCE = 4096


def read_node_table(path: Path, table: object) -> Json:
    """The keys that the table `[node]` of the file `path` adds to each node of system.json.

    Raises PlanError, which names file and key, what was found, and what is expected.
    """
    if not isinstance(table, dict):
        raise PlanError(f"{path}: node must be one table, headed [node]")
    for key, value in table.items():
        if key not in NODE_KEYS:
            raise PlanError(
                f"{path}: [node] has the unknown key {key!r}; the keys are {', '.join(NODE_KEYS)}"
            )
        if not _is_allowed(key, value):
            raise PlanError(
                f"{path}: [node] {key}: found {shorten(value)}, expected {_EXPECTED[key]}"
            )
    if "rated_source" in table and "rated_w" not in table:
        raise PlanError(f"{path}: [node] has rated_source without rated_w; add rated_w")
    if problem := find_supply_problem(table):
        raise PlanError(f"{path}: [node] {problem}")
    return dict(table)


def find_supply_problem(table: Json) -> str | None:
    """In what the keys on power supplies contradict each other."""
    listed = len(table.get("supply_capacities_w") or ())
    supplies, needed = table.get("power_supplies"), table.get("supplies_needed")
    if listed and supplies not in (None, listed):
        return f"power_supplies: found {supplies}, but supply_capacities_w lists {listed}"
    highest = listed or supplies
    if needed and highest and needed > highest:
        return f"supplies_needed: found {needed}, expected 1 to {highest}, the power supplies"
    return None


_EXPECTED = {
    "rated_w": f"the rated power of a node in watts, above 0 and up to {HIGHEST_RATED_W:.0f}",
    "rated_source": "where it is stated, as text in quotes",
    "power_supplies": f"how many power supplies a node has, 1 to {HIGHEST_SUPPLIES}",
    "supplies_needed": f"how many of them it needs, 1 to {HIGHEST_SUPPLIES}",
    "supply_capacities_w": f"a list of what each of 1 to {HIGHEST_SUPPLIES} supplies can deliver, "
    f"0 to {HIGHEST_RATED_W:.0f} watts",
}


def _is_allowed(key: str, value: object) -> bool:
    match key, value:
        case _, bool():
            return False
        case "rated_w", int() | float():
            return math.isfinite(value) and 0 < value <= HIGHEST_RATED_W
        case "rated_source", str():
            return bool(value.strip()) and len(value) <= LONGEST_SOURCE
        case "power_supplies" | "supplies_needed", int():
            return 1 <= value <= HIGHEST_SUPPLIES
        case "supply_capacities_w", list():
            return 1 <= len(value) <= HIGHEST_SUPPLIES and all(map(_is_capacity, value))
    return False


def _is_capacity(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= HIGHEST_RATED_W
