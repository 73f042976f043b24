"""Shortens the SVG of the renderer, because a page holds dozens of pictures.

The picture stays the same. Attributes with default values, empty groups and repeats are removed,
and lengths are rounded to a tenth of a pixel. Without this step a page of 300 runs has 3.5 in place
of 2.9 MB.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from xml.etree import ElementTree as Xml

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
"""Default attributes of text; templates/charts.css sets them."""
_UNSEEN = ("class", "role", "pointer-events")
_LENGTHS = ("d", "transform", "x", "y", "x2", "y2", "width", "height", "viewBox")
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_SHIFT = re.compile(r"translate\((-?[\d.]+),(-?[\d.]+)\)")
_POINT = re.compile(r"M[-\d.,]+Z?")
_SHAPE = re.compile(
    r"(?:M[-\d.,]+(?:L[-\d.,]+|A[\d.]+,[\d.]+,0,1,1,[-\d.,]+)*|M[-\d.,]+(?:[hv][-\d.]+)+)Z?"
)
"""The shape of a point: lines and half circles, or horizontal and vertical steps."""
_COMMAND = re.compile(r"([MLAhvZ])([-\d.,]*)")
_PLACE = ("transform", "d", "x2", "y2")
_STEPS = re.compile(r"L(-?[\d.]+),(-?[\d.]+)|([^L]+)")


def svg(drawn: str) -> str:
    """Shorten the picture and return it as an SVG element for an HTML page."""
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


def _to_tenths(match: re.Match[str]) -> str:
    return f"{float(match[0]):.1f}".removesuffix(".0")


def _prune(element: Xml.Element) -> None:
    """Remove what draws nothing, replace groups without attributes by their children, and join
    marks with equal attributes."""
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
    """Whether a path is hidden, is a line with one point, or has no colour of its own or of its
    groups."""
    hidden = path.get("display") == "none" or set(path.attrib) <= {"d", "transform"}
    return hidden or _POINT.fullmatch(path.get("d", "")) is not None


def _look(element: Xml.Element) -> tuple[tuple[str, str], ...]:
    """The attributes that marks must share to be joined; empty for an element that cannot be
    joined."""
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
    """One path that draws the same as the marks."""
    parts = []
    for mark in marks:
        shift = _SHIFT.fullmatch(mark.get("transform", "translate(0,0)"))
        assert shift is not None
        x, y = float(shift[1]), float(shift[2])
        if mark.tag == "line":
            parts.append(f"M{x:g},{y:g}l{mark.get('x2', '0')},{mark.get('y2', '0')}")
        else:
            parts.append("".join(_moved(mark.get("d", ""), x, y)))
    return Xml.Element("path", {"d": "".join(parts), **dict(_look(marks[0]))})


def _moved(shape: str, x: float, y: float) -> Iterator[str]:
    """Move a closed shape from the origin to x, y. Lines and arcs are written relative to the
    position of the pen."""
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
    """Write the horizontal and vertical lines of a path as `H` and `V`."""
    short, at = [], ("", "")
    for x, y, command in _STEPS.findall(path):
        if command:
            short.append(command)
            at = ("", "")  # the position of the pen is unknown
            continue
        short.append(f"H{x}" if y == at[1] else f"V{y}" if x == at[0] else f"L{x},{y}")
        at = (x, y)
    return "".join(short)
