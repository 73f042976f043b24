"""A declared rank that has no batches

## What it does
Asks that every rank of result.json has batches in every epoch of the run. How many they must be is
P109's.

## Why it is bad
A rank that is declared counts its accelerators among those of the run. If it did not work, the
system was smaller than stated; if its windows were left out, so was the energy that its boards drew
meanwhile.

## What to do
Find out why the rank left no batches.csv, and run again. Declare only ranks that work.

## Source
Protocol, section "what counts"; bundle format, result.json, `ranks`.
"""

from collections.abc import Iterator

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import BATCHES
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import add_twin, last_epoch

RULE = Rule("P119", Severity.ERROR, added="1.3.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    epochs = {epoch for epoch, _ in bundle.spans}
    for declared in bundle.result["ranks"]:
        rank = declared["rank"]
        silent = sorted(epoch for epoch in epochs if (epoch, rank) not in bundle.spans)
        if silent:
            yield Found(
                BATCHES,
                "",
                f"rank {rank} on {declared['node']} has no batches in epochs "
                f"{', '.join(map(str, silent[:12]))}",
                "batches of every declared rank in every epoch",
                "The rank did not work, or its windows were left out. Find out which, and "
                "run again.",
            )


@RULE.mutation("P109")
def one_rank_silent(evidence: Evidence) -> None:
    silent = add_twin(evidence)
    evidence.batches = evidence.batches[evidence.batches["rank"] != silent].reset_index(drop=True)


@RULE.mutation("P109")
def one_rank_silent_in_the_last_epoch(evidence: Evidence) -> None:
    silent = add_twin(evidence)
    gone = (evidence.batches["epoch"] == last_epoch(evidence)) & (
        evidence.batches["rank"] == silent
    )
    evidence.batches = evidence.batches[~gone].reset_index(drop=True)
