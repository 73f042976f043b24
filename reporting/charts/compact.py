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
_TEXT_DEFAULTS = {
    "font-family": "system-ui, sans-serif",
    "font-size": "12px",
    "fill": "currentColor",
}
"""Default attributes of text; templates/charts.css sets them."""
_INVISIBLE_ATTRIBUTES = ("class", "role", "pointer-events")
_LENGTHS = ("d", "transform", "x", "y", "x2", "y2", "width", "height", "viewBox")
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_SHIFT = re.compile(r"translate\((-?[\d.]+),(-?[\d.]+)\)")
_POINT = re.compile(r"M[-\d.,]+Z?")
_SHAPE = re.compile(
    r"(?:M[-\d.,]+(?:L[-\d.,]+|A[\d.]+,[\d.]+,0,1,1,[-\d.,]+)*|M[-\d.,]+(?:[hv][-\d.]+)+)Z?"
)
"""The shape of a point: lines and half circles, or horizontal and vertical steps."""
_COMMAND = re.compile(r"([MLAhvZ])([-\d.,]*)")
_POSITION_ATTRIBUTES = ("transform", "d", "x2", "y2")
_STEPS = re.compile(r"L(-?[\d.]+),(-?[\d.]+)|([^L]+)")


def shorten_svg(picture: str) -> str:
    """Shorten the picture and return it as an SVG element for an HTML page."""
    # HTML needs no namespace on an inline SVG, and ElementTree would write a prefix to each tag.
    root = Xml.fromstring(picture.replace(' xmlns="http://www.w3.org/2000/svg"', ""))
    for element in list(root.iter()):
        for name, value in list(element.attrib.items()):
            default_attributes = _DEFAULTS | (_TEXT_DEFAULTS if element.tag == "text" else {})
            # The figure has an alternative text, so its parts need no labels for screen readers.
            if (
                name in _INVISIBLE_ATTRIBUTES
                or name.startswith(("aria-", "{"))
                or default_attributes.get(name) == value
            ):
                del element.attrib[name]
            elif name in _LENGTHS:
                element.set(name, _NUMBER.sub(_to_tenths, value))
        # A long path is the trace of power, made of horizontal and vertical lines.
        if len(element.get("d", "")) > 200:
            element.set("d", _shorten_steps(element.get("d", "")))
    _prune(root)
    return Xml.tostring(root, encoding="unicode")


def _to_tenths(match: re.Match[str]) -> str:
    return f"{float(match[0]):.1f}".removesuffix(".0")


def _prune(element: Xml.Element) -> None:
    """Remove what draws nothing, replace groups without attributes by their children, and join
    marks with equal attributes."""
    visible_children: list[Xml.Element] = []
    for child in element:
        _prune(child)
        # A group without attributes changes nothing.
        if child.tag == "g" and not child.attrib:
            visible_children += child
        elif (child.tag != "g" or len(child)) and not (
            (child.tag == "path" and _draws_nothing(child)) or child.get("opacity") == "0"
        ):
            visible_children.append(child)
    joined_children: list[Xml.Element] = []
    # Only neighbours are joined, because the order of marks decides which one is on top.
    for style_key, run in groupby(visible_children, key=_get_style_key):
        marks = list(run)
        joined_children += [_join(marks)] if style_key and len(marks) > 1 else marks
    element[:] = joined_children


def _draws_nothing(path: Xml.Element) -> bool:
    """Whether a path is hidden, is a line with one point, or has no colour of its own or of its
    groups."""
    is_hidden = path.get("display") == "none" or set(path.attrib) <= {"d", "transform"}
    return is_hidden or _POINT.fullmatch(path.get("d", "")) is not None


def _get_style_key(element: Xml.Element) -> tuple[tuple[str, str], ...]:
    """The attributes that marks must share to be joined; empty for an element that cannot be
    joined."""
    translation = _SHIFT.fullmatch(element.get("transform", "translate(0,0)"))
    if (
        not translation
        or len(element)
        or not (
            element.tag == "line"
            or (element.tag == "path" and _SHAPE.fullmatch(element.get("d", "")))
        )
    ):
        return ()
    return tuple(
        (name, value)
        for name, value in sorted(element.attrib.items())
        if name not in _POSITION_ATTRIBUTES
    )


def _join(marks: list[Xml.Element]) -> Xml.Element:
    """One path that draws the same as the marks."""
    parts = []
    for mark in marks:
        translation = _SHIFT.fullmatch(mark.get("transform", "translate(0,0)"))
        assert translation is not None
        x, y = float(translation[1]), float(translation[2])
        if mark.tag == "line":
            # The renderer writes a line from the origin and moves it by `transform`.
            parts.append(f"M{x:g},{y:g}l{mark.get('x2', '0')},{mark.get('y2', '0')}")
        else:
            parts.append("".join(_move_shape(mark.get("d", ""), x, y)))
    return Xml.Element("path", {"d": "".join(parts), **dict(_get_style_key(marks[0]))})


def _move_shape(shape: str, x: float, y: float) -> Iterator[str]:
    """Move a closed shape from the origin to x, y. Lines and arcs are written relative to the
    position of the pen."""
    pen_x = pen_y = 0.0
    for command, numbers in _COMMAND.findall(shape):
        values = [float(number) for number in numbers.split(",") if number]
        match command:
            case "M":
                yield f"M{values[0] + x:.4g},{values[1] + y:.4g}"
            case "L":
                yield f"l{values[0] - pen_x:.3g},{values[1] - pen_y:.3g}"
            case "A":
                end_point = f"{values[5] - pen_x:.3g},{values[6] - pen_y:.3g}"
                yield f"a{values[0]:g},{values[1]:g},0,1,1,{end_point}"
            case _:
                yield f"{command}{numbers}"
        if command in "MLA":
            pen_x, pen_y = values[-2:]


def _shorten_steps(path: str) -> str:
    """Write the horizontal and vertical lines of a path as `H` and `V`."""
    commands, pen = [], ("", "")
    for x, y, command in _STEPS.findall(path):
        if command:
            commands.append(command)
            pen = ("", "")  # the position of the pen is unknown
            continue
        commands.append(f"H{x}" if y == pen[1] else f"V{y}" if x == pen[0] else f"L{x},{y}")
        pen = (x, y)
    return "".join(commands)
