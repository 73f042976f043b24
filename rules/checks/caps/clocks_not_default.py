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

from rules.bundle_format.records import Evidence, Json
from rules.bundle_format.table import RESULT, SAMPLES, rows
from rules.rule import Bundle, Found, Rule, Severity
from rules.slowdown import APPLICATION_CLOCKS, SYNC_BOOST, any_of
from rules.testing.mutations import every, first_accelerator, under_load

RULE = Rule("C108", Severity.WARNING, added="1.2.0")

CLOCKS = (("sm_set_mhz", "sm_default_mhz"), ("mem_set_mhz", "mem_default_mhz"))
ADVICE = (
    "The clock was asked for, and the cap may not be what limits. Reset the clocks and run again."
)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    yield from _read_back(bundle.result["readbacks"])
    default = {r["accelerator"] for r in bundle.result["readbacks"] if _is_default(r)}
    for accelerator, own in bundle.scored_samples_of.items():
        vendor = str(bundle.accelerators.get(accelerator, {}).get("vendor"))
        mask = SYNC_BOOST.get(vendor, 0) | (
            0 if accelerator in default else APPLICATION_CLOCKS.get(vendor, 0)
        )
        held = any_of(own, mask)
        if held.any():
            found = (
                f"{accelerator}: {int(held.sum())} samples whose clock was held by the reasons "
                f"{mask:#x}"
            )
            yield Found(
                SAMPLES,
                rows(own, held),
                found,
                "a clock that only cap and temperature hold down",
                ADVICE,
            )


def _read_back(readbacks: list[Json]) -> Iterator[Found]:
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
                yield Found(
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


def _set_clocks(evidence: Evidence, sm_mhz: int) -> None:
    for readback in evidence.result["readbacks"]:
        readback.update(
            sm_set_mhz=sm_mhz, sm_default_mhz=1980, mem_set_mhz=3201, mem_default_mhz=3201
        )


@RULE.mutation()
def application_clocks_lowered(evidence: Evidence) -> None:
    _set_clocks(evidence, 1200)


@RULE.mutation()
def memory_clock_lowered_on_one_board(evidence: Evidence) -> None:
    _set_clocks(evidence, 1980)
    for readback in evidence.result["readbacks"]:
        if readback["accelerator"] == first_accelerator(evidence):
            readback["mem_set_mhz"] = 2619


@RULE.mutation()
def clock_held_and_not_read_back(evidence: Evidence) -> None:
    evidence.samples.loc[under_load(evidence), "slowdown"] = float(0x2)


@RULE.mutation()
def sync_boost_at_default_clocks(evidence: Evidence) -> None:
    _set_clocks(evidence, 1980)
    evidence.samples.loc[every(100, under_load(evidence)), "slowdown"] = float(0x4 | 0x10)
