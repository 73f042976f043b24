"""Throughput or energy per item drifts over the run

## What it does
Fits a straight line through the throughputs of the scored epochs, and another one through their
energies per item, by least squares. The drift is the change from the first to the last scored epoch
in percent of the mean. The rule reports a drift whose 95 % interval lies beyond 0.5 % on either
side. Serving runs with an arrival rate are skipped, and so are trainings to a target.

## Why it is bad
A run that drifts has no single throughput: its figures depend on how long it lasts. The cause is
often a board that still warms up, another program on the node, a cache that fills, or a model that
learns repeated inputs by heart.

## What to do
Look at the epochs in the result and at clocks and temperatures. Remove the cause, or warm up for
longer, and run again. The run stands.

## Source
The drift of the first 23 runs on H200s, whose 46 intervals begin at most 0.37 % from zero. Three of
five runs on H100s are reported: their energy per item falls by 1.0 to 1.4 % while the boards cool
by 5 to 8 K. One of three later runs on four H200s is reported: its energy per item rises by 2.2 %
while the boards warm up by 2 K. So is one of twelve later runs on one H200: its throughput falls by
0.7 % while the board warms up by 10 K. So are two of six later runs on two H200s: LLaMA at batch 1
learns four sequences by heart, and its SM clock under the cap falls by 5 %. So is one of five later
runs on one H200 each: a server with four requests in flight draws 1.5 % more power, below its cap,
while the board warms up by 4 K. So is one of five further runs on one H200 each: a server with one
request in flight gets 0.7 % faster in the middle of the run, for a cause that is not known. So is
one of three further runs on one H200 each: LLaMA at batch 2 learns 16 sequences, its loss falls to
5.7, and its throughput falls by 2.2 %. So is one of seven further runs on one H200 each: ViT-L/16
in fp16 learns its images, its loss falls to 0.0002, and its throughput rises by 2.2 %. Of 20 000
simulated runs without drift for each of the 46 series, with its standard deviation and its
autocorrelation, 0.5 % on average and 7.6 % at most exceed the limit.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.metrics.uncertainty.within_run import describe_epochs
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "T125", Severity.NOTE, standings=("closed", "open"), added="1.8.0", statistical=True
)

MAX_DRIFT_PERCENT = 0.5


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    requests = bundle.request_set
    # At an arrival rate, the load fixes the throughput of an epoch.
    if bundle.figures is None or (requests is not None and requests.rate_per_s is not None):
        return
    # The seed decides how long a training is.
    if bundle.target:
        return
    within_run = describe_epochs(bundle.figures)
    for name, series in (
        ("items_per_s_per_accelerator", within_run.items_per_s),
        ("joules_per_item", within_run.joules_per_item),
    ):
        drift = series.drift if series else None
        if drift is not None and drift.least_percent > MAX_DRIFT_PERCENT:
            yield Violation(
                RESULT,
                f"/headline/{name}",
                f"{drift} from the first to the last scored epoch",
                f"a drift whose interval reaches {MAX_DRIFT_PERCENT:g} % or less",
            )
