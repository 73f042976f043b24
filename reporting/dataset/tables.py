"""The tables of a data set and its data dictionary."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reporting.dataset.columns import DTYPES
from reporting.dataset.evidence import EPOCH_COLUMNS, FINDING_COLUMNS, SAMPLE_COLUMNS
from reporting.dataset.foreign import FOREIGN_COLUMNS
from reporting.dataset.results import FIGURE_COLUMNS
from reporting.dataset.runs import RUN_COLUMNS
from reporting.report_table import Column
from rules import VERSION
from rules.bundle_format.records import Json

if TYPE_CHECKING:
    from reporting.dataset.round import Round

FORMAT = "wattmark-dataset/1"
"""The format of dictionary.json."""


@dataclass(frozen=True)
class Table:
    """A table of a data set. Powers are those of accelerators, not of nodes, unless a column says
    so."""

    name: str
    meaning: str
    columns: Sequence[Column[Any]]

    @property
    def file(self) -> str:
        """The name of its Parquet file."""
        return f"{self.name}.parquet"


TABLES = (
    Table(
        "figures",
        "One row per run that passed and per published figure: settings, and figures with their "
        "95 % intervals.",
        FIGURE_COLUMNS,
    ),
    Table(
        "runs",
        "One row per run that passed: settings, system, trust, clocks and power readings.",
        RUN_COLUMNS,
    ),
    Table("epochs", "One row per epoch of each run that passed.", EPOCH_COLUMNS),
    Table(
        "samples",
        "One row per reading of an accelerator in each run that passed, as in the bundle.",
        SAMPLE_COLUMNS,
    ),
    Table(
        "findings",
        "One row per finding of the check on a bundle, also of bundles that failed or were "
        "withdrawn.",
        FINDING_COLUMNS,
    ),
)
FOREIGN_TABLE = Table(
    "foreign",
    "One row per audited result of another program; only with `--audit`.",
    FOREIGN_COLUMNS,
)
ALL_TABLES = (*TABLES, FOREIGN_TABLE)


def list_tables(round: "Round") -> tuple[Table, ...]:
    """The tables, without the optional columns of which the round has no value, and without
    `foreign` if nothing was audited."""
    names = {*round.figures.columns, *round.runs.columns}
    return tuple(
        replace(table, columns=[c for c in table.columns if not c.optional or c.key in names])
        for table in (TABLES if round.foreign.empty else ALL_TABLES)
    )


def build_dictionary(tables: Sequence[Table], row_counts: Mapping[str, int]) -> Json:
    """The data dictionary of a data set as JSON. `row_counts` are those of the tables by name."""
    return {
        "format": FORMAT,
        "rules_version": VERSION,
        "tables": [
            {
                "name": table.name,
                "file": table.file,
                "meaning": table.meaning,
                "rows": row_counts[table.name],
                "columns": [
                    {
                        "column": column.key,
                        "dtype": DTYPES[column.form],
                        "unit": column.unit,
                        "meaning": column.about,
                    }
                    for column in table.columns
                ],
            }
            for table in tables
        ],
    }


def format_dictionary(tables: Sequence[Table] = TABLES) -> str:
    """The data dictionary as Markdown, with a heading of the third level for each table."""
    return "\n".join(line for table in tables for line in _format_table(table))


def _format_table(table: Table) -> Iterator[str]:
    yield from (f"### {table.name}", "", table.meaning, "")
    yield from ("| column | dtype | unit | meaning |", "|---|---|---|---|")
    for column in table.columns:
        yield f"| `{column.key}` | {DTYPES[column.form]} | {column.unit} | {column.about} |"
    yield ""
