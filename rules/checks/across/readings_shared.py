"""Two bundles with the same readings

## What it does
Compares fingerprints of the readings of all bundles that are checked together: sequences of 32
power readings under load, to the milliwatt, and of 32 delays, to the nanosecond, from when a
reading was due to when it was made; each with at least eight different values. It does not matter
when they were taken, on which accelerator, or under what name the runs stand. Each series is stood
for by its 16 smallest fingerprints, so a copy of a tenth of a run is mostly found, and one of half
of it always.

It speaks of every bundle that has such readings, but for withdrawn ones: which of them is the copy,
the readings do not tell.

## Why it is bad
Noise does not repeat. One of the runs was not made, or not so.

## What to do
Withdraw the copy. A bundle that was accepted before the other one came is not refused for it: there
this is a note. Where neither was, and another center has copied yours, tell the reviewer, who can
waive this for the one that was measured.

## Source
None: with eight different values among 32 readings a repetition by chance is out of the question.
Keeping the smallest of the fingerprints follows Broder, On the Resemblance and Containment of
Documents, 1997.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import SAMPLES
from rules.rule import Found, Rule, Severity
from rules.run_summary import Digest, sharing
from rules.testing.mutations import under_load

RULE = Rule("X102", Severity.ERROR, added="1.3.0", sees_withdrawn=True, waivable=False)


@RULE.across
def across(digests: Sequence[Digest]) -> Iterator[tuple[Path, Found]]:
    for run, other, count in sharing(digests, lambda d: d.readings):
        yield (
            run.path,
            Found(
                SAMPLES,
                "",
                f"{count} of {len(run.readings)} fingerprints of the power readings are "
                f"those of {other.name}",
                "readings that were each taken once",
                "Noise does not repeat to the milliwatt: one of the two series was copied. "
                "Withdraw the copy.",
            ),
        )
    for run, other, count in sharing(digests, lambda d: d.delays):
        found = (
            f"{count} of {len(run.delays)} fingerprints of the delays of readings are those of "
            f"{other.name}"
        )
        message = (
            "No two samplers are late alike to the nanosecond: one of the two series was "
            "copied. Withdraw the copy."
        )
        yield run.path, Found(SAMPLES, "", found, "readings that were each taken once", message)


def _copy(target: Evidence, source: Evidence, share: float = 1.0, later: int = 0) -> None:
    """Give the first `share` of the readings under load to the other run, `later` so many
    samples."""
    given, taken = (np.flatnonzero(under_load(evidence)) for evidence in (source, target))
    count = int(share * min(len(given), len(taken))) - later
    for column in ("power_mw", "power_avg_mw"):
        values = source.samples.loc[given[:count], column].to_numpy()
        target.samples.loc[taken[later : later + count], column] = values


@RULE.pairing(both=True)
def times_of_the_readings_kept_where_power_was_altered(run: Evidence, other: Evidence) -> None:
    """Both begin at other times, as their batches do; how late each reading was is that of the
    other run."""
    count = min(len(run.samples), len(other.samples))
    late_ns = (other.samples["read_ns"] - other.samples["scheduled_ns"]).to_numpy()[:count]
    run.samples.loc[: count - 1, "read_ns"] = (
        run.samples["scheduled_ns"].to_numpy()[:count] + late_ns
    )


@RULE.pairing("X112", both=True)
def readings_copied_from_another_run(run: Evidence, other: Evidence) -> None:
    _copy(run, other)


@RULE.pairing("X112", both=True)
def half_of_the_readings_copied_and_shifted_in_time(run: Evidence, other: Evidence) -> None:
    _copy(run, other, share=0.5, later=7)


@RULE.pairing("X112", both=True)
def readings_copied_under_another_uuid(run: Evidence, other: Evidence) -> None:
    _copy(run, other)
    own = run.result["ranks"][0]["accelerators"][0]
    renamed = own[:-1] + ("0" if own[-1] != "0" else "1")
    run.samples["accelerator"] = run.samples["accelerator"].replace(own, renamed)
    run.result, run.system = (
        json.loads(json.dumps(document).replace(own, renamed))
        for document in (run.result, run.system)
    )
