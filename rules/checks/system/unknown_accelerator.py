"""An accelerator that system.json does not have

## What it does
Looks up the accelerators of ranks, samples and readbacks among those of system.json.

## Why it is bad
Which board it is, and so its peak and its limits, is not known; and the system has more boards than
it says.

## What to do
List every accelerator of the run in system.json, by the UUID that the driver gives.

## Source
Bundle format, system.json.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M101", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    readbacks = [r["accelerator"] for r in bundle.result["readbacks"]]
    named = (
        (RESULT, "/ranks", bundle.accelerator_ranks),
        (RESULT, "/readbacks", readbacks),
        (SAMPLES, "", bundle.samples_of),
    )
    for file, pointer, names in named:
        for name in dict.fromkeys(names):
            if name not in bundle.accelerators:
                yield Violation(
                    file,
                    pointer,
                    name,
                    f"one of system.json: {', '.join(list(bundle.accelerators)[:8])}",
                    "Which board this is, is not known. List it in system.json.",
                )
