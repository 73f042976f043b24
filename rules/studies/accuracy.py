"""Published accuracies of image models: the shipped table, or a file of the same form.

The table comes from timm, and `scripts/accuracy_table.py` makes it. These accuracies are published
ones. wattmark measures no accuracy.
"""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from math import isfinite
from pathlib import Path

from rules.bundle_format.files import shorten

IMAGE_SETS = (
    "imagenet",
    "imagenet-real",
    "imagenetv2-matched-frequency",
    "sketch",
    "imagenet-a",
    "imagenet-a-clean",
    "imagenet-r",
    "imagenet-r-clean",
)
"""The image sets with a published top-1 accuracy, by their names in timm."""
COLUMNS = ("model", "size", *IMAGE_SETS, "params_m", "gmacs", "macts")
"""`model` is `architecture.tag`. `params_m`, `gmacs` and `macts` are parameters, multiply-adds and
activations in millions, 10⁹ and millions."""
TABLE_FILE = "timm-accuracy.csv"
HEADER_FILE = "timm-accuracy.json"


class AccuracyTableError(Exception):
    """A table of accuracies cannot be read. The message names the file, the line and the fault."""


@dataclass(frozen=True)
class ModelAccuracy:
    """The published accuracies of a model at an input size."""

    architecture: str
    tag: str
    """Name of the weights."""
    size: int
    """Side of the square input, in pixels."""
    accuracy_pct: Mapping[str, float]
    """Top-1 accuracy by image set. A set without a published value is absent."""
    params: float
    flops: float
    """Per image. A multiply-add counts as two."""
    activations: float
    """Elements in the outputs of convolutions and matrix products, per image."""


@dataclass(frozen=True)
class AccuracyTable:
    """The published accuracies of many models."""

    sha256: str
    """Of the bytes of its file."""
    models: tuple[ModelAccuracy, ...]

    @cached_property
    def by_input(self) -> Mapping[tuple[str, int], tuple[ModelAccuracy, ...]]:
        """The models of each architecture and size, in order of accuracy on ImageNet, best
        first."""
        groups = defaultdict(list)
        for model in self.models:
            groups[model.architecture, model.size].append(model)
        return {
            key: tuple(sorted(models, key=lambda model: -model.accuracy_pct["imagenet"]))
            for key, models in groups.items()
        }

    def find(self, architecture: str, size: int, tag: str | None = None) -> ModelAccuracy | None:
        """The model with the weights `tag`, or with the best weights on ImageNet; None if the table
        does not have it."""
        models = self.by_input.get((architecture, size), ())
        return next((model for model in models if tag in (None, model.tag)), None)


@cache
def read_shipped_table() -> AccuracyTable:
    """The table that comes with wattmark. Raises AccuracyTableError if it was altered."""
    data = files("rules.studies").joinpath("data")
    table = _parse(TABLE_FILE, data.joinpath(TABLE_FILE).read_bytes())
    pinned = json.loads(data.joinpath(HEADER_FILE).read_text())["sha256"]
    if table.sha256 != pinned:
        raise AccuracyTableError(
            f"{TABLE_FILE}: SHA-256 {table.sha256}, expected {pinned} of {HEADER_FILE}; the "
            "installation was altered, so install wattmark again"
        )
    return table


def read_accuracy_table(path: Path) -> AccuracyTable:
    """Read a table of the form of the shipped one. Raises AccuracyTableError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise AccuracyTableError(f"{path}: {error.strerror}; name a CSV file") from None
    return _parse(str(path), content)


def _parse(name: str, content: bytes) -> AccuracyTable:
    """Raises AccuracyTableError."""
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError as error:
        raise AccuracyTableError(
            f"{name}: byte {error.start} is not UTF-8; save the table as plain CSV in UTF-8"
        ) from None
    rows = csv.reader(lines)
    if (header := tuple(next(rows, ()))) != COLUMNS:
        raise AccuracyTableError(
            f"{name}: line 1 is {shorten(','.join(header))}; expected {','.join(COLUMNS)}"
        )
    models: dict[tuple[str, str, int], ModelAccuracy] = {}
    try:
        for cells in filter(None, rows):
            model = _parse_row(cells)
            key = (model.architecture, model.tag, model.size)
            if key in models:
                raise ValueError(f"{cells[0]} at size {model.size} a second time; remove one row")
            models[key] = model
    except (csv.Error, ValueError) as error:
        raise AccuracyTableError(f"{name}: line {rows.line_num}: {error}") from None
    if not models:
        raise AccuracyTableError(f"{name}: no rows; expected one row for each model and size")
    return AccuracyTable(sha256(content).hexdigest(), tuple(models.values()))


def _parse_row(cells: list[str]) -> ModelAccuracy:
    """Raises ValueError, whose message says what the row has and what it needs."""
    if len(cells) != len(COLUMNS):
        raise ValueError(f"{len(cells)} cells; expected {len(COLUMNS)}")
    row = dict(zip(COLUMNS, cells, strict=True))
    architecture, _, tag = row["model"].partition(".")
    if not architecture:
        raise ValueError(f"model is {shorten(row['model'])}; expected ARCHITECTURE.TAG")
    if not re.fullmatch("[1-9][0-9]{0,4}", row["size"]):
        raise ValueError(f"size is {shorten(row['size'])}; expected a number of pixels")
    if not row["imagenet"]:
        raise ValueError("imagenet is empty; expected the top-1 accuracy in percent")
    accuracy_pct = {name: _parse_number(name, row[name], 100) for name in IMAGE_SETS if row[name]}
    params_m, gmacs, macts = (
        _parse_number(name, row[name], 1e9) for name in ("params_m", "gmacs", "macts")
    )
    # The products have no more digits than the cells.
    sizes = (round(value, 3) for value in (params_m * 1e6, gmacs * 2e9, macts * 1e6))
    return ModelAccuracy(architecture, tag, int(row["size"]), accuracy_pct, *sizes)


def _parse_number(column: str, cell: str, largest: float) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = -1
    if not (isfinite(value) and 0 <= value <= largest):
        raise ValueError(f"{column} is {shorten(cell)}; expected a number from 0 to {largest:g}")
    return value
