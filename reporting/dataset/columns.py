"""A column of a data set: its name, type, unit and meaning, and how its values are read. Data
frames, Parquet schema and data dictionary all follow from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import pandas as pd

from reporting.report_table import escape_invisible
from reporting.results_model import Figure

Type = Literal["text", "integer", "number", "truth", "time"]
DTYPES: dict[Type, str] = {
    "text": "string",
    "integer": "Int64",
    "number": "float64",
    "truth": "boolean",
    "time": "datetime64[us, UTC]",
}
"""The pandas dtype of each type. A value that is not known is NaN in numbers, otherwise NA or
NaT."""

Record = TypeVar("Record")


@dataclass(frozen=True)
class Column(Generic[Record]):
    """A column. `meaning` is a phrase for the data dictionary."""

    name: str
    type: Type
    unit: str
    """Empty for a column without a unit."""
    meaning: str
    read: Callable[[Record], Any]
    """The value of a record, None if it is not known. Columns of samples read the values of all
    samples of a bundle at once, or one value for all."""
    is_optional: bool = False
    """Whether a frame without any value leaves the column out."""

    @property
    def dtype(self) -> str:
        """The pandas dtype."""
        return DTYPES[self.type]


def build_frame(columns: Sequence[Column[Record]], records: Sequence[Record]) -> pd.DataFrame:
    """The frame with a row for each record. Characters in texts that are invisible are escaped, as
    in the report: names come from strangers."""
    frame = {}
    for column in columns:
        values: Any = [column.read(record) for record in records]
        if column.is_optional and all(value is None for value in values):
            continue
        if column.type == "text":
            values = [None if value is None else escape_invisible(value) for value in values]
        elif column.type == "time":
            # A stated time may not exist.
            values = pd.to_datetime(values, utc=True, errors="coerce", format="ISO8601")
        frame[column.name] = pd.Series(values, dtype=column.dtype)
    return pd.DataFrame(frame)


def make_figure_columns(
    name: str, unit: str, meaning: str, read: Callable[[Record], Figure | None]
) -> tuple[Column[Record], ...]:
    """The columns of a figure: its value, the ends of its 95 % interval, n and its kind."""

    def read_end(record: Record, place: int) -> float | None:
        figure = read(record)
        return figure.ci95[place] if figure and figure.ci95 else None

    return (
        Column(name, "number", unit, meaning, lambda r: (f := read(r)) and f.value),
        Column(
            f"{name}_low",
            "number",
            unit,
            f"lower end of the 95 % interval of `{name}`, within the run",
            lambda r: read_end(r, 0),
        ),
        Column(
            f"{name}_high",
            "number",
            unit,
            f"upper end of the 95 % interval of `{name}`, within the run",
            lambda r: read_end(r, 1),
        ),
        Column(
            f"{name}_n",
            "integer",
            "",
            f"number of scored epochs that `{name}` comes from",
            lambda r: (f := read(r)) and f.n,
        ),
        Column(
            f"{name}_kind",
            "text",
            "",
            f"origin of `{name}`: measured, printed, assumed (power = cap) or bound (at least)",
            lambda r: (f := read(r)) and f.kind,
        ),
    )
