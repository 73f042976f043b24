"""The columns of `epochs` and `samples`, which are read from the bundles again, and those of
`findings`."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from reporting.dataset.columns import DTYPES
from reporting.dataset.results import MARK_COLUMNS, read_bundle_name
from reporting.quantities import quantity, read_cells
from reporting.report_table import Column, Form, escape_invisible
from reporting.results_model import ResultRow
from reporting.traces import SCORED
from rules.bundle import Bundle
from rules.bundle_format.records import NO_STAMP, REQUIRED_COLUMNS, STAMP_COLUMNS, TEXT_COLUMNS
from rules.bundle_format.table import Ints
from rules.finding import Finding
from rules.metrics.figures import EpochFigures


@dataclass(frozen=True)
class EpochRecord:
    """An epoch of a run."""

    row: ResultRow
    epoch: EpochFigures


def _mark_epoch(column: Column) -> Column[EpochRecord]:
    """The column of a result for each of its epochs."""
    return replace(column, read=lambda r: read_cells([column], r.row)[column.key])


def _read_epoch(name: str, field: str = "", **changes: str) -> Column[EpochRecord]:
    """The quantity of that name of one epoch, which is in that `field` if it is not named so."""
    column: Column = quantity(name, interval=False, kinds=False, **changes)
    return replace(column, read=lambda r: getattr(r.epoch, field or name))


EPOCH_COLUMNS: tuple[Column[EpochRecord], ...] = (
    Column("bundle", about="center, system and run", read=lambda r: read_bundle_name(r.row)),
    *map(_mark_epoch, MARK_COLUMNS),
    Column(
        "epoch", form="count", about="number of the epoch, from 0", read=lambda r: r.epoch.epoch
    ),
    replace(SCORED, form="truth", read=lambda r: r.epoch.scored),
    Column(
        "items",
        unit="items",
        form="count",
        about="items of all ranks",
        read=lambda r: r.epoch.items,
    ),
    Column(
        "active_s",
        unit="s",
        form="number",
        about="mean time in which an accelerator had active batches",
        read=lambda r: r.epoch.active_s,
    ),
    _read_epoch("items_per_s_per_accelerator", unit="items/s"),
    *map(_read_epoch, ("items_per_s", "joules_per_item", "items_per_joule")),
    _read_epoch("power_w", "mean_power_w_per_accelerator", key="mean_power_w", unit="W"),
    Column(
        "energy_j_counter",
        unit="J",
        form="number",
        about="energy by the energy counter, all accelerators",
        read=lambda r: r.epoch.energy_j_counter,
    ),
    Column(
        "energy_j_trapezoid",
        unit="J",
        form="number",
        about="energy by the trapezoid over power readings, all accelerators",
        read=lambda r: r.epoch.energy_j_trapezoid,
    ),
    _read_epoch("mfu"),
)
"""The columns of `epochs`: one row per epoch of each run that passed."""


@dataclass(frozen=True)
class SampleRecord:
    """The samples of a run."""

    row: ResultRow
    bundle: Bundle


def _read_epochs(record: SampleRecord) -> Any:
    """The epoch of each sample, shape (n,), NA outside of active windows."""
    epochs = np.full(len(record.bundle.samples), NO_STAMP, np.int64)
    for part in record.bundle.parts:
        epochs[part.places] = part.epoch
    return _mask_stamps(epochs)


def _mask_stamps(values: Ints) -> Any:
    return pd.arrays.IntegerArray(values, values == NO_STAMP)


def _read_column(bundle: Bundle, name: str) -> Any:
    """A column of samples.csv.gz, shape (n,), NA for an empty cell; None if the table lacks it."""
    samples = bundle.samples
    if name not in samples.columns:
        return None
    if name in TEXT_COLUMNS:
        text = samples.text(name)
        # Each text once: a run has thousands of samples and few texts.
        names = [escape_invisible(name) or None for name in text.names]
        return pd.array(names, dtype="string").take(text.codes)
    if name in STAMP_COLUMNS | REQUIRED_COLUMNS:
        return _mask_stamps(samples.ints(name)) if name in STAMP_COLUMNS else samples.ints(name)
    values = samples.floats(name)
    is_empty = np.isnan(values)
    return pd.arrays.IntegerArray(np.where(is_empty, 0, values).astype(np.int64), is_empty)


def _make_sample_column(name: str, form: Form, unit: str, about: str) -> Column[SampleRecord]:
    """The column of samples.csv.gz with this name."""
    return Column(name, "", unit, form, about=about, read=lambda r: _read_column(r.bundle, name))


SAMPLE_COLUMNS: tuple[Column[SampleRecord], ...] = (
    Column("bundle", about="center, system and run", read=lambda r: read_bundle_name(r.row)),
    Column(
        "epoch",
        form="count",
        about="epoch in whose active batches the reading was taken; empty outside of them",
        read=_read_epochs,
    ),
    _make_sample_column(
        "scheduled_ns", "count", "ns", "when the reading was due, on the clock of the node"
    ),
    _make_sample_column(
        "read_ns", "count", "ns", "when it was taken, on the monotonic clock of the node"
    ),
    _make_sample_column("node", "text", "", "name of the node"),
    _make_sample_column("accelerator", "text", "", "UUID of the accelerator"),
    _make_sample_column("power_mw", "count", "mW", "instantaneous board power"),
    _make_sample_column("power_avg_mw", "count", "mW", "power averaged by the board"),
    _make_sample_column("energy_mj", "count", "mJ", "energy counter of the board"),
    _make_sample_column("sm_mhz", "count", "MHz", "SM clock"),
    _make_sample_column("mem_mhz", "count", "MHz", "memory clock"),
    _make_sample_column("temp_c", "count", "\u00b0C", "temperature of the board"),
    _make_sample_column("mem_temp_c", "count", "\u00b0C", "temperature of the memory"),
    _make_sample_column("power_state", "text", "", "power state or performance level"),
    _make_sample_column(
        "slowdown", "count", "", "bit mask of slowdown reasons as the vendor defines it"
    ),
    _make_sample_column("util_pct", "count", "%", "utilisation as the vendor counts it"),
    _make_sample_column("cap_mw", "count", "mW", "power limit in force"),
    _make_sample_column("status", "text", "", "ok, or which quantity failed and why"),
    _make_sample_column(
        "mem_power_mw", "count", "mW", "power of the memory, averaged by the board"
    ),
    _make_sample_column(
        "counter_ns",
        "count",
        "ns",
        "when the energy counter was read; empty if it was read together with the power",
    ),
)
"""The columns of `samples`: one row per reading of an accelerator, from samples.csv.gz, in the
order of the file."""


def build_sample_frame(record: SampleRecord) -> pd.DataFrame:
    """The samples of a run."""
    rows = range(len(record.bundle.samples))
    return pd.DataFrame(
        {
            column.key: pd.Series(column.read(record), index=rows, dtype=DTYPES[column.form])
            for column in SAMPLE_COLUMNS
            if column.read
        }
    )


@dataclass(frozen=True)
class FindingRecord:
    """A finding of the check on a bundle."""

    bundle: str
    status: str
    standing: str | None
    finding: Finding


FINDING_COLUMNS: tuple[Column[FindingRecord], ...] = (
    Column("bundle", about="center, system and run or study", read=lambda r: r.bundle),
    Column(
        "status",
        about="of the bundle: pass, fail or withdrawn; only what passed is in the other tables",
        read=lambda r: r.status,
    ),
    Column("standing", about="standing of the bundle", read=lambda r: r.standing),
    Column("rule", about="id of the rule", read=lambda r: r.finding.rule),
    Column("severity", about="error, warning or note", read=lambda r: r.finding.severity.value),
    Column("file", about="file of the bundle", read=lambda r: r.finding.file),
    Column("pointer", about="JSON pointer, or rows of a table", read=lambda r: r.finding.pointer),
    Column("found", about="what the rule found", read=lambda r: r.finding.found),
    Column("expected", about="what it expected", read=lambda r: r.finding.expected),
    Column("message", about="what it means or what to do", read=lambda r: r.finding.message),
    Column(
        "waiver",
        about="file of the waiver that lifts the finding; empty without one",
        read=lambda r: r.finding.waived or None,
    ),
)
"""The columns of `findings`: one row per finding on a bundle that passed, failed or was
withdrawn."""
