"""A run with more or fewer epochs than the protocol asks for

## What it does
Compares the epochs in batches.csv.gz and in result.json with the number that the protocol fixes.

## Why it is bad
Means and intervals are compared between runs of equal length. A run that may leave epochs out, or
add some, can choose its best ones.

## What to do
Run again. A run that ended early is not a result; `bench-submit` repeats it whole.

## Source
Protocol, section "epochs, discarded".
"""

from collections.abc import Iterator

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import BATCHES, RESULT
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import last_epoch

RULE = Rule("P101", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    wanted = list(range(bundle.protocol.epochs))
    stated = [e["epoch"] for e in bundle.result["epochs"]]
    measured = sorted({epoch for epoch, _ in bundle.batches_of})
    for file, pointer, epochs in ((RESULT, "/epochs", stated), (BATCHES, "", measured)):
        if epochs != wanted:
            yield Found(
                file,
                pointer,
                f"{len(epochs)} epochs: {', '.join(map(str, epochs[:20]))}",
                f"epochs 0 to {wanted[-1]}, each once and in order",
                "A run has a fixed number of epochs, so that none can be chosen or left "
                "out. Run again.",
            )


@RULE.mutation()
def last_epoch_left_out(evidence: Evidence) -> None:
    evidence.batches = evidence.batches[
        evidence.batches["epoch"] < last_epoch(evidence)
    ].reset_index(drop=True)


@RULE.mutation()
def slow_epoch_left_out(evidence: Evidence) -> None:
    evidence.batches = evidence.batches[evidence.batches["epoch"] != 4].reset_index(drop=True)


@RULE.mutation(rederive=False)
def epoch_left_out_of_the_result_only(evidence: Evidence) -> None:
    del evidence.result["epochs"][7]


@RULE.mutation("P103", "P109", sometimes=("P108",))
def last_epoch_cut_in_two(evidence: Evidence) -> None:
    batches = evidence.batches
    last = last_epoch(evidence)
    batches.loc[
        (batches["epoch"] == last) & (batches["batch"] > batches["batch"].max() // 2), "epoch"
    ] = last + 1
