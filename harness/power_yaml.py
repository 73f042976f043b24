"""Reads the rated power of a node from the nameplate file of an MLPerf Inference submission.

`systems/SYSTEM_power.yaml` lists components of a system by name, each in those that contain it. A
component with power supplies has their capacities (`PSUs`, `PowerCapacityWatts`) and how many of
them it needs (`Min PSUs Needed`). Source: mlcommons/inference,
`tools/submission/submission_structure.md` and the submission checker, since round v6.1.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from checker.extras import advise_extra
from harness.errors import MachineError, PlanError
from harness.node_table import read_node_table
from rules.bundle_format.files import shorten
from rules.bundle_format.records import Json

SUPPLIES, NEEDED, CAPACITY = "PSUs", "Min PSUs Needed", "PowerCapacityWatts"
_DEEPEST, _MOST_VALUES = 50, 100_000
"""Values of YAML may contain themselves, and each other many times."""


@dataclass(frozen=True)
class Component:
    """A component with power supplies of its own, such as a server or a switch."""

    names: tuple[str, ...]
    """Its name, after those of the components that contain it."""
    capacities_w: tuple[float, ...]
    """Of each power supply."""
    needed: int
    """How many of them it needs; the others are redundant."""

    @property
    def path(self) -> str:
        return "/".join(self.names)

    @property
    def design_w(self) -> float:
        """The capacity of the largest supplies that it needs, as MLPerf's checker adds them up."""
        return sum(sorted(self.capacities_w, reverse=True)[: self.needed])


def make_node_table(path: Path, component: str | None = None) -> Json:
    """The table `[node]` of system.toml for a component of the file. None: the only kind that the
    file has.

    Raises PlanError, which names the file, and MachineError without a YAML library.
    """
    chosen = _choose(path, list(_list_components(path, _read_yaml(path))), component)
    supplies = len(chosen.capacities_w)
    table = {
        "rated_w": chosen.design_w,
        "rated_source": f"nameplate of MLPerf Inference, {path.name}: {CAPACITY} of "
        f"{chosen.needed} of {supplies} power supplies of {chosen.path}",
        "power_supplies": supplies,
        "supplies_needed": chosen.needed,
        "supply_capacities_w": list(chosen.capacities_w),
    }
    return read_node_table(path, table)


def format_node_table(table: Json) -> str:
    """The table as TOML."""
    return "\n".join(["[node]", *(f"{key} = {_format(value)}" for key, value in table.items())])


def _format(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_format, value))}]"
    return _quote(value) if isinstance(value, str) else f"{value:.10g}"


def _quote(text: str) -> str:
    # Strings of JSON are strings of TOML, except that TOML escapes DEL too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def import_yaml() -> Any:
    """PyYAML. Raises MachineError if it is not installed."""
    try:
        import yaml
    except ImportError:
        raise MachineError(f"PyYAML is not installed; {advise_extra('meters')}") from None
    return yaml


def _read_yaml(path: Path) -> object:
    yaml = import_yaml()
    try:
        return yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise PlanError(f"{path}: cannot be read ({error.strerror})") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise PlanError(f"{path}: cannot be read as YAML: {reason}") from None


def _list_components(
    path: Path,
    value: Any,
    names: tuple[str, ...] = (),
    depth: int = 0,
    counter: Iterator[int] | None = None,
) -> Iterator[Component]:
    """The components of a value of the file, in its order."""
    counter = counter or count(1)
    if depth > _DEEPEST or next(counter) > _MOST_VALUES:
        raise PlanError(f"{path}: components are nested too deeply or too many; give one system")
    if isinstance(value, list):
        for part in value:
            yield from _list_components(path, part, names, depth + 1, counter)
    elif isinstance(value, dict):
        keys = {str(key).casefold(): key for key in value}
        if SUPPLIES.casefold() in keys:
            yield _make_component(path, {k: value[name] for k, name in keys.items()}, names)
        else:
            for name, part in value.items():
                yield from _list_components(path, part, (*names, str(name)), depth + 1, counter)


def _make_component(path: Path, entry: Json, names: tuple[str, ...]) -> Component:
    place = f"{path}: {'/'.join(names) or 'the file'}"
    supplies, needed = entry[SUPPLIES.casefold()], entry.get(NEEDED.casefold())
    if not isinstance(supplies, list) or not supplies:
        raise PlanError(f"{place}: {SUPPLIES} must list the power supplies")
    capacities_w = []
    for number, supply in enumerate(supplies, 1):
        capacity_w = supply.get(CAPACITY) if isinstance(supply, dict) else None
        if isinstance(capacity_w, bool) or not isinstance(capacity_w, int | float):
            raise PlanError(
                f"{place}: power supply {number}: found {shorten(capacity_w)} as {CAPACITY}, "
                "expected its capacity in watts"
            )
        capacities_w.append(float(capacity_w))
    if isinstance(needed, bool) or not isinstance(needed, int) or not 1 <= needed <= len(supplies):
        raise PlanError(
            f"{place}: found {shorten(needed)} as {NEEDED}, expected 1 to {len(supplies)}, the "
            "number of its power supplies"
        )
    return Component(names, tuple(capacities_w), needed)


def _choose(path: Path, components: list[Component], wanted: str | None) -> Component:
    if not components:
        raise PlanError(
            f"{path}: no component has {SUPPLIES}; give the nameplate file of an MLPerf Inference "
            "submission"
        )
    found = [c for c in components if wanted in (None, c.path, *c.names[-1:])]
    # Servers of one kind have equal supplies, and one of them stands for all.
    if len({(c.capacities_w, c.needed) for c in found}) == 1:
        return found[0]
    listed = ", ".join(f"{c.path} ({c.design_w:g} W)" for c in components[:20])
    if wanted is None:
        raise PlanError(f"{path}: choose the node with --component; the file has {listed}")
    raise PlanError(f"{path}: no single component is called {wanted}; the file has {listed}")
