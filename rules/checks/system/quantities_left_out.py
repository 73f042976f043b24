"""Less read than the vendor's meter reads

## What it does
Compares what samples and readbacks hold with what the meter of the vendor always gives on the
boards that the rule book knows:

- NVIDIA, samples: memory clock and power averaged by the board; readbacks: the least, highest
  and default limit, the limit asked for and the one in force, ECC errors, and whether MIG is on
- AMD, samples: power, clock, cap and performance level (docs/amd.md); readbacks: the highest and
  default limit and the one in force

Samples may lack it in 1 % where they succeeded, readbacks never. What W114, E106, C107 and M109 ask
for is not asked again.

## Why it is bad
A quantity that is missing is one that cannot contradict the others. It is a warning, because no
rule on physics rests on it, and because no AMD board has been measured so far.

## What to do
Hand in what the meter took. Where the driver lacks it, say so in the submission.

## Source
`harness/meters/`; NVML API reference; docs/amd.md.
"""

from collections.abc import Iterator

from rules.boards import Board
from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES
from rules.checks.power.readings_left_out import left_out
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M117", Severity.WARNING, standings=("closed", "open"), added="1.3.0")

SAMPLED = {
    "NVIDIA": ("mem_mhz", "power_avg_mw"),
    "AMD": ("power_mw", "sm_mhz", "cap_mw", "power_state"),
}
READ_BACK = {
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


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    message = "The meter of the vendor gives it. Hand in what it took, or say why it is not there."

    def wanted(known: Board) -> tuple[str, ...]:
        return SAMPLED.get(known.vendor, ())

    for found in left_out(bundle, wanted):
        yield Violation(SAMPLES, *found, message)
    capped = bundle.result["power"]["cap_w"] is not None
    missing: dict[tuple[str, str], list[int]] = {}
    for place, readback in enumerate(bundle.result["readbacks"]):
        known = bundle.real_board_of(readback["accelerator"])
        for name in READ_BACK.get(known.vendor, ()) if known else ():
            if readback[name] is None and not (capped and name == "enforced_mw"):
                missing.setdefault((readback["accelerator"], name), []).append(place)
    for (accelerator, name), places in missing.items():
        found_text = f"{accelerator}: null, in {len(places)} of its readbacks"
        yield Violation(
            RESULT, f"/readbacks/{places[0]}/{name}", found_text, "what the driver says", message
        )
