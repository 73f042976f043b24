"""A clock above the board's highest, or an unknown slowdown reason

## What it does
Examines all samples, also those outside scored epochs:

- `sm_mhz` may exceed the highest clock of the board by 1 %. Boards that the rule book does not know
  are not judged. For a simulated board, the clock of its model counts.
- `slowdown` must be zero or a sum of the reasons of its vendor: NVML's bits 0x1 to 0x100 and its
  highest bit for NVIDIA and simulated boards, bits 0x1 to 0x10 for AMD. Other vendors are not
  judged.

## Why it is bad
No board has such a clock, and no driver gives such a reason, so the samples are not those of this
board. A false clock hides a false throughput from X115. A negative or unknown reason hides the
power cap from W119 and W126, which look for readings that are too low.

## What to do
Submit the samples as they were read, and check the name of the board in system.json. If a new
driver has a new reason, report it, so that the rule book learns it.

## Source
Highest clocks: `rules/boards.py`; in the first 19 committed runs, all 15 H200s reached 1 980 MHz
and none exceeded it. Reasons: NVML API reference, `nvmlClocksEventReasons`;
`harness/power/sources/amd.py`.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, expand_by_accelerator, find_offenders
from rules.finding import Severity, Violation, format_count
from rules.metrics.power.slowdown import KNOWN_REASONS, read_masks
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C113", Severity.ERROR, added="1.5.0")

CLOCK_TOLERANCE = 1.01
"""A reading may exceed the clock of the data sheet by so much."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    yield from _check_clocks(bundle)
    yield from _check_slowdown(bundle)


def _check_clocks(bundle: Bundle) -> Iterator[Violation]:
    boards = {uuid: bundle.board_of(uuid) for uuid in bundle.accelerators}
    highest_mhz = {
        uuid: board.boost_mhz for uuid, board in boards.items() if board and board.boost_mhz
    }
    sm_mhz = bundle.samples.floats("sm_mhz")
    # NaN, a board that is not known or a clock that was not read, compares as not above.
    too_high = sm_mhz > CLOCK_TOLERANCE * expand_by_accelerator(bundle.samples, highest_mhz)
    for uuid, rows, count in find_offenders(bundle.samples, too_high):
        of_board = too_high & bundle.samples.text("accelerator").equals(uuid)
        yield Violation(
            SAMPLES,
            rows,
            f"{uuid}: {format_count(count, 'sample')} with sm_mhz up to {sm_mhz[of_board].max():g}",
            f"at most {highest_mhz[uuid]} MHz, the highest clock of the board",
        )


def _check_slowdown(bundle: Bundle) -> Iterator[Violation]:
    samples, slowdown = bundle.samples, bundle.samples.floats("slowdown")
    accelerators = samples.text("accelerator")
    for vendor, reasons in KNOWN_REASONS.items():
        of_vendor = np.array([bundle.vendor_of(uuid) == vendor for uuid in accelerators.names])
        if not of_vendor.any():
            continue
        unknown = (slowdown < 0) | ((read_masks(samples) & ~np.uint64(reasons)) != 0)
        unknown &= of_vendor[accelerators.codes]
        for uuid, rows, count in find_offenders(samples, unknown):
            example = slowdown[unknown & accelerators.equals(uuid)][0]
            yield Violation(
                SAMPLES,
                rows,
                f"{uuid}: {format_count(count, 'sample')} "
                f"with unknown slowdown reasons, such as {example:.0f}",
                f"zero, or a sum of the reasons of {reasons:#x}",
            )
