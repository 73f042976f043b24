"""Counter and power samples of a demo run that disagree

## What it does
Compares, per accelerator and over all scored epochs of a demo run, the energy by the hardware
counter with the trapezoid over the power samples. Demo epochs may be short, so more than the
protocol's bound is allowed: what is read of a counter is up to one sample old, at the beginning as
at the end, so the two may be apart by the energy of the longest step between two samples. Where a
board only has averaged power, that is at least the second over which it averages.

A board without a counter is left out. In closed and open runs E102, E103 and E104 ask for more.

## Why it is bad
The counter fails its self-test, so the energy of record is the trapezoid; and one of the two is
wrong. It is a warning, for a demo is never compared.

## What to do
Find out which one is wrong before you measure on that board: readings that drift, a counter that is
stuck. If the run took only some seconds, repeat it with longer epochs.

## Source
Protocol, section "energy of record"; docs/measurement.md, "the refresh of the counter".
"""

import math
from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.run import agreement, relative_difference
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E107", Severity.WARNING, standings=("demo",), added="1.2.0")

AVERAGING_S = 1.0


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator in dict.fromkeys(p.accelerator for p in bundle.scored_parts):
        own = [p for p in bundle.scored_parts if p.accelerator == accelerator]
        counters = [p.energy_j_counter for p in own if p.energy_j_counter is not None]
        if not counters:
            continue
        apart = relative_difference(
            math.fsum(counters), math.fsum(p.energy_j_trapezoid for p in own)
        )
        oldest_s = max(
            _longest_step_s(bundle, accelerator), AVERAGING_S if own[0].averaged else 0.0
        )
        most = agreement(bundle.protocol, own[0].averaged).run + oldest_s / math.fsum(
            p.active_s for p in own
        )
        if abs(apart) > most:
            yield Violation(
                SAMPLES, "", f"{accelerator}: {_told(apart)}", f"within {100 * most:.1f} %", MESSAGE
            )


MESSAGE = (
    "The energy of record is that of the power samples. One of the two is wrong: find out "
    "which before you measure."
)


def _longest_step_s(bundle: Bundle, accelerator: str) -> float:
    read_ns = bundle.samples_of[accelerator].ints("read_ns")
    return float((read_ns[1:] - read_ns[:-1]).max()) / 1e9


def _told(apart: float) -> str:
    if math.isinf(apart):
        return "energy_mj does not rise over the scored epochs"
    return (
        f"the power samples give {100 * apart:+.2f} % of the counter's energy over the scored "
        "epochs"
    )
