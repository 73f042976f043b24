"""Findings of tables whose rows already hold the comparison: variants, the naive estimate and
power."""

from collections.abc import Callable, Mapping, Sequence

from reporting.report_table import TableRow, escape_invisible, format_number
from reporting.sentences.words import (
    capitalize,
    count_nouns,
    format_percent,
    format_percent_range,
    format_range,
    format_watts,
    join_words,
)
from rules.metrics.comparison import relative_percent

Finder = Callable[[Sequence[TableRow]], str]
"""Writes the finding from the compared rows of a table; empty if they allow none."""


def _describe_variants(rows: Sequence[TableRow]) -> str:
    """How much faster the variants are than their baseline."""
    verdicts = [str(row.get("rate_told")) for row in rows if row.get("rate_told") is not None]
    if not verdicts:
        return ""
    changes = [
        change
        for row in rows
        if row.get("rate_told") == "higher"
        and (change := _get_number(row, "rate_percent")) is not None
    ]
    if not changes:
        return (
            "No variant has more throughput than its baseline"
            if "lower" in verdicts
            else "Variants and baseline cannot be told apart in throughput"
        )
    if len(rows) == 1:
        variant = escape_invisible(str(rows[0].get("variant") or "other"))
        return (
            f"The {variant} variant has {format_percent(changes[0])} more throughput than the "
            "baseline"
        )
    verb = "has" if len(changes) == 1 else "have"
    return (
        f"{len(changes)} of {count_nouns(len(rows), 'variant')} {verb} "
        f"{format_percent_range(changes)} more throughput than the baseline"
    )


def _describe_factors(rows: Sequence[TableRow]) -> str:
    """The range of measured energy over the naive estimate."""
    factors = _list_numbers(rows, "over_naive")
    if not factors:
        return ""
    least, greatest = (f"{value:.1f}" for value in (min(factors), max(factors)))
    multiple = least if least == greatest else f"{least} to {greatest}"
    return f"Measured energy per item is {multiple} times the naive estimate"


def _describe_peak_shares(rows: Sequence[TableRow]) -> str:
    """The range of the share of the dense peak."""
    shares = _list_numbers(rows, "mfu_percent")
    return f"Runs reach {format_percent_range(shares)} of the dense peak" if shares else ""


def _describe_repeats(rows: Sequence[TableRow]) -> str:
    """How far repeats are from the mean of their setting."""
    repeats = [row for row in rows if (_get_number(row, "runs") or 0) > 1]
    distances = [abs(percent) for percent in _list_numbers(repeats, "off_mean_percent")]
    if not distances:
        return ""
    return (
        f"Repeats differ by up to {format_percent(max(distances))} from the mean energy of their "
        "setting"
    )


def _describe_power(rows: Sequence[TableRow]) -> str:
    """The range of median power under each cap."""
    powers_w: dict[float, list[float]] = {}
    for row in rows:
        cap_w, median_w = _get_number(row, "cap_w"), _get_number(row, "median_w")
        if cap_w is not None and median_w is not None:
            powers_w.setdefault(cap_w, []).append(median_w)
    parts = [
        f"{format_range(medians_w, 'W')} under a cap of {format_watts(cap_w)}"
        for cap_w, medians_w in sorted(powers_w.items())
    ]
    # A longer list is no title.
    return capitalize(f"median power is {', '.join(parts)}") if 0 < len(parts) <= 2 else ""


def _describe_node_powers(rows: Sequence[TableRow]) -> str:
    """The highest power of whole nodes as a share of their rated power."""
    rated_rows = [row for row in rows if _get_number(row, "max_percent") is not None]
    if not rated_rows:
        return ""
    shares = format_percent_range(_list_numbers(rated_rows, "max_percent"))
    is_published = all(row["standing"] == "published" for row in rated_rows)
    names = join_words(list(dict.fromkeys(str(row["what"]) for row in rated_rows)))
    finding = f"nodes with {names} draw at most {shares} of their rated power"
    return f"Published {finding}" if is_published else capitalize(finding)


def _describe_batches(rows: Sequence[TableRow]) -> str:
    """The batch size of least energy in a published series, against that of most energy. The table
    has no intervals of the energy of nodes, so there is no finding from measured rows."""
    series = {(row.get("line"), row.get("work"), row.get("items")) for row in rows}
    if len(series) != 1 or any(row["standing"] != "published" for row in rows):
        return ""
    energies_kwh = {
        batch: kwh
        for row in rows
        if (batch := _get_number(row, "batch")) and (kwh := _get_number(row, "node_kwh"))
    }
    if len(energies_kwh) < 2:
        return ""
    best, worst = (choose(energies_kwh, key=energies_kwh.__getitem__) for choose in (min, max))
    percent = relative_percent(energies_kwh[best], energies_kwh[worst])
    batches = [format_number(batch, 1) for batch in (best, worst)]
    return (
        f"Published: batch size {batches[0]} needs {format_percent(percent)} less energy than "
        f"batch size {batches[1]}"
    )


def _list_numbers(rows: Sequence[TableRow], key: str) -> list[float]:
    return [value for row in rows if (value := _get_number(row, key)) is not None]


def _get_number(row: TableRow, key: str) -> float | None:
    value = row.get(key)
    return float(value) if isinstance(value, int | float) else None


FINDINGS: Mapping[tuple[str, str], Finder] = {
    ("tuned", "pairs"): _describe_variants,
    ("factors", "peak"): _describe_peak_shares,
    ("factors", "marks"): _describe_factors,
    ("epochs", "repeats"): _describe_repeats,
    ("power", "spread"): _describe_power,
}
"""By the kind of a table and the end of a chart's id. From measured rows."""

FINDINGS_WITH_PUBLISHED: Mapping[str, Finder] = {
    "nodes": _describe_node_powers,
    "work": _describe_batches,
}
"""By the kind of a table. From the shown rows of a chart, published ones too."""
