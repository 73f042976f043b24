"""Other processes on the accelerator

## What it does
Looks in the readbacks for processes on an accelerator that are not the run's.

## Why it is bad
They take time, memory and energy. Their energy is counted, their work is not; and the run cannot be
repeated.

## What to do
Reserve the whole node and run again. `nvidia-smi` or `amd-smi process` lists the processes.

## Source
Protocol, section "invalid".
"""

from collections.abc import Iterator

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT
from rules.rule import Bundle, Found, Rule, Severity

RULE = Rule("M103", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    for place, readback in enumerate(bundle.result["readbacks"]):
        if readback["foreign_processes"]:
            yield Found(
                RESULT,
                f"/readbacks/{place}/foreign_processes",
                f"{readback['foreign_processes']} on {readback['accelerator']} "
                f"({readback['when']})",
                "0",
                "The accelerator was shared. Reserve it and run again.",
            )


@RULE.mutation()
def neighbour_during_an_epoch(evidence: Evidence) -> None:
    next(r for r in evidence.result["readbacks"] if r["when"] == "epoch-3")["foreign_processes"] = 1


@RULE.mutation()
def neighbour_all_the_time(evidence: Evidence) -> None:
    for readback in evidence.result["readbacks"]:
        readback["foreign_processes"] = 2
