"""How a result looks in every chart: hue by board, shape by setting, fill and line by provenance.

Each look follows from names alone, so a system looks the same in all charts of all reports, on
screens and on paper. docs/reading-a-report.md describes the encoding for readers.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from reporting.report_table import TableRow, Value
from rules.boards import find_board

Provenance = Literal["measured", "published", "simulated"]

BLUE, GREEN, PURPLE, BROWN = "#0072B2", "#00936B", "#B5449B", "#B36B00"
RED, VIOLET, TEAL, OLIVE = "#D1491B", "#7B68D0", "#178A9C", "#7D7F1A"
PALETTE = (BLUE, GREEN, PURPLE, BROWN, RED, VIOLET, TEAL, OLIVE)
"""Hues of medium luminance: each has a contrast of 3:1 or more on the light and on the dark
background of the page and its cards."""

_BOARD_HUES = {
    "H100": BLUE,
    "H200": GREEN,
    "MI300X": PURPLE,
    "A100": BROWN,
    "B200": RED,
    "B300": VIOLET,
    "GH200": TEAL,
    "MI355X": OLIVE,
}
_SETTING_SHAPES = {
    # Papers seldom state the precision of a figure.
    "": "triangle-up",
    "tuned bf16": "circle",
    "baseline tf32": "square",
    "baseline bf16": "diamond",
    "tuned-fp16 fp16": "diamond",
    "fp8": "cross",
    "tuned-tf32 tf32": "triangle-down",
    "s2d bf16": "triangle-right",
    "fp8-kv fp8": "triangle-right",
    "mayr tf32": "triangle-left",
    "mayr bf16": "triangle-left",
    "mayr fp16": "triangle-left",
    # Of studies of models: engine and precision.
    "cudagraph bf16": "circle",
    "cudagraph tf32": "square",
    "cudagraph fp32": "triangle-right",
    "compile bf16": "triangle-down",
    "eager tf32-conv": "square",
    "tensorrt fp16": "diamond",
}
"""By variant and precision. The variants of a workload have different shapes."""
_OTHER_SHAPES = ("triangle-down", "triangle-right", "triangle-left")
DASHES: Mapping[Provenance, tuple[int, ...]] = {
    "measured": (1, 0),
    "published": (5, 3),
    "simulated": (1, 3),
}
FAINT = 0.3
"""Opacity of the fill of published and simulated points. Their outline is opaque."""


@dataclass(frozen=True)
class Look:
    """How the points and the line of a result are drawn."""

    board: str
    setting: str
    """Variant and precision; empty if neither is stated."""
    provenance: Provenance

    @property
    def label(self) -> str:
        """The text of the look in a legend, such as `H200 · tuned bf16`."""
        origin = "" if self.provenance == "measured" else self.provenance
        return " · ".join(part for part in (self.board, self.setting, origin) if part)

    @property
    def colour(self) -> str:
        return _BOARD_HUES.get(self.board) or _choose(self.board, PALETTE)

    @property
    def shape(self) -> str:
        return _SETTING_SHAPES.get(self.setting) or _choose(self.setting, _OTHER_SHAPES)

    @property
    def dash(self) -> tuple[int, ...]:
        return DASHES[self.provenance]


def name_board(reported_name: str) -> str:
    """The name of the board in the rule book, or as it was reported."""
    board = find_board(reported_name)
    return board.id if board else reported_name


def name_family(reported_name: str) -> str:
    """The family of the board, such as `A100` for `A100 PCIe 40GB`. Its boards share a hue."""
    return name_board(reported_name).partition(" ")[0]


def find_look(row: Mapping[str, Value]) -> Look:
    """The look of a row of a table, by its board, variant, precision and provenance."""
    variant, precision = (str(row.get(key) or "") for key in ("variant", "precision"))
    # The variant `fp8` has the name of its precision.
    setting = precision if variant in ("", precision) else f"{variant} {precision}".strip()
    return Look(str(row["model"]), setting, find_provenance(row))


def list_small_hill_rows(rows: Sequence[TableRow]) -> list[TableRow]:
    """The rows that a small hill shows: the measured ones, or the published ones without any."""
    measured = [row for row in rows if row.get("standing") != "published"]
    return measured or list(rows)


def find_provenance(row: Mapping[str, Value]) -> Provenance:
    """Whether the row was measured, published or simulated."""
    standing = "published" if row.get("standing") == "published" else "measured"
    return cast(Provenance, row.get("provenance") or standing)


def _choose(name: str, values: tuple[str, ...]) -> str:
    """A value that depends on the name alone, for names without a value of their own. Two names
    can share one; legend and tooltip then tell them apart."""
    return values[zlib.crc32(name.encode()) % len(values)]
