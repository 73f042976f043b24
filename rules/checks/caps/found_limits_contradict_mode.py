"""Limits found before the run that do not fit how its cap came about

## What it does
Where the cap was set for the run (`power.mode` is `set`), asks for the limit that each accelerator
of the run had before, and for no other accelerator's. Where the cap was as found, there must be
none.

## Why it is bad
Who sets a cap has to put the found one back. Without a record of it nobody can tell that this was
done, and what the next user of the board got.

## What to do
Hand in what `bench-submit` wrote.

## Source
Protocol, section "caps".
"""

from collections.abc import Iterator

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import first_accelerator

RULE = Rule("C110", Severity.ERROR, added="1.2.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    power = bundle.result["power"]
    found_of = set(power.get("found_mw") or ())
    wanted = set(bundle.accelerator_ranks) if power["mode"] == "set" else set()
    if found_of != wanted:
        yield Found(
            RESULT,
            "/power/found_mw",
            f"limits of {', '.join(sorted(found_of)) or 'no accelerator'}, mode {power['mode']}",
            f"one for each of {', '.join(sorted(wanted))}"
            if wanted
            else "none, since no cap was set",
            "What the run found and what it set do not fit together. Hand in what "
            "bench-submit wrote.",
        )


def _set(evidence: Evidence) -> None:
    accelerators = [uuid for rank in evidence.result["ranks"] for uuid in rank["accelerators"]]
    evidence.result["power"].update(mode="set", found_mw=dict.fromkeys(accelerators, 650_000))


@RULE.mutation()
def set_without_what_was_found(evidence: Evidence) -> None:
    evidence.result["power"]["mode"] = "set"


@RULE.mutation()
def found_limits_of_a_cap_that_was_not_set(evidence: Evidence) -> None:
    _set(evidence)
    evidence.result["power"]["mode"] = "as-found"


@RULE.mutation()
def found_limit_of_another_board(evidence: Evidence) -> None:
    _set(evidence)
    evidence.result["power"]["found_mw"]["GPU-00000000-0000-0000-0000-000000000000"] = 700_000


@RULE.mutation()
def one_board_missing(evidence: Evidence) -> None:
    _set(evidence)
    found = evidence.result["power"]["found_mw"]
    del found[first_accelerator(evidence)]
    found.setdefault("GPU-00000000-0000-0000-0000-000000000000", 700_000)
