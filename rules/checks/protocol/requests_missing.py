"""The requests of a serving run are missing

## What it does
Checks that the bundle of a serving run has requests.csv.gz, the request set in `settings.requests`,
the serving figures in `serving` and the token counts in `tally`, and that a training run has none
of them.

## Why it is bad
Without the requests nobody can recompute the latencies, or verify that the declared load was
present.

## What to do
Submit the files as the run wrote them, or run again.

## Source
Protocol, section "serving"; bundle format.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import REQUESTS_FILE
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P115", Severity.ERROR, added="1.1.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    workload = bundle.workload
    # T108 reports an unknown workload, and only the workload tells whether it serves.
    if workload is None:
        return
    serves = workload.mode == "inference"
    present = {
        (REQUESTS_FILE, ""): bundle.requests is not None,
        (RESULT, "/settings/requests"): bundle.request_set is not None,
        (RESULT, "/serving"): bundle.result.get("serving") is not None,
        (RESULT, "/tally"): bundle.declaration.tally is not None,
    }
    for (file, pointer), is_present in present.items():
        if is_present != serves:
            yield Violation(
                file,
                pointer,
                "present" if is_present else "missing",
                f"{'present' if serves else 'missing'}, because {workload.title} "
                f"{'serves' if serves else 'does not serve'} requests",
            )
