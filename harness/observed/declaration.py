"""The declaration of an observed job: a TOML file that says what ran, where, and on which meter."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.power_logs.toml_file import read_toml
from harness.slurm.accounting import SlurmAccountingError, read_window
from rules.bundle_format.records import Json
from rules.power_logs.records import PowerLogError

_KEYS = {
    "job": frozenset({"what", "start", "end", "slurm_job", "items", "item", "items_source"}),
    "node": frozenset({"system", "count", "accelerator", "accelerators", "rated_w"}),
    "meter": frozenset({"model", "scope"}),
}
_ITEM_KEYS = ("items", "item", "items_source")


@dataclass(frozen=True)
class JobDeclaration:
    """What a TOML file declares, with the keys of observation.json, whose schema judges it."""

    path: Path
    start: datetime
    """With a time zone, as `end`."""
    end: datetime
    job: Json
    node: Json
    meter: Json


def read_declaration(path: Path) -> JobDeclaration:
    """Read a declaration. The window is stated, or comes from the accounting of a Slurm job.

    Raises PowerLogError, which names the file and the key.
    """
    tables = _read_tables(path)
    job = dict(tables["job"])
    start, end = _read_window(path, job)
    items = {key: job.pop(key) for key in _ITEM_KEYS if key in job}
    if items:
        if missing := [key for key in _ITEM_KEYS if key not in items]:
            raise PowerLogError(
                f"{path}: job.{missing[0]} is missing; items need items, item and items_source"
            )
        job["items"] = {
            "count": items["items"],
            "name": items["item"],
            "source": items["items_source"],
        }
    return JobDeclaration(
        path, start, end, job, {"count": 1, **tables["node"]}, {"scope": "node", **tables["meter"]}
    )


def _read_tables(path: Path) -> Mapping[str, Json]:
    document = read_toml(path)
    for name, keys in _KEYS.items():
        table = document.get(name)
        if not isinstance(table, dict):
            raise PowerLogError(f"{path}: the table [{name}] is missing; add it")
        if unknown := sorted(table.keys() - keys):
            raise PowerLogError(
                f"{path}: {name}.{unknown[0]} is unknown; expected {', '.join(sorted(keys))}"
            )
    if unknown := sorted(document.keys() - _KEYS.keys()):
        raise PowerLogError(
            f"{path}: {unknown[0]} is unknown; expected the tables [job], [node] and [meter]"
        )
    return document


def _read_window(path: Path, job: Json) -> tuple[datetime, datetime]:
    """Take the window out of the table `job`."""
    start, end = job.pop("start", None), job.pop("end", None)
    if "slurm_job" in job:
        if start is not None or end is not None:
            raise PowerLogError(
                f"{path}: job.slurm_job gives the window; leave out job.start and job.end"
            )
        job["slurm_job"] = str(job["slurm_job"])
        try:
            return read_window(job["slurm_job"], os.environ)
        except SlurmAccountingError as error:
            raise PowerLogError(f"{path}: job.slurm_job: {error}") from None
    window = _read_time(path, "start", start), _read_time(path, "end", end)
    if window[0] >= window[1]:
        raise PowerLogError(
            f"{path}: job.end is {window[1].isoformat()}, expected a time after job.start, "
            f"{window[0].isoformat()}"
        )
    return window


def _read_time(path: Path, key: str, value: Any) -> datetime:
    """A time of the declaration. Raises PowerLogError unless it is one with a time zone."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = datetime.fromisoformat(value)
    if not isinstance(value, datetime) or value.tzinfo is None:
        found = "missing" if value is None else f"{value!s}"
        raise PowerLogError(
            f"{path}: job.{key} is {found}, expected a time with a time zone, such as "
            "2026-03-04T10:00:00+01:00"
        )
    return value.astimezone(UTC)
