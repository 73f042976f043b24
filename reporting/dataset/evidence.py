"""The columns of `epochs` and `samples`, which are read from the bundles again, and those of
`findings`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from reporting.dataset.columns import Column, Type
from reporting.dataset.results import MARK_COLUMNS, read_bundle_name
from reporting.report_table import escape_invisible
from reporting.results_model import ResultRow
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


def _mark_epoch(column: Column[ResultRow]) -> Column[EpochRecord]:
    """The column of a result for each of its epochs."""
    return Column(
        column.name, column.type, column.unit, column.meaning, lambda r: column.read(r.row)
    )


EPOCH_COLUMNS: tuple[Column[EpochRecord], ...] = (
    Column("bundle", "text", "", "center, system and run", lambda r: read_bundle_name(r.row)),
    *map(_mark_epoch, MARK_COLUMNS),
    Column("epoch", "integer", "", "number of the epoch, from 0", lambda r: r.epoch.epoch),
    Column(
        "scored",
        "truth",
        "",
        "whether the epoch counts; the first is discarded",
        lambda r: r.epoch.scored,
    ),
    Column("items", "integer", "items", "items of all ranks", lambda r: r.epoch.items),
    Column(
        "active_s",
        "number",
        "s",
        "mean time in which an accelerator had active batches",
        lambda r: r.epoch.active_s,
    ),
    Column(
        "items_per_s_per_accelerator",
        "number",
        "items/s",
        "throughput per accelerator",
        lambda r: r.epoch.items_per_s_per_accelerator,
    ),
    Column(
        "items_per_s",
        "number",
        "items/s",
        "throughput of all accelerators together",
        lambda r: r.epoch.items_per_s,
    ),
    Column(
        "joules_per_item", "number", "J/item", "energy per item", lambda r: r.epoch.joules_per_item
    ),
    Column("items_per_joule", "number", "items/J", "efficiency", lambda r: r.epoch.items_per_joule),
    Column(
        "mean_power_w",
        "number",
        "W",
        "mean power per accelerator while batches are active",
        lambda r: r.epoch.mean_power_w_per_accelerator,
    ),
    Column(
        "energy_j_counter",
        "number",
        "J",
        "energy by the energy counter, all accelerators",
        lambda r: r.epoch.energy_j_counter,
    ),
    Column(
        "energy_j_trapezoid",
        "number",
        "J",
        "energy by the trapezoid over power readings, all accelerators",
        lambda r: r.epoch.energy_j_trapezoid,
    ),
    Column(
        "mfu",
        "number",
        "1",
        "model FLOP utilisation, a share of the dense peak",
        lambda r: r.epoch.mfu,
    ),
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


def _make_sample_column(name: str, type: Type, unit: str, meaning: str) -> Column[SampleRecord]:
    """The column of samples.csv.gz with this name."""
    return Column(name, type, unit, meaning, lambda r: _read_column(r.bundle, name))


SAMPLE_COLUMNS: tuple[Column[SampleRecord], ...] = (
    Column(
        "bundle",
        "text",
        "",
        "center, system and run",
        lambda r: read_bundle_name(r.row),
    ),
    Column(
        "epoch",
        "integer",
        "",
        "epoch in whose active batches the reading was taken; empty outside of them",
        _read_epochs,
    ),
    _make_sample_column(
        "scheduled_ns", "integer", "ns", "when the reading was due, on the clock of the node"
    ),
    _make_sample_column(
        "read_ns", "integer", "ns", "when it was taken, on the monotonic clock of the node"
    ),
    _make_sample_column("node", "text", "", "name of the node"),
    _make_sample_column("accelerator", "text", "", "UUID of the accelerator"),
    _make_sample_column("power_mw", "integer", "mW", "instantaneous board power"),
    _make_sample_column("power_avg_mw", "integer", "mW", "power averaged by the board"),
    _make_sample_column("energy_mj", "integer", "mJ", "energy counter of the board"),
    _make_sample_column("sm_mhz", "integer", "MHz", "SM clock"),
    _make_sample_column("mem_mhz", "integer", "MHz", "memory clock"),
    _make_sample_column("temp_c", "integer", "\u00b0C", "temperature of the board"),
    _make_sample_column("mem_temp_c", "integer", "\u00b0C", "temperature of the memory"),
    _make_sample_column("power_state", "text", "", "power state or performance level"),
    _make_sample_column(
        "slowdown", "integer", "", "bit mask of slowdown reasons as the vendor defines it"
    ),
    _make_sample_column("util_pct", "integer", "%", "utilisation as the vendor counts it"),
    _make_sample_column("cap_mw", "integer", "mW", "power limit in force"),
    _make_sample_column("status", "text", "", "ok, or which quantity failed and why"),
    _make_sample_column(
        "mem_power_mw", "integer", "mW", "power of the memory, averaged by the board"
    ),
    _make_sample_column(
        "counter_ns",
        "integer",
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
            column.name: pd.Series(column.read(record), index=rows, dtype=column.dtype)
            for column in SAMPLE_COLUMNS
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
    Column("bundle", "text", "", "center, system and run or study", lambda r: r.bundle),
    Column(
        "status",
        "text",
        "",
        "of the bundle: pass, fail or withdrawn; only what passed is in the other tables",
        lambda r: r.status,
    ),
    Column("standing", "text", "", "standing of the bundle", lambda r: r.standing),
    Column("rule", "text", "", "id of the rule", lambda r: r.finding.rule),
    Column("severity", "text", "", "error, warning or note", lambda r: r.finding.severity.value),
    Column("file", "text", "", "file of the bundle", lambda r: r.finding.file),
    Column("pointer", "text", "", "JSON pointer, or rows of a table", lambda r: r.finding.pointer),
    Column("found", "text", "", "what the rule found", lambda r: r.finding.found),
    Column("expected", "text", "", "what it expected", lambda r: r.finding.expected),
    Column("message", "text", "", "what it means or what to do", lambda r: r.finding.message),
    Column(
        "waiver",
        "text",
        "",
        "file of the waiver that lifts the finding; empty without one",
        lambda r: r.finding.waived or None,
    ),
)
"""The columns of `findings`: one row per finding on a bundle that passed, failed or was
withdrawn."""
