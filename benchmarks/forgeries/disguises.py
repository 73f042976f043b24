"""Copies of the readings of one accelerator in a disguise, and whether X112 recognises them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from forgeries.readings import STEP_W, Floats, make_bundle

from rules.copies import noise
from rules.fingerprints import select_readings, take_noise
from rules.registry import rules_by_id
from rules.rule import RoundRule
from rules.run_summary import RunSummary, summarize
from rules.testing.frames import EvidenceFrames

MAX_EXHAUSTIVE = noise.MAX_EXHAUSTIVE

DISGUISES: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "as it is": lambda power_w, random: power_w,
    "1 % lower": lambda power_w, random: power_w * 0.99,
    "the second half": lambda power_w, random: power_w[len(power_w) // 2 :],
    "a step of the sensor up, down or neither": lambda power_w, random: (
        power_w + random.integers(-1, 2, len(power_w)) * STEP_W
    ),
    **{
        f"{jitter_w} W of jitter": lambda power_w, random, jitter_w=jitter_w: (
            power_w + random.normal(0, jitter_w, len(power_w))
        )
        for jitter_w in (1, 2, 5, 20)
    },
    "every hundredth reading left out": lambda power_w, random: np.delete(
        power_w, np.arange(99, len(power_w), 100)
    ),
}


def render_disguises(evidences: Sequence[EvidenceFrames]) -> str:
    """For how many accelerators X112 recognises a disguised copy, in a small round and in one that
    is too large to compare all pairs."""
    readings = [
        (summary, power_w)
        for bundle in map(make_bundle, evidences)
        if (summary := summarize(bundle)) is not None
        for power_w in select_readings(bundle)
    ]
    lines = [
        "| copy of one accelerator's readings | small round | large round |",
        "|---|---|---|",
    ]
    for name, disguise in DISGUISES.items():
        cells = []
        for noise.MAX_EXHAUSTIVE in (MAX_EXHAUSTIVE, 0):
            count = sum(
                is_recognised(
                    summary, power_w, disguise(power_w, np.random.default_rng(3)), salt=number
                )
                for number, (summary, power_w) in enumerate(readings)
            )
            cells.append(f"{count} of {len(readings)}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    noise.MAX_EXHAUSTIVE = MAX_EXHAUSTIVE
    return "\n".join(lines)


def is_recognised(summary: RunSummary, power_w: Floats, copied_w: Floats, salt: int) -> bool:
    """Whether X112 reports a run with the readings `copied_w` beside one with `power_w`."""
    original, copied = (
        replace(
            summary,
            path=Path(name),
            fingerprints=replace(
                summary.fingerprints,
                power_noise=(take_noise(values, salt),),
                duration_noise=(),
            ),
        )
        for name, values in (("original", power_w), ("copy", copied_w))
    )
    rule = rules_by_id()["X112"]
    assert isinstance(rule, RoundRule)
    return bool(list(rule.judge_round([original, copied])))
