"""Quantities that the vendor's meter always provides are missing

## What it does
Compares samples and readbacks with the quantities that the meter of the vendor always provides on
the boards that the rule book knows:

- NVIDIA, samples: memory clock and power averaged by the board; readbacks: the lowest, highest and
  default limit, the requested and the enforced limit, ECC errors, and whether MIG is on
- AMD, samples: power, clock, cap and performance level (docs/amd.md); readbacks: the highest and
  default limit and the enforced limit

A quantity may be missing in 1 % of the successful samples, and never in readbacks. Quantities that
W114, E106, C107 and M109 require are not reported again.

## Why it is bad
A missing quantity cannot contradict the others. It is a warning, because no physical bound depends
on these quantities, and because no AMD board has been measured so far.

## What to do
Submit the values that the meter read. If the driver does not provide a quantity, say so in the
submission.

## Source
`harness/power/sources/`; NVML API reference; docs/amd.md.
"""

from collections.abc import Iterator

from rules.boards import Board
from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.checks.power.readings_left_out import find_missing_columns
from rules.declarations.run import ReadbackRecord
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M117", Severity.WARNING, standings=("closed", "open"), added="1.3.0")

SAMPLE_COLUMNS = {
    "NVIDIA": ("mem_mhz", "power_avg_mw"),
    "AMD": ("power_mw", "sm_mhz", "cap_mw", "power_state"),
}
"""Columns of samples that a vendor's meter always provides, besides those of W114 and E106."""
READBACK_FIELDS = {
    "NVIDIA": (
        "min_mw",
        "max_mw",
        "default_mw",
        "requested_mw",
        "enforced_mw",
        "mig",
        "ecc_uncorrected",
        "ecc_corrected",
    ),
    "AMD": ("max_mw", "default_mw", "enforced_mw"),
}
"""Fields of readbacks that a vendor's meter always provides, besides those of M109."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    def select_columns(board: Board) -> tuple[str, ...]:
        return SAMPLE_COLUMNS.get(board.vendor, ())

    yield from find_missing_columns(bundle, select_columns)
    missing: dict[tuple[str, str], list[ReadbackRecord]] = {}
    for readback in bundle.readbacks:
        # Simulated meters may leave out any quantity.
        board = bundle.real_board_of(readback.accelerator)
        for name in READBACK_FIELDS.get(board.vendor, ()) if board else ():
            if name == "enforced_mw" and bundle.cap_w is not None:
                continue  # C107 requires it
            if getattr(readback, name) is None:
                missing.setdefault((readback.accelerator, name), []).append(readback)
    for (accelerator, name), readbacks in missing.items():
        yield Violation(
            RESULT,
            f"{readbacks[0].pointer}/{name}",
            f"{accelerator}: null, in {len(readbacks)} of its readbacks",
            "the value that the driver provides",
        )
