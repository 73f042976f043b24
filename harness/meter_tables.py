"""Reads the tables `[[meter]]` of system.toml, which describe the node meters."""

import copy
import math
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import PlanError
from rules.bundle_format.documents import read_schema
from rules.bundle_format.files import shorten
from rules.bundle_format.records import SYSTEM_FORMAT, Json
from rules.declarations.system import MeterDeclaration

if TYPE_CHECKING:
    from jsonschema import ValidationError

_NODE_NAME = re.compile(r"node(0|[1-9][0-9]*)")
ADDRESS_KEYS = ("host", "port", "address", "user", "password", "community")
"""Keys of meters.toml that people write into system.toml, which goes into the bundle."""


def parse_meters(description: Json) -> tuple[MeterDeclaration, ...]:
    """The node meters in the description of a system."""
    return tuple(
        MeterDeclaration.from_json(f"/meters/{i}", entry)
        for i, entry in enumerate(description.get("meters", ()))
    )


def read_meter_tables(path: Path, tables: object) -> list[Json]:
    """The entries of `meters` in system.json from the tables `[[meter]]` of the file `path`.

    Raises PlanError, which names file, table and key, what was found, and what is expected.
    """
    if not isinstance(tables, list):
        raise PlanError(f"{path}: meter must be tables, each headed [[meter]]")
    entries = [
        _read_table(path, f"[[meter]] {index + 1}", table) for index, table in enumerate(tables)
    ]
    ids = [entry["id"] for entry in entries]
    if repeated := [name for name in ids if ids.count(name) > 1]:
        raise PlanError(f"{path}: two meters have the id {repeated[0]}; give each its own")
    return entries


def select_meters(entries: Collection[Json], nodes: Collection[str]) -> list[Json]:
    """The meters that have feeds of these nodes, with these feeds only."""
    selected = []
    for entry in entries:
        if feeds := [feed for feed in entry["feeds"] if feed["node"] in nodes]:
            selected.append({**entry, "feeds": feeds})
    return selected


def _read_table(path: Path, place: str, table: object) -> Json:
    if not isinstance(table, dict):
        raise PlanError(f"{path}: {place} must be a table")
    entry: Json = {
        key: str(value) if key == "calibrated_on" else value
        for key, value in copy.deepcopy(table).items()
    }
    for key in ADDRESS_KEYS:
        if key in entry:
            raise PlanError(
                f"{path}: {place}: {key} belongs into meters.toml, because system.toml goes into "
                "the bundle (docs/node-power.md)"
            )
    for error in _validator().iter_errors(entry):
        raise PlanError(f"{path}: {place} {_describe_error(error)}")
    for key, value in entry.items():
        # TOML has NaN and infinity, which pass the schema, and the JSON of a bundle has neither.
        if isinstance(value, float) and not math.isfinite(value):
            raise PlanError(f"{path}: {place} {key}: found {value}, expected a finite number")
    if not entry["interval_ms"] > 0:
        raise PlanError(f"{path}: {place} interval_ms: found 0, expected more than 0")
    names = [feed["feed"] for feed in entry["feeds"]]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise PlanError(f"{path}: {place} feeds: {repeated[0]} occurs twice; name each feed once")
    for feed in entry["feeds"]:
        if not _NODE_NAME.fullmatch(feed["node"]):
            raise PlanError(
                f"{path}: {place} feeds: found the node {shorten(feed['node'])}, expected node0, "
                "node1, … as `run --node` numbers them"
            )
    return entry


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    schema = read_schema(SYSTEM_FORMAT)
    entry = dict(schema["properties"]["meters"]["items"])
    # A misspelt key would be left out of the bundle in silence.
    entry.pop("patternProperties", None)
    return Draft202012Validator({**entry, "$defs": schema.get("$defs", {})})


def _describe_error(error: "ValidationError") -> str:
    """The key, what was found and what is expected."""
    key = ".".join(map(str, error.absolute_path))
    constraint: Any = error.validator_value
    instance: Any = error.instance
    if error.validator == "required":
        missing = [name for name in constraint if name not in instance]
        return f"{key}: lacks {', '.join(missing)}; add what is missing"
    if error.validator == "additionalProperties":
        schema: Any = error.schema
        unknown = [name for name in instance if name not in schema["properties"]]
        return f"{key}: unknown key {unknown[0]!r}; the keys are {', '.join(schema['properties'])}"
    expected = " or ".join(map(str, constraint)) if isinstance(constraint, list) else constraint
    kind = {"enum": "one of "}.get(str(error.validator), f"{error.validator} ")
    return f"{key}: found {shorten(instance)}, expected {kind}{expected}"
