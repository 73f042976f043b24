"""Runs with an older recipe of their implementation than another run of the same configuration.

The page shows them and compares them with nothing. A mean over two recipes is the result of
neither.
"""

from collections.abc import Sequence
from dataclasses import replace

from reporting.results_model import ResultRow
from reporting.run_record import Provenance

Key = tuple[object, ...]


def mark_older_recipes(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """The rows. Those with an older recipe than the newest run of their configuration and cap name
    that run (`Provenance.newer`)."""
    newest: dict[Key, Provenance] = {}
    for row in rows:
        if row.provenance:
            key = _make_key(row, row.provenance)
            newest[key] = max(newest.get(key, row.provenance), row.provenance, key=_read_start)
    return [_mark(row, newest) for row in rows]


def _mark(row: ResultRow, newest: dict[Key, Provenance]) -> ResultRow:
    if row.provenance is None:
        return row
    run = newest[_make_key(row, row.provenance)].run
    if run.kind == row.provenance.run.kind:
        return row
    return replace(row, provenance=replace(row.provenance, newer="/".join(run.path.parts[-3:])))


def _make_key(row: ResultRow, provenance: Provenance) -> Key:
    """Cap and configuration without the recipe."""
    directory, system, configuration = provenance.run.kind
    return row.cap_w, directory, system, configuration.without(["recipe"])


def _read_start(provenance: Provenance) -> str:
    return provenance.run.declaration.started_at
