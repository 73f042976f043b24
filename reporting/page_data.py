"""The JSON of the tables of a page, with repeated values stored once.

`templates/report.js` restores the values.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reporting.html.document import compress_text
from reporting.report_table import ReportTable, to_record
from rules.bundle_format.records import Json

_LEFT_OUT = ("columns", "keys", "rows")
_MAX_UNSHARED_CELL_LENGTH = 7
"""Cells with more characters than this are stored once if they repeat."""
_NO_CELL = object()
"""Stands above the first cell of a column; equal to no cell."""


def compress_tables(
    tables: Sequence[ReportTable], node_cells: Mapping[str, Mapping[int, Json]] | None = None
) -> str:
    """The records of tables as compressed JSON (`compress_text`), with the cells of whole nodes by
    table and number of the row under `nodes`."""
    records = {**share_cells([to_record(table) for table in tables]), "nodes": node_cells or {}}
    return compress_text(json.dumps(records, ensure_ascii=False, separators=(",", ":")))


def share_cells(records: Sequence[Json]) -> Json:
    """Records of tables, with each longer value that several cells hold stored once.

    `cells` of a table has its columns. The cell `[n]` stands for `shared[n]`, the cell `[]` for the
    value above, and `[-n]` for n cells `[]` below each other. `heads` has the places of the columns
    of each table in `columns`. The keys of a table follow from its columns (`Column.keys`).
    """
    counts = Counter(
        cell
        for record in records
        for row in record["rows"]
        for cell in row
        if len(cell if type(cell) is str else str(cell)) > _MAX_UNSHARED_CELL_LENGTH
    )
    # A cell is text, a number, true, false or None, and so can be counted.
    shared = [cell for cell, count in counts.items() if count > 1]
    places = {cell: place for place, cell in enumerate(shared)}

    def shorten_column(cells: Iterable[Any]) -> list[Any]:
        short_cells: list[Any] = []
        cell_above: Any = _NO_CELL
        repeats = 0
        for cell in cells:
            place = places.get(cell)
            # A cell of one or two characters is no longer than `[]`.
            if _are_equal(cell, cell_above) and (place is not None or len(str(cell)) > 2):
                repeats += 1
                continue
            short_cells += _fold_repeats(repeats)
            short_cells.append(cell if place is None else [place])
            cell_above, repeats = cell, 0
        return short_cells + _fold_repeats(repeats)

    columns: dict[str, int] = {}
    heads: dict[tuple[int, ...], int] = {}
    tables = []
    for record in records:
        table = {key: value for key, value in record.items() if key not in _LEFT_OUT}
        # Many tables have the same columns, for example all tables of power over time.
        places_of_columns = tuple(
            columns.setdefault(json.dumps(column), len(columns)) for column in record["columns"]
        )
        head = heads.setdefault(places_of_columns, len(heads))
        # Column by column, because cells of a column are alike and compress better.
        cells = [shorten_column(column) for column in zip(*record["rows"], strict=True)]
        tables.append({**table, "head": head, "cells": cells})
    return {
        "tables": tables,
        "shared": shared,
        "heads": list(heads),
        "columns": [json.loads(column) for column in columns],
    }


def _fold_repeats(count: int) -> list[list[int]]:
    """What stands for `count` cells that are equal to the one above."""
    return [[-count] if count > 1 else []] if count else []


def _are_equal(first: object, second: object) -> bool:
    return type(first) is type(second) and first == second  # True == 1 in Python
