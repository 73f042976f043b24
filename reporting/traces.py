"""Power of a run over time as a table that is short enough for a page: the extremes of bins, and
the mean over one second at the middle of each bin."""

from dataclasses import replace

import numpy as np

from reporting.report_table import Column, ReportTable, TableRow
from rules.boards import SIMULATED_PREFIX
from rules.bundle import Bundle
from rules.metrics.energy import MetricsError, build_trace
from rules.metrics.power.profile import Bin, PowerSpread, average_around, envelope, spread
from rules.metrics.power.readings import read_power_of_record_w

MAX_BINS = 180
"""Each bin has two or three pixels of a chart."""

SCORED = Column("scored", "scored", about="whether the epoch is scored; the first is discarded")
CONTROL = Column(
    "control_w",
    "control",
    "W",
    "number",
    hidden=True,
    about="median power of a control run at the same cap",
)
COLUMNS = (
    Column(
        "t_s", "start", "s", "number", about="Seconds since the first reading of the accelerator."
    ),
    Column("model", "board", hidden=True),
    Column("provenance", "provenance", hidden=True),
    Column("to_s", "end", "s", "number", hidden=True),
    Column("low_w", "lowest power", "W", "number", about="Lowest reading of the bin."),
    Column("high_w", "highest power", "W", "number", about="Highest reading of the bin."),
    Column(
        "mean_w",
        "mean over 1 s",
        "W",
        "number",
        about="Mean of the readings within 0.5 s of the middle of the bin.",
    ),
    Column("n", "readings", "", "count", hidden=True),
    Column(
        "epoch",
        "epoch",
        "",
        "count",
        about="Epoch at the middle of the bin; empty between epochs.",
    ),
    replace(SCORED, hidden=True),
    Column("cap_w", "cap", "W", "number", hidden=True),
    Column(
        "rated_w",
        "rated power",
        "W",
        "number",
        hidden=True,
        about="Highest power limit that the manufacturer allows.",
    ),
    Column(
        "idle_w",
        "idle",
        "W",
        "number",
        hidden=True,
        about="Idle power of the board model.",
    ),
    CONTROL,
)


def build_trace_table(
    bundle: Bundle,
    id: str,
    bins: int = MAX_BINS,
    control_w: float | None = None,
    provenance: str = "measured",
) -> ReportTable:
    """The power of the first accelerator of a bundle: lowest and highest reading in each of at
    most `bins` bins of equal length. `control_w` is the median power of a control run at the same
    cap; `provenance` is `measured` or `simulated`.

    Raises MetricsError if there are too few readings.
    """
    # One accelerator is enough to show the course of a run. All would not fit on the page.
    uuid = next(iter(bundle.accelerator_ranks), "")
    if uuid not in bundle.samples_of:
        raise MetricsError(f"the accelerator {uuid} has no samples")
    power_trace = build_trace(bundle.samples_of[uuid])
    rank = bundle.accelerator_ranks[uuid]
    spans_s = [
        (epoch, (start - power_trace.zero_ns) / 1e9, (end - power_trace.zero_ns) / 1e9)
        for (epoch, epoch_rank), (start, end) in bundle.spans.items()
        if epoch_rank == rank
    ]
    name = bundle.accelerators[uuid].name
    known_board = bundle.accelerators[uuid].board
    constants = {
        # A simulated board has the colour of the board that it simulates.
        "model": known_board.id if known_board else name.removeprefix(SIMULATED_PREFIX),
        "provenance": provenance,
        "cap_w": bundle.cap_w,
        "rated_w": known_board.max_power_w if known_board else None,
        "idle_w": known_board.idle_power_w if known_board else None,
        "control_w": control_w,
    }
    # With more bins than readings, most bins would be empty.
    times_s, power_w = power_trace.usable_power_times_s, power_trace.usable_power_w
    power_bins = list(envelope(times_s, power_w, min(bins, len(power_w) - 1)))
    centers_s = np.array([(power_bin.from_s + power_bin.to_s) / 2 for power_bin in power_bins])
    means_w = average_around(times_s, power_w, centers_s)
    rows = tuple(
        {
            **_make_row(power_bin, spans_s, bundle.protocol.discarded_epochs),
            # The sensors resolve no more than a tenth of a watt in a mean over ten readings.
            "mean_w": round(float(mean_w), 1),
            **constants,
        }
        for power_bin, mean_w in zip(power_bins, means_w, strict=True)
    )
    note = (
        f", the first of {len(bundle.accelerator_ranks)} accelerators"
        if len(bundle.accelerator_ranks) > 1
        else ""
    )
    about = (
        f"{name}{note}. {len(power_w)} readings in {len(rows)} bins. "
        "Each bin shows its lowest and highest reading, and the mean over 1 s around its middle."
    )
    return ReportTable(id, f"Power over time, {bundle.declaration.run_id}", COLUMNS, rows, about)


def _make_row(
    power_bin: Bin, spans_s: list[tuple[int, float, float]], discarded_epochs: int
) -> TableRow:
    # A bin may straddle the end of an epoch. Its middle decides.
    middle_s = (power_bin.from_s + power_bin.to_s) / 2
    epoch = next((epoch for epoch, start_s, end_s in spans_s if start_s <= middle_s <= end_s), None)
    return {
        "t_s": round(power_bin.from_s, 3),
        "to_s": round(power_bin.to_s, 3),
        "low_w": power_bin.low_w,
        "high_w": power_bin.high_w,
        "n": power_bin.n,
        "epoch": epoch,
        "scored": None if epoch is None else epoch >= discarded_epochs,
    }


def summarize_power(bundle: Bundle) -> PowerSpread | None:
    """The distribution of the power readings of all accelerators over the scored epochs
    (`rules.metrics.power.profile.spread`); None without readings."""
    power_w = read_power_of_record_w(bundle.scored_samples)
    # Failed readings are NaN.
    power_w = power_w[np.isfinite(power_w)]
    return spread(power_w) if len(power_w) else None
