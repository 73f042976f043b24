"""Serving without its requests

## What it does
Asks that the bundle of a serving run has requests.csv.gz, the request set in `settings.requests`,
the figures of its users in `serving` and the token counts in `tally`, and that a training run has
none of them.

## Why it is bad
Without the requests nobody can recompute how long a user waits, nor see that the declared load was
there.

## What to do
Hand in the files as the run left them, or run again.

## Source
Protocol, section "serving"; bundle format.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import REQUESTS_FILE
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.workloads import workloads

RULE = BundleRule(__name__, "P115", Severity.ERROR, added="1.1.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    workload = workloads().get(bundle.result["workload"])
    if workload is None:
        return
    serves = workload.mode == "inference"
    there = {
        (REQUESTS_FILE, ""): bundle.requests is not None,
        (RESULT, "/settings/requests"): bundle.result["settings"].get("requests") is not None,
        (RESULT, "/serving"): bundle.result.get("serving") is not None,
        (RESULT, "/tally"): bundle.result.get("tally") is not None,
    }
    for (file, pointer), is_there in there.items():
        if is_there != serves:
            found, expected = (
                ("nothing", "requests and what they gave") if serves else ("requests", "nothing")
            )
            message = (
                f"{workload.title} {'serves requests' if serves else 'serves none'}. Leave the "
                "bundle as the run wrote it."
            )
            yield Violation(file, pointer, found, expected, message)
