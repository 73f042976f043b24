"""A driver's "not available" taken for power

## What it does
Looks in the scored samples for powers that are no readings: all ones in 16 or 32 bits, as
milliwatts or as watts, and negative ones.

## Why it is bad
Drivers return such numbers where a quantity is not supported or a read failed. Integrated, they
give any energy you like.

## What to do
Record a failed read as an empty cell with the reason in `status`.

## Source
AMD SMI library documentation: values not supported are returned as all ones (65535 for
`current_socket_power`).
"""

from collections.abc import Iterator

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import POWER_COLUMNS, SAMPLES, implausible, offenders
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import every, under_load

RULE = Rule("W104", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    samples = bundle.scored_samples
    for column in POWER_COLUMNS:
        power = samples.floats(column)
        wrong = implausible(power)
        for accelerator, where, count in offenders(samples, wrong):
            yield Found(
                SAMPLES,
                where,
                f"{accelerator}: {count} times no power in {column}, such as {power[wrong][0]:.0f}",
                "milliwatts, or an empty cell and a status",
                "These are a driver's marks for a value it does not have. Record such a "
                "read as failed.",
            )


@RULE.mutation()
def sixteen_bits_of_ones(evidence: Evidence) -> None:
    evidence.samples.loc[every(150, under_load(evidence)), "power_mw"] = 65_535.0


@RULE.mutation()
def thirty_two_bits_of_ones_in_the_average(evidence: Evidence) -> None:
    evidence.samples.loc[every(70, under_load(evidence)), "power_avg_mw"] = 4_294_967_295.0


@RULE.mutation()
def negative_power(evidence: Evidence) -> None:
    evidence.samples.loc[every(150, under_load(evidence)), "power_mw"] = -1.0


@RULE.mutation("W106", "C102", "E103", "E104")
def thirty_two_bits_of_ones(evidence: Evidence) -> None:
    evidence.samples.loc[every(150, under_load(evidence)), "power_mw"] = 4_294_967_295.0
