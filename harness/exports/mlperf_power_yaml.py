"""The nameplate of the nodes of a run, as `systems/SYSTEM_power.yaml` of MLPerf Inference.

It is the inverse of `harness.power_yaml`, which has the source of the format. The capacities are
those that the bundle states. They do not follow from the rated power: supplies may be unequal, and
the rated power may be that of a data sheet.
"""

from dataclasses import asdict
from pathlib import Path

from harness.errors import PlanError
from harness.exports.run import ExportedRun
from harness.node_table import find_supply_problem
from harness.power_yaml import CAPACITY, NEEDED, SUPPLIES, import_yaml
from rules.bundle_format.records import Json
from rules.declarations.system import Node, SystemDeclaration


def export(run: ExportedRun) -> str:
    """The nameplate as YAML. Raises PlanError if the bundle does not state the power supplies of
    each node, and MachineError without a YAML library."""
    return make_nameplate(run.bundle.path, run.bundle.system_declaration)


def make_nameplate(path: Path, system: SystemDeclaration) -> str:
    """The nameplate of the system of the bundle at `path`, as `export` raises."""
    document = {system.name: [{node.name: [_make_component(path, node)]} for node in system.nodes]}
    text: str = import_yaml().safe_dump(document, sort_keys=False, allow_unicode=True)
    return text.rstrip("\n")


def _make_component(path: Path, node: Node) -> Json:
    place = f"{path}: {node.name} of system.json"
    capacities_w, needed = node.supply_capacities_w, node.supplies_needed
    if capacities_w is None or needed is None:
        missing = "supply_capacities_w" if capacities_w is None else "supplies_needed"
        raise PlanError(
            f"{place} has no {missing}, so its nameplate is not known; state supplies_needed and "
            "supply_capacities_w in [node] of system.toml, which bench-submit rating can print, "
            "and run again"
        )
    if problem := find_supply_problem(asdict(node)):
        raise PlanError(f"{place}: {problem}; correct [node] of system.toml, and run again")
    return {
        "Description": _describe(node),
        NEEDED: needed,
        SUPPLIES: [
            {"Name": f"PSU {number}", CAPACITY: _shorten(capacity_w)}
            for number, capacity_w in enumerate(capacities_w, 1)
        ],
    }


def _describe(node: Node) -> str:
    names = [accelerator.name for accelerator in node.accelerators]
    boards = ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))
    rating = "" if node.rated_w is None else f", rated {node.rated_w:.10g} W"
    source = "" if node.rated_source is None else f" ({node.rated_source})"
    return f"{node.cpu}, {boards} in the run{rating}{source}"


def _shorten(capacity_w: float) -> float:
    """The same as an integer, if it is one."""
    return int(capacity_w) if capacity_w == int(capacity_w) else capacity_w
