"""Makes the renderer's output short: a page holds dozens of pictures, and most of their bytes say
nothing.

Nothing drawn changes: defaults, empty groups and repeats go, lengths are given to a tenth of a
pixel, and a value that several specs share is kept once.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any
from xml.etree import ElementTree as Xml

from rules.bundle_format.records import Json

_DEFAULTS = {
    "opacity": "1",
    "fill-opacity": "1",
    "stroke-opacity": "1",
    "stroke-width": "1",
    "stroke-miterlimit": "10",
    "stroke-dasharray": "1,0",
    "font-weight": "normal",
    "text-anchor": "start",
    "x2": "0",
    "y2": "0",
    "version": "1.1",
    "transform": "translate(0,0)",
}
_TEXT = {"font-family": "system-ui, sans-serif", "font-size": "12px", "fill": "currentColor"}
"""What text is that says nothing else; templates/charts.css has it."""
_UNSEEN = ("class", "role", "pointer-events")
_LENGTHS = ("d", "transform", "x", "y", "x2", "y2", "width", "height", "viewBox")
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_SHIFT = re.compile(r"translate\((-?[\d.]+),(-?[\d.]+)\)")
_POINT = re.compile(r"M[-\d.,]+Z?")
_SHAPE = re.compile(
    r"(?:M[-\d.,]+(?:L[-\d.,]+|A[\d.]+,[\d.]+,0,1,1,[-\d.,]+)*|M[-\d.,]+(?:[hv][-\d.]+)+)Z?"
)
"""A shape of points: of lines and of half circles, or of steps."""
_COMMAND = re.compile(r"([MLAhvZ])([-\d.,]*)")
_PLACE = ("transform", "d", "x2", "y2")
_STEPS = re.compile(r"L(-?[\d.]+),(-?[\d.]+)|([^L]+)")
_NONE = object()
_HEAD = ("columns", "keys")
_CELL_FROM = 7
"""Letters beyond which a repeated cell is kept once."""
_SHARED_FROM = 40
"""Letters of JSON from which on a repeated value is kept once."""


def svg(drawn: str) -> str:
    """The picture as a short element for an HTML page."""
    root = Xml.fromstring(drawn.replace(' xmlns="http://www.w3.org/2000/svg"', ""))
    for element in list(root.iter()):
        for name, value in list(element.attrib.items()):
            unsaid = _DEFAULTS | (_TEXT if element.tag == "text" else {})
            if name in _UNSEEN or name.startswith(("aria-", "{")) or unsaid.get(name) == value:
                del element.attrib[name]
            elif name in _LENGTHS:
                element.set(name, _NUMBER.sub(_to_tenths, value))
        if len(element.get("d", "")) > 200:
            element.set("d", _steps(element.get("d", "")))
    _prune(root)
    return Xml.tostring(root, encoding="unicode")


def _to_tenths(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".removesuffix(".0")


def _prune(element: Xml.Element) -> None:
    """Take out what draws nothing, put children of bare groups in the place of the group, and join
    marks of one look."""
    kept: list[Xml.Element] = []
    for child in element:
        _prune(child)
        if child.tag == "g" and not child.attrib:
            kept += child
        elif (child.tag != "g" or len(child)) and not (
            child.tag == "path" and _draws_nothing(child)
        ):
            kept.append(child)
    joined: list[Xml.Element] = []
    for look, run in groupby(kept, key=_look):
        marks = list(run)
        joined += [_join(marks)] if look and len(marks) > 1 else marks
    element[:] = joined


def _draws_nothing(path: Xml.Element) -> bool:
    """Whether a path is hidden, is a line of one point, or has no colour of its own where groups
    have none either."""
    hidden = path.get("display") == "none" or set(path.attrib) <= {"d", "transform"}
    return hidden or _POINT.fullmatch(path.get("d", "")) is not None


def _look(element: Xml.Element) -> tuple[tuple[str, str], ...]:
    """What marks that may be joined have in common; empty for what is no such mark."""
    shifted = _SHIFT.fullmatch(element.get("transform", "translate(0,0)"))
    if (
        not shifted
        or len(element)
        or not (
            element.tag == "line"
            or (element.tag == "path" and _SHAPE.fullmatch(element.get("d", "")))
        )
    ):
        return ()
    return tuple(
        (name, value) for name, value in sorted(element.attrib.items()) if name not in _PLACE
    )


def _join(marks: list[Xml.Element]) -> Xml.Element:
    """One path that draws what the marks draw."""
    parts = []
    for mark in marks:
        found = _SHIFT.fullmatch(mark.get("transform", "translate(0,0)"))
        assert found is not None
        x, y = float(found[1]), float(found[2])
        if mark.tag == "line":
            parts.append(f"M{x:g},{y:g}l{mark.get('x2', '0')},{mark.get('y2', '0')}")
        else:
            parts.append("".join(_moved(mark.get("d", ""), x, y)))
    return Xml.Element("path", {"d": "".join(parts), **dict(_look(marks[0]))})


def _moved(shape: str, x: float, y: float) -> Iterator[str]:
    """A closed shape around the origin, around x, y: lengths of lines and arcs are written from
    where the pen is."""
    at_x = at_y = 0.0
    for command, numbers in _COMMAND.findall(shape):
        values = [float(number) for number in numbers.split(",") if number]
        match command:
            case "M":
                yield f"M{values[0] + x:.4g},{values[1] + y:.4g}"
            case "L":
                yield f"l{values[0] - at_x:.3g},{values[1] - at_y:.3g}"
            case "A":
                to = f"{values[5] - at_x:.3g},{values[6] - at_y:.3g}"
                yield f"a{values[0]:g},{values[1]:g},0,1,1,{to}"
            case _:
                yield f"{command}{numbers}"
        if command in "MLA":
            at_x, at_y = values[-2:]


def _steps(path: str) -> str:
    """A path of many lines with those along an axis written as such."""
    short, at = [], ("", "")
    for x, y, other in _STEPS.findall(path):
        if other:
            short.append(other)
            at = ("", "")  # the pen may be anywhere
            continue
        short.append(f"H{x}" if y == at[1] else f"V{y}" if x == at[0] else f"L{x},{y}")
        at = (x, y)
    return "".join(short)


def pack(specs: Mapping[str, Json]) -> Json:
    """The specs with every longer value that occurs twice kept once: `{"$": n}` stands for
    `shared[n]`, which may hold others."""
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


def intern(records: Sequence[Json]) -> Json:
    """Records of tables with every longer value that several cells hold kept once: the cell `[n]`
    stands for `shared[n]`, and the cell `[]` for what stands above it; `[-n]` stands for n of
    these. Tables with the same head share it, at `head` in `heads`."""
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

    def rows(of: Sequence[Sequence[Any]]) -> list[list[Any]]:
        return [
            cells(row, of[place - 1] if place else [_NONE] * len(row))
            for place, row in enumerate(of)
        ]

    heads: dict[str, int] = {}
    tables = []
    for record in records:
        own = {key: value for key, value in record.items() if key not in _HEAD}
        head = heads.setdefault(json.dumps({key: record[key] for key in _HEAD}), len(heads))
        tables.append({**own, "head": head, "rows": rows(record["rows"])})
    return {"tables": tables, "shared": shared, "heads": [json.loads(head) for head in heads]}


def _folded(cells: Sequence[Any]) -> list[Any]:
    """The cells with each run of empty lists as one list of its length below zero."""
    folded: list[Any] = []
    for empty, run in groupby(cells, key=lambda cell: cell == []):
        these = list(run)
        folded += [[-len(these)]] if empty and len(these) > 1 else these
    return folded


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other  # True is no 1


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        yield _text(value)
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
