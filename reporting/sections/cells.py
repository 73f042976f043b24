"""Columns and cells that several sections of the page share."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from checker.verdict import TrustLevel
from reporting.quantities import SETTING_KEYS, quantities, quantity, read_cells
from reporting.report_table import NO_BREAK, Column, Value, escape_invisible
from reporting.results_model import (
    Figure,
    ResultRow,
    format_accelerator_count,
    list_stated_settings,
)
from rules.finding import Finding, Severity
from rules.metrics.figures import Estimate
from rules.workloads import workloads

BundleLink = Callable[[Path], str]
"""The address of a bundle relative to the page."""


Cells = dict[str, Value]


IN_CHART = "in_chart"
"""The hidden column of a table whose chart does not draw all of its rows."""


COMPARED_STANDINGS = ("closed", "open", "published")
"""The standings with winners of their own: open runs depart from the rules of closed ones, and the
energy of published figures is assumed. Control and demo runs are compared with nothing."""


def hide(*columns: Column) -> tuple[Column, ...]:
    return tuple(replace(column, hidden=True) for column in columns)


FACET_COLUMNS = hide(
    *quantities("standing", "model", "precision", "variant", "provenance", "cap_w"),
    quantity("count", title="number of accelerators"),
    *quantities("batch", *SETTING_KEYS, "scope", "status"),
)
"""What the control bar of the page filters rows by."""


MARK_COLUMNS = (
    quantity("standing"),
    Column(
        "evidence",
        "evidence",
        form="evidence",
        about="the bundle, its signer and its findings, or the table of the paper",
    ),
    *hide(*quantities("doubt", "implausible", "withheld", "caution")),
    Column("bundle", "bundle", hidden=True, about="path of the bundle, relative to the page"),
    *hide(*quantities("url", "line")),
)
"""Provenance and marks of a row, in every table of single results."""


def add_facet_columns(*columns: Column) -> tuple[Column, ...]:
    """The columns, and after them those of `FACET_COLUMNS` with other keys."""
    keys = {column.key for column in columns}
    return (*columns, *(column for column in FACET_COLUMNS if column.key not in keys))


def add_mark_columns(*columns: Column) -> tuple[Column, ...]:
    """The columns, and after them those of `MARK_COLUMNS` and `FACET_COLUMNS` with other keys."""
    keys = {column.key for column in columns}
    marks = (column for column in MARK_COLUMNS if column.key not in keys)
    return add_facet_columns(*columns, *marks)


def make_mark_cells(row: ResultRow, link: BundleLink) -> Cells:
    """The cells of `MARK_COLUMNS` and `FACET_COLUMNS`."""
    provenance = row.provenance
    return {
        **read_cells(FACET_COLUMNS, row),
        **read_cells(MARK_COLUMNS, row),
        "evidence": row.table
        if provenance is None
        else describe_evidence(provenance.signer, provenance.trust_level, provenance.findings),
        "bundle": None if provenance is None else link(provenance.run.path),
    }


def make_facet_cells(row: ResultRow) -> Cells:
    """The cells of `FACET_COLUMNS`."""
    return read_cells(FACET_COLUMNS, row)


def describe_evidence(
    signer: str | None, trust_level: TrustLevel, findings: Sequence[Finding]
) -> str:
    """Who signed a bundle that is shown, and what the check found. Only a local report shows
    bundles without a signer."""
    # `html.tables` splits this text at `; `.
    signed = f"signed by {signer}" if signer else trust_level
    return f"{signed}; {count_findings(findings)}"


def distinguish_names(names: Sequence[str], rows: Sequence[ResultRow]) -> list[str]:
    """Unique names of lines or settings, given a row of each: with batch size or load, then with
    the options of the run, the age of its recipe, and then a number from the second on, only if
    needed."""
    # The number comes last, because it does not tell the reader why there are two.
    for describe in (_describe_load, _describe_options, _describe_age):
        uses = Counter(names)
        names = [
            f"{name} · {detail}" if uses[name] > 1 and (detail := describe(row)) else name
            for name, row in zip(names, rows, strict=True)
        ]
    counts: Counter[str] = Counter()
    unique_names = []
    for name in names:
        counts[name] += 1
        unique_names.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return unique_names


def _describe_load(row: ResultRow) -> str:
    if not row.batch_size:
        return ""
    is_served = row.provenance is not None and row.provenance.run.requests is not None
    return f"{row.batch_size} in flight" if is_served else f"batch {row.batch_size}"


def _describe_options(row: ResultRow) -> str:
    options = row.provenance.run.declaration.settings.options if row.provenance else None
    return ", ".join(f"{name} {value}" for name, value in sorted((options or {}).items()))


def name_setting(row: ResultRow) -> str:
    """Accelerators, variant and precision: `NVIDIA H200, tuned bf16`. Of a published figure, the
    accelerator and the authors."""
    board = f"{row.accelerator}{format_accelerator_count(row)}"
    if row.provenance is None:
        return escape_invisible(f"{board} ({row.system})")
    precision = "" if row.precision == row.variant else f" {row.precision}"
    return escape_invisible(f"{board}, {row.variant}{precision}{_describe_settings(row)}")


def _describe_age(row: ResultRow) -> str:
    return "older recipe" if row.provenance and row.provenance.newer else ""


def name_variant(row: ResultRow) -> str:
    """The variant of a run with a few words on it: `fp8-kv (FP8 weights and cache)`."""
    workload = workloads().get(row.workload)
    words = workload.variants_in_words.get(row.variant or "") if workload else None
    name = f"{row.variant}{_describe_settings(row)}"
    return f"{name} ({words})" if words else name


def _describe_settings(row: ResultRow) -> str:
    return "".join(f" at {value}{NO_BREAK}{unit}" for value, unit in list_stated_settings(row))


def name_load(row: ResultRow) -> str:
    """`batch size 256`; of a server, `256 requests in flight`."""
    if row.batch_size is None:
        return "batch size not stated"
    if workloads()[row.workload].mode == "inference":
        return f"{row.batch_size} requests in flight"
    return f"batch size {row.batch_size}"


def find_boards(rows: Iterable[ResultRow]) -> frozenset[str]:
    """The boards of several runs, as in `list_boards`."""
    return frozenset(board for row in rows for board in list_boards(row).split())


def list_boards(row: ResultRow) -> str:
    """The boards of a run; empty if they are not known."""
    return (
        # The end of a UUID tells boards apart and is short enough for a hidden column of every row.
        " ".join(sorted(board.uuid[-12:] for board in row.provenance.run.accelerators))
        if row.provenance
        else ""
    )


def make_figure_cells(key: str, figure: Figure | None) -> Cells:
    """The cells of a column with interval and kind."""
    kind = {} if figure is None else {f"{key}_kind": figure.kind}
    return make_estimate_cells(key, figure) | kind


def make_estimate_cells(key: str, estimate: Estimate | Figure | None) -> Cells:
    """The cells of a column with an interval."""
    if estimate is None:
        return {key: None}
    value = estimate.value if isinstance(estimate, Figure) else estimate.mean
    low, high = estimate.ci95 or (None, None)
    return {key: value, f"{key}_low": low, f"{key}_high": high, f"{key}_n": estimate.n}


def make_figure_columns(item: str) -> tuple[Column, Column, Column]:
    """The columns of throughput per accelerator, energy per item and efficiency."""
    about = "interval of 95 %: what another run on another board of this kind gives"
    return (
        quantity("items_per_s_per_accelerator", unit=f"{item}s/s per accelerator", about=about),
        quantity("joules_per_item", unit=f"J/{item}", about=about),
        quantity("items_per_joule", unit=f"{item}s/J", about=about),
    )


def pluralize(count: int, noun: str) -> str:
    """`1 warning`, `2 warnings`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def count_findings(findings: Sequence[Finding]) -> str:
    """The number of findings of each severity with their rules, such as `2 warnings (C102,
    M203)`."""
    parts = []
    # From the most severe to the least.
    for severity in Severity:
        rule_ids = [f.rule for f in findings if f.severity == severity]
        if rule_ids:
            names = ", ".join(sorted(set(rule_ids)))
            parts.append(f"{pluralize(len(rule_ids), severity.value)} ({names})")
    return ", ".join(parts) or "no findings"
