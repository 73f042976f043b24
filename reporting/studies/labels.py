"""Names of setups and classes, and their marks in the plots."""

from collections.abc import Sequence

from rules.boards import find_board
from rules.studies.models import UNKNOWN_CLASS
from rules.studies.results import Setup

CLASS_NAMES = {
    "cnn": "CNN",
    "transformer": "transformer",
    "hybrid": "hybrid",
    "mlp": "MLP",
    UNKNOWN_CLASS: "unknown",
}
_SHAPES = ("circle", "square", "diamond", "cross")
_PUBLISHED_SHAPES = ("triangle-left", "triangle-up", "triangle-down", "triangle-right")


def label_setup(setup: Setup) -> str:
    """Such as `H200 · 700 W · cudagraph · bf16 · h200x2`."""
    source = setup.system or setup.source
    parts = (name_board(setup), _format_cap(setup), setup.engine, setup.precision, source)
    suffix = "" if setup.provenance == "measured" else f" ({setup.provenance})"
    return " · ".join(filter(None, parts)) + suffix


def _format_cap(setup: Setup) -> str | None:
    return None if setup.cap_w is None else f"{setup.cap_w:g} W"


def name_board(setup: Setup) -> str:
    """The name of the board in the rule book, or as it was reported."""
    board = find_board(setup.board)
    return board.id if board else setup.board


def identify_setup(setup: Setup) -> str:
    """An id for addresses, which does not depend on the other setups of a page."""
    parts = (setup.source, name_board(setup), _format_cap(setup), setup.engine, setup.precision)
    return "-".join(filter(None, parts)).replace(" ", "-")


def choose_shapes(setups: Sequence[Setup]) -> list[str]:
    """The shape of the points of each setup: triangles for published setups, other shapes for the
    rest. Vega and `templates/study/plot.js` know these shapes."""
    counts = {True: 0, False: 0}
    shapes = []
    for setup in setups:
        is_published = setup.provenance == "published"
        choices = _PUBLISHED_SHAPES if is_published else _SHAPES
        shapes.append(choices[counts[is_published] % len(choices)])
        counts[is_published] += 1
    return shapes
