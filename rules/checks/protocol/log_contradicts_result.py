"""A log that tells of another run

## What it does
Reads from log.txt.gz the lines that `bench-submit` itself writes, where they are there: workload,
variant, number of accelerators and cap at the beginning, the precision that a rank was built in,
the size of the batches, and the throughput of each epoch. It compares the last of each with
result.json and batches.csv.gz; the throughput of an epoch there is its items over the time from its
first to its last batch, and may differ by half a percent. Of runs over several nodes, each of which
tells of itself, number of accelerators and throughput are left out. What workers print is not read,
and a log without such lines says nothing.

## Why it is bad
Log and result are written by one process. Where they differ, one of them was edited or is another
run's: a tuned run sold as a baseline, a lower cap, epochs taken from a better run. It is a warning,
because a log is text for people.

## What to do
Hand in the log that the run wrote, or run again.

## Source
Bundle format, log.txt.gz; `harness/run/session.py`.
"""

import re
from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import LOG_FILE
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P122", Severity.WARNING, added="1.3.0")

OWN = re.compile(
    r"(?:\d\d:\d\d:\d\d )?(?:"
    r"(?P<workload>[\w-]+) (?P<variant>[\w-]+), [\w -]+, "
    r"(?:\d+ nodes of )?(?P<accelerators>\d+) x [^,]+, "
    r"(?P<cap>no cap|cap [\d.]+ W)(?: as found|, set for this run \(found [^)]*\))?, meter [\w:-]+"
    r"|rank \d+: built in \d+ s on [\w, :-]+, (?P<precision>\w+)"
    r"|\d+ batches of (?P<batch_size>\d+) an epoch, .*"
    r"|epoch +(?P<epoch>\d+) +[\d.]+ s +(?P<rate>[\d.]+) \w+/s .*"
    r")",
    re.ASCII,
)
"""A line that the harness writes of its own run."""
RATE_TOLERANCE, ROUNDED_TO = 0.005, 0.01


LONGEST_LINE = 1000


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    result = bundle.result
    settings, implementation, cap_w = (
        result["settings"],
        result["implementation"],
        result["power"]["cap_w"],
    )
    told, rates = _told(bundle.log)
    if settings["nodes"] > 1:  # each tells of itself
        told.pop("accelerators", None)
        rates.clear()
    stated = {
        "workload": result["workload"],
        "variant": implementation["variant"],
        "precision": implementation["precision"],
        "accelerators": str(settings["accelerators"]),
        "cap": "no cap" if cap_w is None else f"cap {cap_w:g} W",
        "batch_size": str(settings["batch_size"]),
    }
    for name, value in stated.items():
        if told.get(name, value) != value:
            yield _found(
                f"{name.replace('_', ' ')}: {told[name][:80]}", f"{value}, as in result.json"
            )
    for epoch, rate in rates.items():
        spans = [span for (number, _), span in bundle.spans.items() if number == epoch]
        if spans:
            seconds = (max(end for _, end in spans) - min(start for start, _ in spans)) / 1e9
            items = int(bundle.batches.ints("items")[bundle.batches.ints("epoch") == epoch].sum())
            if seconds > 0 and abs(rate - items / seconds) > RATE_TOLERANCE * rate + ROUNDED_TO:
                yield _found(
                    f"epoch {epoch}: {rate:g} items/s",
                    f"{items / seconds:.2f} items/s, by batches.csv.gz",
                )


def _told(log: str) -> tuple[dict[str, str], dict[int, float]]:
    """What the harness's own lines say last, by name, and the throughput of each epoch."""
    told: dict[str, str] = {}
    rates: dict[int, float] = {}
    for line in log.splitlines():
        if len(line) <= LONGEST_LINE and (match := OWN.fullmatch(line)):
            said = {name: value for name, value in match.groupdict().items() if value is not None}
            if "rate" in said and len(said["epoch"]) < 4 and said["rate"].count(".") < 2:
                rates[int(said["epoch"])] = float(said["rate"])
            told |= said
    return told, rates


def _found(found: str, expected: str) -> Violation:
    message = (
        "Log and result tell of different runs. Hand in those of one run, as they were written."
    )
    return Violation(LOG_FILE, "", found, expected, message)
