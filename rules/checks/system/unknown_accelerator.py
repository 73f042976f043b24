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

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT, SAMPLES
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import first_accelerator, joined, of_first

RULE = Rule("M101", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    readbacks = [r["accelerator"] for r in bundle.result["readbacks"]]
    named = (
        (RESULT, "/ranks", bundle.accelerator_ranks),
        (RESULT, "/readbacks", readbacks),
        (SAMPLES, "", bundle.samples_of),
    )
    for file, pointer, names in named:
        for name in dict.fromkeys(names):
            if name not in bundle.accelerators:
                yield Found(
                    file,
                    pointer,
                    name,
                    f"one of system.json: {', '.join(list(bundle.accelerators)[:8])}",
                    "Which board this is, is not known. List it in system.json.",
                )


@RULE.mutation("M102")
def another_uuid_in_the_system(evidence: Evidence) -> None:
    for node in evidence.system["nodes"]:
        for accelerator in node["accelerators"]:
            if accelerator["uuid"] == first_accelerator(evidence):
                accelerator["uuid"] = "GPU-99999999-9999-9999-9999-999999999999"


@RULE.mutation("M102")
def samples_of_a_board_that_is_not_listed(evidence: Evidence) -> None:
    more = evidence.samples[of_first(evidence)].copy()
    more["accelerator"] = "GPU-99999999-9999-9999-9999-999999999999"
    evidence.samples = joined(evidence.samples, more)
