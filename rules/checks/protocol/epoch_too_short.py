"""A scored epoch shorter than the protocol asks for

## What it does
Adds up, per scored epoch and accelerator, the time in which a batch was active, and compares it
with the least length of a scored epoch.

## Why it is bad
Energy counters advance in steps, ten a second on the boards we know. At the two edges of a short
epoch these steps are a large share of its energy.

## What to do
Run with longer epochs: leave the epoch length to `bench-submit`, or give a larger
`--epoch-seconds`.

## Source
Protocol, section "scored epoch length".
"""

from collections.abc import Iterator

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import BATCHES
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import protocol

RULE = Rule("P103", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    least = bundle.protocol.min_epoch_s
    shortest: dict[int, float] = {}
    for part in bundle.scored_parts:
        shortest[part.epoch] = min(part.active_s, shortest.get(part.epoch, part.active_s))
    short = {epoch: seconds for epoch, seconds in shortest.items() if seconds < least}
    if short:
        yield Found(
            BATCHES,
            "",
            f"epochs {', '.join(map(str, short))} with {min(short.values()):.2f} s of "
            "active time at the least",
            f"at least {least:g} s in every scored epoch",
            "Short epochs make the edges of the energy counter count too much. Run again "
            "with longer epochs.",
        )


def _batches_in_less_than_an_epoch(evidence: Evidence) -> int:
    length_s = (
        evidence.batches["end_ns"].to_numpy() - evidence.batches["start_ns"].to_numpy()
    ).mean() / 1e9
    return max(1, int(0.95 * protocol(evidence).min_epoch_s / length_s))


@RULE.mutation()
def last_batches_left_out(evidence: Evidence) -> None:
    kept = _batches_in_less_than_an_epoch(evidence)
    evidence.batches = evidence.batches[evidence.batches["batch"] < kept].reset_index(drop=True)
    evidence.result["settings"]["batches_per_epoch"] = kept


@RULE.mutation()
def first_batches_left_out(evidence: Evidence) -> None:
    kept = _batches_in_less_than_an_epoch(evidence)
    left_out = evidence.result["settings"]["batches_per_epoch"] - kept
    evidence.batches = evidence.batches[evidence.batches["batch"] >= left_out].reset_index(
        drop=True
    )
    evidence.batches["batch"] -= left_out
    evidence.result["settings"]["batches_per_epoch"] = kept
