"""Write a round as Parquet files with a data dictionary."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from reporting.dataset.columns import DTYPES
from reporting.dataset.round import Round
from reporting.dataset.tables import (
    ALL_TABLES,
    FOREIGN_TABLE,
    FORMAT,
    Table,
    build_dictionary,
    format_dictionary,
    list_tables,
)
from reporting.report_table import Form
from rules import VERSION

DICTIONARY_FILE = "dictionary.json"
README_FILE = "README.md"
MARKS = {
    **{table.file: "PAR1" for table in ALL_TABLES},
    DICTIONARY_FILE: FORMAT,
    README_FILE: FORMAT,
}
"""What identifies an earlier file that may be overwritten, near its beginning, by the name of the
file."""

_ARROW_TYPES: dict[Form, pa.DataType] = {
    "text": pa.string(),
    "count": pa.int64(),
    "number": pa.float64(),
    "truth": pa.bool_(),
    "date": pa.timestamp("us", tz="UTC"),
}


def write_dataset(round: Round, directory: Path) -> dict[str, int]:
    """Write the tables of a round, dictionary.json and README.md. Equal rounds give equal bytes.

    Earlier files are overwritten. Returns the number of rows of each table. Raises OSError if a
    file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    tables = list_tables(round)
    # No file is seen half written, and a failure leaves earlier files as they are.
    with TemporaryDirectory(prefix=".wattmark-", dir=directory) as scratch:
        unfinished = Path(scratch)
        row_counts = {
            table.name: _write_table(table, _iterate_frames(round, table), unfinished)
            for table in tables
        }
        text = json.dumps(build_dictionary(tables, row_counts), ensure_ascii=False, indent=1)
        (unfinished / DICTIONARY_FILE).write_text(f"{text}\n", encoding="utf-8")
        (unfinished / README_FILE).write_text(_format_readme(tables, row_counts), encoding="utf-8")
        _remove_stale(directory, tables)
        for name in (*(table.file for table in tables), DICTIONARY_FILE, README_FILE):
            (unfinished / name).replace(directory / name)
    return row_counts


def _remove_stale(directory: Path, tables: Sequence[Table]) -> None:
    """Remove the audited rows of an earlier export, if its dictionary has them and `tables` do
    not."""
    dictionary, name = directory / DICTIONARY_FILE, FOREIGN_TABLE.file
    if FOREIGN_TABLE.name in {table.name for table in tables} or not dictionary.is_file():
        return
    if f'"file": "{name}"' in dictionary.read_text("utf-8", errors="replace"):
        (directory / name).unlink(missing_ok=True)


def _iterate_frames(round: Round, table: Table) -> Iterable[pd.DataFrame]:
    """The rows of a table. All samples of a large round do not fit into memory."""
    return round.iterate_samples() if table.name == "samples" else [getattr(round, table.name)]


def _write_table(table: Table, frames: Iterable[pd.DataFrame], directory: Path) -> int:
    """Write the frames of a table, each as a row group. Returns the number of rows."""
    schema = pa.schema(
        [
            pa.field(
                column.key,
                _ARROW_TYPES[column.form],
                metadata={"unit": column.unit, "meaning": column.about},
            )
            for column in table.columns
        ]
    )
    # The metadata for pandas keep the dtypes.
    empty_frame = pd.DataFrame({c.key: pd.Series([], dtype=DTYPES[c.form]) for c in table.columns})
    schema = pa.Table.from_pandas(empty_frame, schema, preserve_index=False).schema
    row_count = 0
    with parquet.ParquetWriter(directory / table.file, schema, compression="zstd") as writer:
        for frame in frames:
            writer.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))
            row_count += len(frame)
    return row_count


def _format_readme(tables: Sequence[Table], row_counts: dict[str, int]) -> str:
    lines = "\n".join(
        f"| `{table.file}` | {row_counts[table.name]} | {table.meaning} |" for table in tables
    )
    return f"""# A round of wattmark

Format {FORMAT}, judged by rule book {VERSION}. The figures of runs are recomputed from their
raw samples. Power is that of the accelerators, not of the nodes, unless a column says so.

| file | rows | content |
|---|---|---|
{lines}
| `{DICTIONARY_FILE}` | | the columns below as JSON |

The column `bundle` (center, system and run) joins the tables. A published figure has no bundle.

A result may be compared with others only if `ranked` is true. Otherwise `doubt`, `implausible` or
`withheld` has the reason. Compare only results of one `standing`, and read their `caution`.

## Columns

{format_dictionary(tables)}"""
