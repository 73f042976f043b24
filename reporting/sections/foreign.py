"""The tables of audited results of other programs: each row with its grade, and the grades by
source. Nothing else on the page shows them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from reporting.foreign.evidence import STANDING, Foreign, ForeignRow
from reporting.quantities import quantity
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import Cells, hide
from reporting.sections.section import Section
from rules.audit.grades import Grade, divide
from rules.audit.stated import compute_deviation, find_power_w, find_rate
from rules.finding import format_count

_MOST_ROWS = 500
"""On the page. The data set has all."""
_MOST_FAILURES = 5
_SHOWN_DIGITS = 12
"""Of a SHA-256."""
_OWN = "this round"

_COLUMNS = (
    Column("name", "result", about="workload, system and boards as the source names them"),
    quantity("standing", about="foreign: results of other programs, compared with nothing"),
    Column("source", "source", about="kind of evidence"),
    quantity("items_per_s", title="throughput", about="stated or recomputed"),
    quantity(
        "joules_per_item",
        interval=False,
        kinds=False,
        about="from samples or counters of the source if it has any, otherwise as stated",
    ),
    Column("unit", "item"),
    quantity("power_w", unit="W", about="mean power of what the next column names"),
    Column("power_of", "power of"),
    Column(
        *("deviation_percent", "stated minus recomputed", "%", "signed"),
        about="share of the recomputed energy",
    ),
    Column("grade", "grade", about="of `bench-check audit`"),
    Column(
        *("findings", "findings"),
        about="by rules of family F; bench-check explain F101 prints the page of one",
    ),
    Column("place", "file", about="file and row"),
    Column(
        *("evidence", "evidence"),
        form="evidence",
        about="SHA-256 of the file and day of retrieval, with a link to the source",
    ),
    *hide(
        Column("sha256", "SHA-256"),
        Column("retrieved", "retrieved"),
        Column("licence", "licence"),
        quantity("url", about="address by source.toml"),
    ),
)

_SOURCE_COLUMNS = (
    Column("source", "source"),
    Column("rows", "rows", form="count"),
    *(Column(grade.value, grade.value, form="count") for grade in Grade),
    Column(
        *("deviation_percent", "median deviation", "%", "number", 3),
        about="of the stated from the recomputed energy, without sign",
    ),
    Column(
        *("share_percent", "joules a stranger can recompute", "% of the rows", "number", 3),
        about="rows whose energy follows from samples or counters, also where the stated one "
        "contradicts it",
    ),
)

_ABOUT = (
    "Results of other programs, read and graded as bench-check audit does. They are compared and "
    "ranked with nothing, also not with each other: windows, scopes and items differ."
)


def build_foreign_tables(
    foreign: Foreign | None, rows: Sequence[ResultRow]
) -> Iterator[ReportTable]:
    """The table of the audited rows, and that of their grades by source with the runs of the round
    among `rows`; none if nothing was audited."""
    if foreign is None:
        return
    shown = foreign.rows[:_MOST_ROWS]
    cells = tuple(map(_make_cells, shown))
    about = " ".join((_ABOUT, *_describe_rest(foreign, len(shown))))
    yield ReportTable("foreign", "Results of other programs, by grade", _COLUMNS, cells, about)
    yield _build_source_table(foreign, rows)


def _describe_rest(foreign: Foreign, shown: int) -> Iterator[str]:
    if left := len(foreign.rows) - shown:
        yield f"The data set has {format_count(left, 'row')} more."
    if failures := foreign.failures:
        listed = "; ".join(failures[:_MOST_FAILURES])
        more = " and others" if len(failures) > _MOST_FAILURES else ""
        yield f"Not read: {listed}{more}."


def _make_cells(item: ForeignRow) -> Cells:
    row, declaration, per_item = item.row, item.declaration, divide(item.row)
    deviation = compute_deviation(row)
    retrieved = declaration.retrieved.isoformat() if declaration.retrieved else None
    hash = f"SHA-256 {item.sha256[:_SHOWN_DIGITS]}" if item.sha256 else None
    found = (f"{f.rule} {f.severity}: {f.found}, expected {f.expected}" for f in item.findings)
    return {
        "name": item.name,
        "standing": STANDING,
        "source": row.source,
        "items_per_s": find_rate(row),
        "joules_per_item": per_item.value if per_item else None,
        "unit": row.unit,
        "power_w": find_power_w(row),
        "power_of": row.scope.value,
        "deviation_percent": None if deviation is None else 100 * deviation,
        "grade": item.grade.value,
        "findings": "; ".join(found) or None,
        "place": item.place,
        "evidence": ", ".join(filter(None, (hash, retrieved))) or declaration.url,
        "sha256": item.sha256,
        "retrieved": retrieved,
        "licence": declaration.licence,
        "url": declaration.url,
    }


def _build_source_table(foreign: Foreign, rows: Iterable[ResultRow]) -> ReportTable:
    by_source: dict[str, list[ForeignRow]] = {}
    for item in foreign.rows:
        by_source.setdefault(item.row.source, []).append(item)
    cells = [_count_grades(source, items) for source, items in by_source.items()]
    # The check recomputes each run that passes from its samples; what failed is not shown.
    runs = sum(row.provenance is not None for row in rows)
    own: Cells = {
        "source": _OWN,
        "rows": runs,
        **dict.fromkeys((grade.value for grade in Grade), 0),
    }
    cells.append(own | {Grade.RECOMPUTED.value: runs, "share_percent": 100.0 if runs else None})
    about = (
        f"“{_OWN}” are the runs of this page: those that passed are recomputed from their samples."
    )
    return ReportTable(
        "foreign-sources",
        "Joules a stranger can recompute, by source",
        _SOURCE_COLUMNS,
        tuple(cells),
        about,
    )


def _count_grades(source: str, items: Sequence[ForeignRow]) -> Cells:
    counts = Counter(item.grade for item in items)
    deviations = [abs(d) for item in items if (d := compute_deviation(item.row)) is not None]
    return {
        "source": source,
        "rows": len(items),
        **{grade.value: counts[grade] for grade in Grade},
        "deviation_percent": 100 * median(deviations) if deviations else None,
        "share_percent": 100 * sum(item.is_recomputable for item in items) / len(items),
    }


SECTION = Section(
    name="foreign",
    other_names=("foreign-sources",),
    place=200,
    build=lambda page: build_foreign_tables(page.foreign, page.named_rows),
    is_across=True,
)
