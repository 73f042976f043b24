"""Clocks are not the default clocks of the board

## What it does
Compares the application clocks in every readback with the defaults of the board. Looks in the
scored samples for the slowdown reasons of requested clocks: application clocks (0x2 of NVML),
unless a readback shows that they are the defaults or the run declares a locked SM clock, and sync
boost (0x10).

NVML does not report a clock lock (`nvidia-smi -lgc`). A lock is visible only in the sampled clocks,
which C111 judges. AMD boards have no application clocks: C104 and C105 judge their performance
level.

## Why it is bad
A sweep measures the effect of a cap. If a lower clock was requested, the clock limits the board
instead of the cap, and the efficiency is not that of the cap. It is a warning, because the run
itself is valid and protocol 1.0 does not forbid it: the report keeps such runs apart from those of
a sweep.

## What to do
Reset the clocks (`nvidia-smi -rac`, `nvidia-smi -rgc`, as root), remove the board from its boost
group, and run again.

## Source
NVML API reference, `nvmlDeviceGetApplicationsClock`, `nvmlDeviceGetDefaultApplicationsClock`,
`nvmlClocksEventReasons`.
"""

from collections.abc import Iterator, Sequence

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES, format_rows
from rules.declarations.run import ReadbackRecord
from rules.finding import Severity, Violation, format_count
from rules.metrics.power.slowdown import APPLICATION_CLOCKS, SYNC_BOOST, have_any_bit
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C108", Severity.WARNING, added="1.2.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    yield from _compare_readbacks(bundle.readbacks)
    # The reason alone does not tell whether the application clock is the default of the board.
    with_default_clock = {r.accelerator for r in bundle.readbacks if _has_default_sm_clock(r)}
    is_locked = bundle.declaration.power.locks_sm_clock
    for uuid, samples in bundle.scored_samples_of.items():
        vendor = bundle.vendor_of(uuid)
        mask = SYNC_BOOST.get(vendor, 0)
        # A driver may give a declared lock as the same reason. C114 judges it.
        if uuid not in with_default_clock and not is_locked:
            mask |= APPLICATION_CLOCKS.get(vendor, 0)
        limited = have_any_bit(samples, mask)
        if limited.any():
            yield Violation(
                SAMPLES,
                format_rows(samples, limited),
                f"{uuid}: {format_count(int(limited.sum()), 'sample')} "
                f"with slowdown reasons of {mask:#x}",
                "no slowdown reason of a requested clock",
            )


def _compare_readbacks(readbacks: Sequence[ReadbackRecord]) -> Iterator[Violation]:
    reported: set[tuple[str, str]] = set()
    for readback in readbacks:
        for column, set_mhz, default_mhz in (
            ("sm_set_mhz", readback.sm_set_mhz, readback.sm_default_mhz),
            ("mem_set_mhz", readback.mem_set_mhz, readback.mem_default_mhz),
        ):
            key = readback.accelerator, column
            # Bundles of older harnesses have no application clocks, and AMD boards have none at
            # all.
            if None in (set_mhz, default_mhz) or set_mhz == default_mhz or key in reported:
                continue
            reported.add(key)
            yield Violation(
                RESULT,
                f"{readback.pointer}/{column}",
                f"{readback.accelerator}: {set_mhz} MHz ({readback.when})",
                f"{default_mhz} MHz, the default of the board",
            )


def _has_default_sm_clock(readback: ReadbackRecord) -> bool:
    return readback.sm_set_mhz is not None and readback.sm_set_mhz == readback.sm_default_mhz
