"""The columns of a data set as data frames. Parquet schema and data dictionary follow from the same
columns."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from reporting.quantities import read_cells
from reporting.report_table import Column, Form, Record, escape_invisible

DTYPES: dict[Form, str] = {
    "text": "string",
    "count": "Int64",
    "number": "float64",
    "truth": "boolean",
    "date": "datetime64[us, UTC]",
}
"""The pandas dtype of each form. A value that is not known is NaN in numbers, otherwise NA or
NaT."""


def build_frame(columns: Sequence[Column[Record]], records: Sequence[Record]) -> pd.DataFrame:
    """The frame with a row for each record. Characters in texts that are invisible are escaped, as
    in the report: names come from strangers."""
    frame = {}
    for column in columns:
        values: Any = [read_cells([column], record)[column.key] for record in records]
        if column.optional and all(value is None for value in values):
            continue
        if column.form == "text":
            values = [None if value is None else escape_invisible(value) for value in values]
        elif column.form == "date":
            # A stated time may not exist.
            values = pd.to_datetime(values, utc=True, errors="coerce", format="ISO8601")
        frame[column.key] = pd.Series(values, dtype=DTYPES[column.form])
    return pd.DataFrame(frame)


def split_intervals(*columns: Column[Record]) -> tuple[Column[Record], ...]:
    """The columns, with those of the ends of each 95 % interval, its n and the kind of the value
    after that of the value."""
    return tuple(_select_key(column, key) for column in columns for key in column.keys)


def _select_key(column: Column[Record], key: str) -> Column[Record]:
    name, form, unit = column.key, column.form, column.unit
    descriptions: dict[str, tuple[Form, str, str]] = {
        name: (form, unit, column.about),
        f"{name}_low": (form, unit, f"lower end of the 95 % interval of `{name}`, within the run"),
        f"{name}_high": (form, unit, f"upper end of the 95 % interval of `{name}`, within the run"),
        f"{name}_n": ("count", "", f"number of scored epochs that `{name}` comes from"),
        f"{name}_kind": (
            "text",
            "",
            f"origin of `{name}`: measured, printed, assumed (power = cap) or bound (at least)",
        ),
    }
    form, unit, about = descriptions[key]
    return Column(
        key,
        "",
        unit,
        form,
        about=about,
        optional=column.optional,
        read=lambda r: read_cells([column], r).get(key),
    )
