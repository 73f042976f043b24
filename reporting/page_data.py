"""The JSON of the page: chart specs and table rows, with repeated values stored once.

`templates/report.js` and `templates/charts.js` restore the values. Without this step a page of 300
runs has 3.8 in place of 2.9 MB.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rules.bundle_format.records import Json

_HEAD = ("columns", "keys")
_CELL_FROM = 7
"""Cells with more characters than this are stored once if they repeat."""
_SHARED_FROM = 40
"""Values of specs with at least this many characters of JSON are stored once if they repeat."""
_NO_CELL = object()
"""Stands above the cells of the first row; equal to no cell."""


def share_spec_values(specs: Mapping[str, Json]) -> Json:
    """The specs, with each longer value that occurs at least twice stored once: `{"$": n}` stands
    for `shared[n]`, which may itself hold such references."""
    seen = Counter(text for spec in specs.values() for text in _texts(spec))
    shared: list[Any] = []
    places: dict[str, int] = {}

    def packed(value: Any) -> Any:
        if not isinstance(value, dict | list):
            return value
        text = _text(value)
        if text in places:
            return {"$": places[text]}
        inner = (
            {k: packed(v) for k, v in value.items()}
            if isinstance(value, dict)
            else [packed(v) for v in value]
        )
        if len(text) < _SHARED_FROM or seen[text] < 2:
            return inner
        shared.append(inner)
        places[text] = len(shared) - 1
        return {"$": places[text]}

    return {"specs": {id: packed(spec) for id, spec in specs.items()}, "shared": shared}


def share_cells(records: Sequence[Json]) -> Json:
    """Records of tables, with each longer value that several cells hold stored once.

    The cell `[n]` stands for `shared[n]`, the cell `[]` for the value of the row above, and `[-n]`
    for n cells `[]` in a row. Tables with equal columns and keys share them, at `head` in `heads`.
    """
    seen = Counter(
        cell
        for record in records
        for row in record["rows"]
        for cell in row
        if len(str(cell)) > _CELL_FROM
    )
    shared = [cell for cell, times in seen.items() if times > 1]
    places = {cell: place for place, cell in enumerate(shared)}

    def cells(row: Sequence[Any], above: Sequence[Any]) -> list[Any]:
        short = [[places[cell]] if cell in places else cell for cell in row]
        return _folded(
            [
                [] if len(str(put)) > 2 and _same(cell, over) else put
                for put, cell, over in zip(short, row, above, strict=True)
            ]
        )

    def rows(table_rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
        return [
            cells(row, table_rows[place - 1] if place else [_NO_CELL] * len(row))
            for place, row in enumerate(table_rows)
        ]

    heads: dict[str, int] = {}
    tables = []
    for record in records:
        table = {key: value for key, value in record.items() if key not in _HEAD}
        head = heads.setdefault(json.dumps({key: record[key] for key in _HEAD}), len(heads))
        tables.append({**table, "head": head, "rows": rows(record["rows"])})
    return {"tables": tables, "shared": shared, "heads": [json.loads(head) for head in heads]}


def _folded(cells: Sequence[Any]) -> list[Any]:
    """Replace each run of n empty lists in the row by `[-n]`."""
    folded: list[Any] = []
    for empty, run in groupby(cells, key=lambda cell: cell == []):
        group = list(run)
        folded += [[-len(group)]] if empty and len(group) > 1 else group
    return folded


def _same(first: object, second: object) -> bool:
    return type(first) is type(second) and first == second  # True == 1 in Python


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        yield _text(value)
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
