"""Clocks that are not the board's own

## What it does
Compares the application clocks of every readback with the board's defaults, and looks in the scored
samples for the reasons that a clock which somebody asked for gives: application clocks (0x2 of
NVML) where no readback says that they are the default ones, and sync boost (0x10).

A clock lock (`nvidia-smi -lgc`) cannot be read back through NVML. It shows in the clocks of the
samples alone, which C111 judges. AMD boards have no application clocks; their performance level is
what C104 and C105 judge.

## Why it is bad
A sweep asks what a cap costs and saves. Where a lower clock was asked for, the clock limits and not
the cap, and the efficiency is not that of the cap. It is a warning, because the run itself is sound
and protocol 1.0 does not forbid it: the report keeps such runs apart from those of a sweep.

## What to do
Reset the clocks (`nvidia-smi -rac`, `nvidia-smi -rgc`, as root), take the board out of its boost
group, and run again.

## Source
NVML API reference, `nvmlDeviceGetApplicationsClock`, `nvmlDeviceGetDefaultApplicationsClock`,
`nvmlClocksEventReasons`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import Json
from rules.bundle_format.table import RESULT, SAMPLES, rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.slowdown import APPLICATION_CLOCKS, SYNC_BOOST, any_of

RULE = BundleRule(__name__, "C108", Severity.WARNING, added="1.2.0")

CLOCKS = (("sm_set_mhz", "sm_default_mhz"), ("mem_set_mhz", "mem_default_mhz"))
ADVICE = (
    "The clock was asked for, and the cap may not be what limits. Reset the clocks and run again."
)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    yield from _read_back(bundle.result["readbacks"])
    default = {r["accelerator"] for r in bundle.result["readbacks"] if _is_default(r)}
    for accelerator, own in bundle.scored_samples_of.items():
        vendor = bundle.vendor_of(accelerator)
        mask = SYNC_BOOST.get(vendor, 0) | (
            0 if accelerator in default else APPLICATION_CLOCKS.get(vendor, 0)
        )
        held = any_of(own, mask)
        if held.any():
            found = (
                f"{accelerator}: {int(held.sum())} samples whose clock was held by the reasons "
                f"{mask:#x}"
            )
            yield Violation(
                SAMPLES,
                rows(own, held),
                found,
                "a clock that only cap and temperature hold down",
                ADVICE,
            )


def _read_back(readbacks: list[Json]) -> Iterator[Violation]:
    seen = set()
    for place, readback in enumerate(readbacks):
        for name, default in CLOCKS:
            asked_mhz, default_mhz = readback.get(name), readback.get(default)
            if (
                None not in (asked_mhz, default_mhz)
                and asked_mhz != default_mhz
                and (readback["accelerator"], name) not in seen
            ):
                seen.add((readback["accelerator"], name))
                found = f"{asked_mhz} MHz on {readback['accelerator']} ({readback['when']})"
                yield Violation(
                    RESULT,
                    f"/readbacks/{place}/{name}",
                    found,
                    f"{default_mhz} MHz, the board's default",
                    ADVICE,
                )


def _is_default(readback: Json) -> bool:
    """Whether the readback says that the SM's application clock is the board's default."""
    return readback.get("sm_set_mhz") is not None and readback["sm_set_mhz"] == readback.get(
        "sm_default_mhz"
    )
