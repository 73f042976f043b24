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

from rules.boards import Board, real_board
from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT, SAMPLES
from rules.checks.power.readings_left_out import leave_out, left_out
from rules.rule import Bundle, Found, Rule, Severity

RULE = Rule("M117", Severity.WARNING, standings=("closed", "open"), added="1.3.0")

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
def check(bundle: Bundle) -> Iterator[Found]:
    message = "The meter of the vendor gives it. Hand in what it took, or say why it is not there."

    def wanted(known: Board) -> tuple[str, ...]:
        return SAMPLED.get(known.vendor, ())

    for found in left_out(bundle, wanted):
        yield Found(SAMPLES, *found, message)
    capped = bundle.result["power"]["cap_w"] is not None
    missing: dict[tuple[str, str], list[int]] = {}
    for place, readback in enumerate(bundle.result["readbacks"]):
        known = real_board(bundle.accelerators.get(readback["accelerator"], {"name": ""})["name"])
        for name in READ_BACK.get(known.vendor, ()) if known else ():
            if readback[name] is None and not (capped and name == "enforced_mw"):
                missing.setdefault((readback["accelerator"], name), []).append(place)
    for (accelerator, name), places in missing.items():
        found_text = f"{accelerator}: null, in {len(places)} of its readbacks"
        yield Found(
            RESULT, f"/readbacks/{places[0]}/{name}", found_text, "what the driver says", message
        )


@RULE.mutation()
def averages_left_out(evidence: Evidence) -> None:
    leave_out(evidence, "power_avg_mw")


@RULE.mutation()
def memory_clock_left_out(evidence: Evidence) -> None:
    leave_out(evidence, "mem_mhz")


@RULE.mutation()
def limits_not_read_back(evidence: Evidence) -> None:
    for readback in evidence.result["readbacks"]:
        readback.update(min_mw=None, max_mw=None, default_mw=None)


@RULE.mutation()
def slicing_and_errors_read_back_once(evidence: Evidence) -> None:
    for readback in evidence.result["readbacks"]:
        if readback["when"] != "before":
            readback.update(mig=None, ecc_uncorrected=None, ecc_corrected=None)


@RULE.mutation("M111", "M116")
def clock_of_an_amd_board_left_out(evidence: Evidence) -> None:
    for node in evidence.system["nodes"]:
        for accelerator in node["accelerators"]:
            accelerator.update(name="AMD Instinct MI300X", vendor="AMD")
    evidence.samples["slowdown"] = 2.0
    leave_out(evidence, "sm_mhz")
