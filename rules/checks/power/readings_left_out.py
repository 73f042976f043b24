"""Readings that the driver always provides are missing

## What it does
Looks, on the NVIDIA boards that the rule book knows, for quantities that are empty in more than 1 %
of the successful scored samples: the SM clock, the slowdown reasons (`slowdown`), the cap in force
and the power state, and on boards whose driver is known to provide it (H100, H200) the
instantaneous power. E106 reports a missing counter, and W108 failed samples.

## Why it is bad
Clock, reasons and cap show whether the power is plausible: C106, C111, W119 and the statistics of
docs/forensics.md need them. An omitted quantity leaves the others unchecked. Seventeen measured
runs of H200s have all of them in every sample.

## What to do
Submit the samples as the meter read them. If a driver does not provide a quantity, use another
driver, or declare the run open.

## Source
NVML API reference, device queries and field values; `harness/power/sources/nvidia.py`.
"""

from collections.abc import Callable, Iterator

import numpy as np

from rules.boards import Board
from rules.bundle import Bundle
from rules.bundle_format.records import TEXT_COLUMNS
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.metrics.power.readings import has_power
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W114", Severity.ERROR, standings=("closed",), added="1.3.0")

ALWAYS_PROVIDED = ("sm_mhz", "slowdown", "cap_mw", "power_state")
"""Columns that NVIDIA's driver provides on every known board."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    def select_columns(board: Board) -> tuple[str, ...]:
        if board.vendor != "NVIDIA":
            return ()
        # Drivers of older boards provide averaged power only.
        return (*ALWAYS_PROVIDED, "power_mw") if board.instant else ALWAYS_PROVIDED

    yield from find_missing_columns(bundle, select_columns)


def find_missing_columns(
    bundle: Bundle, select_columns: Callable[[Board], tuple[str, ...]]
) -> Iterator[Violation]:
    """A violation for each selected column of a real, known board that is empty in too many
    successful samples."""
    for accelerator, samples in bundle.scored_samples_of.items():
        # Simulated boards and unknown boards have no driver whose quantities are known.
        board = bundle.real_board_of(accelerator)
        if board is None:
            continue
        columns = [name for name in select_columns(board) if bundle.samples.has_gaps(name)]
        if not columns:
            continue
        # W108 reports the other samples.
        succeeded = samples.text("status").equals("ok") & has_power(samples)
        for column in columns if succeeded.any() else ():
            is_text = column in TEXT_COLUMNS
            empty = samples.text(column).equals("") if is_text else np.isnan(samples.floats(column))
            missing = succeeded & empty
            share = missing.sum() / succeeded.sum()
            if share > bundle.protocol.max_failed_share:
                yield Violation(
                    SAMPLES,
                    format_rows(samples, missing),
                    f"{accelerator}: no {column} in {100 * share:.1f} % of the scored samples",
                    f"{column} in every sample, which the driver of {board.id} provides",
                )
