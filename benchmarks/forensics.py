"""What the statistics on power readings catch, and how often they speak on real ones.

Takes the measured bundles, forges the readings of each as a careful cheat would, derives everything
else anew, and asks the rules that judge by statistics, with W119, W111 and the rules on energy.
Then asks the same of the bundles as they are: whole, and of every five scored epochs in a row; and
of disguised copies whether X112 knows them again.

python benchmarks/forensics.py [PATH…]          paths below which to look for bundles (default:
submissions/reference)

docs/forensics.md has the tables that it prints.
"""

import argparse
import copy
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.bundles import rederive  # noqa: E402

from rules.bundle import Bundle  # noqa: E402
from rules.bundle_format.files import read_files  # noqa: E402
from rules.checks.across.power_patterns_shared import SHARED  # noqa: E402
from rules.fingerprints import fingerprint_patterns  # noqa: E402
from rules.metrics.power_series import Series, find_patterns, repeat_themselves  # noqa: E402
from rules.registry import rules_by_id  # noqa: E402
from rules.testing.frames import EvidenceFrames, read_frames  # noqa: E402

Floats = NDArray[np.float64]
Power = Callable[[Series, Series, np.random.Generator], Floats]
"""Makes the power under load in W of the first series; the second is that of another run."""

STATISTICAL = [rule for rule in rules_by_id().values() if rule.statistical]
ASKED = [*STATISTICAL, *(rules_by_id()[id] for id in ("W119", "W111", "E103", "E104"))]
STEP_W = 0.322


def main() -> None:
    """Print both tables and the scatter of epochs as Markdown."""
    parser = argparse.ArgumentParser(
        description="What the statistics on power readings catch, and how often they speak on real "
        "ones."
    )
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / "submissions" / "reference"])
    bundles = sorted(
        {
            result.parent
            for path in parser.parse_args().paths
            for result in path.rglob("result.json")
        }
    )
    evidences = [
        evidence
        for path in bundles
        if (evidence := read_frames(read_files(path))[0]) and _is_measured(evidence)
    ]
    print(f"{len(evidences)} measured bundles\n")
    _print_forged(evidences)
    _print_real(evidences)
    _print_disguised(evidences)
    _print_scatter(evidences)


def _is_measured(evidence: EvidenceFrames) -> bool:
    return evidence.result["standing"] != "demo"


def _bundle(evidence: EvidenceFrames) -> Bundle:
    return Bundle(Path("center/system/run"), (), evidence.evidence())


def _speaking(bundle: Bundle) -> set[str]:
    return {rule.id for rule in ASKED if any(True for _ in rule.run(bundle))}


# Forging: all columns by one factor, or the power under load with average and counter derived from
# it.


def scaled(share: float) -> Callable[[EvidenceFrames, EvidenceFrames], None]:
    def forge(evidence: EvidenceFrames, other: EvidenceFrames) -> None:
        for column in ("power_mw", "power_avg_mw", "energy_mj"):
            evidence.samples[column] = (evidence.samples[column] * share).round()

    return forge


def derived(
    power: Power, noise: float = 0.0, keep_counter: bool = False
) -> Callable[[EvidenceFrames, EvidenceFrames], None]:
    """Average and counter follow from the power; `noise`, a share of how it varies, is added to
    them. The mean stays."""

    def forge(evidence: EvidenceFrames, other: EvidenceFrames) -> None:
        random = np.random.default_rng(11)
        donors = _bundle(other).series
        for number, one in enumerate(_bundle(evidence).series):
            made = power(one, donors[number % len(donors)], random)
            if power is not rounded:
                made += one.under_load_w.mean() - made.mean()
            power_w = one.power_w.copy()
            power_w[one.load] = made
            sd = noise * made.std()
            mean_w = (
                np.convolve(power_w, np.ones(10) / 10)[: len(power_w)]
                + random.normal(0, sd, len(power_w)) / 3
            )
            steps = np.diff(one.read_s) * (
                (power_w[1:] + power_w[:-1]) / 2 + random.normal(0, sd, len(power_w) - 1)
            )
            at = one.samples.places
            evidence.samples.loc[at[one.load], "power_mw"] = np.round(power_w[one.load] * 1e3)
            inner = one.load & (np.arange(len(at)) >= 10)
            evidence.samples.loc[at[inner], "power_avg_mw"] = np.round(mean_w[inner] * 1e3)
            if not keep_counter:
                evidence.samples.loc[at, "energy_mj"] = np.round(
                    1e3 * (one.counter_j[0] + np.concatenate(([0.0], np.cumsum(steps))))
                )

    return forge


def gaussian(one: Series, other: Series, random: np.random.Generator) -> Floats:
    return random.normal(0, one.under_load_w.std(), int(one.load.sum()))


def gaussian_on_steps(one: Series, other: Series, random: np.random.Generator) -> Floats:
    return np.round(gaussian(one, other, random) / STEP_W) * STEP_W


def autoregressive(one: Series, other: Series, random: np.random.Generator) -> Floats:
    shocks, made, value = gaussian(one, other, random), [], 0.0
    for shock in shocks:
        value = 0.6 * value + 0.8 * shock
        made.append(value)
    return np.array(made)


def of_another_run(one: Series, other: Series, random: np.random.Generator) -> Floats:
    return np.resize(other.under_load_w, int(one.load.sum())).copy()


def of_another_run_scaled(one: Series, other: Series, random: np.random.Generator) -> Floats:
    return of_another_run(one, other, random) * one.under_load_w.std() / other.under_load_w.std()


def stretched(one: Series, other: Series, random: np.random.Generator) -> Floats:
    count = int(one.load.sum())
    return np.interp(np.arange(count) * 0.97, np.arange(count), one.under_load_w)


def spliced(one: Series, other: Series, random: np.random.Generator) -> Floats:
    made = one.under_load_w.copy()
    half = len(made) // 2
    made[half:] = np.resize(other.under_load_w, len(made) - half)
    return made


def shuffled(one: Series, other: Series, random: np.random.Generator) -> Floats:
    return random.permutation(one.under_load_w)


def smoothed(one: Series, other: Series, random: np.random.Generator) -> Floats:
    return np.convolve(np.pad(one.under_load_w, 2, mode="edge"), np.ones(5) / 5, mode="valid")


def from_one_hertz(one: Series, other: Series, random: np.random.Generator) -> Floats:
    at = np.arange(int(one.load.sum()))
    return np.interp(at, at[::10], one.under_load_w[::10])


def rounded(one: Series, other: Series, random: np.random.Generator) -> Floats:
    return np.round(one.under_load_w)


def first_epoch_again(one: Series, other: Series, random: np.random.Generator) -> Floats:
    made = np.resize(one.under_load_w[:300], int(one.load.sum())).copy()
    return made + random.normal(0, 1, len(made))


FORGERIES: dict[str, Callable[[EvidenceFrames, EvidenceFrames], None]] = {
    "all readings halved": scaled(0.5),
    "all readings 7 % lower": scaled(0.93),
    "mean with Gaussian noise": derived(gaussian),
    "the same with correlated noise": derived(autoregressive),
    "the same on the sensor's steps": derived(gaussian_on_steps),
    "the same, average and counter with noise of their own": derived(gaussian_on_steps, noise=0.7),
    "of another run": derived(of_another_run, noise=0.7),
    "of another run, scaled": derived(of_another_run_scaled, noise=0.7),
    "own, stretched in time by 3 %": derived(stretched, noise=0.7),
    "half own, half of another run": derived(spliced, noise=0.7),
    "own, shuffled, counter kept": derived(shuffled, noise=0.7, keep_counter=True),
    "own, smoothed over 5": derived(smoothed, noise=0.7, keep_counter=True),
    "own, interpolated from 1 Hz": derived(from_one_hertz, noise=0.7),
    "own, rounded to watts": derived(rounded, noise=0.7),
    "first 30 s over and over, with 1 W of jitter": derived(first_epoch_again, noise=0.7),
}


def _print_forged(evidences: Sequence[EvidenceFrames]) -> None:
    print("| forgery | " + " | ".join(rule.id for rule in ASKED) + " | any |")
    print("|---" * (len(ASKED) + 2) + "|")
    for name, forge in FORGERIES.items():
        spoken: Counter[str] = Counter()
        for number, evidence in enumerate(evidences):
            forged = copy.deepcopy(evidence)
            forge(forged, evidences[(number + 1) % len(evidences)])
            rederive(forged)
            rules = _speaking(_bundle(forged))
            spoken.update([*rules, *(["any"] if rules else [])])
        shown = [str(spoken[rule.id] or "") for rule in ASKED]
        print(f"| {name} | {' | '.join(shown)} | {spoken['any']} of {len(evidences)} |")


def _print_real(evidences: Sequence[EvidenceFrames]) -> None:
    print("\n| real readings | cases | " + " | ".join(rule.id for rule in ASKED) + " |")
    print("|---" * (len(ASKED) + 2) + "|")
    kinds = {"whole runs, each accelerator": _whole, "every five scored epochs in a row": _fives}
    for name, parts in kinds.items():
        cases, spoken = 0, Counter[str]()
        for evidence in evidences:
            for bundle in parts(evidence):
                cases += len(bundle.series)
                spoken.update({rule.id: sum(1 for _ in rule.run(bundle)) for rule in ASKED})
        print(f"| {name} | {cases} | {' | '.join(str(spoken[rule.id]) for rule in ASKED)} |")


def _whole(evidence: EvidenceFrames) -> Iterator[Bundle]:
    yield _bundle(evidence)


def _fives(evidence: EvidenceFrames) -> Iterator[Bundle]:
    for first in range(1, int(evidence.batches["epoch"].max()) - 3):
        part = copy.copy(evidence)
        part.batches = evidence.batches[evidence.batches["epoch"].between(first, first + 4)]
        yield _bundle(part)


DISGUISES: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "as it is": lambda power_w, random: power_w,
    "1 % lower": lambda power_w, random: power_w * 0.99,
    "the second half": lambda power_w, random: power_w[len(power_w) // 2 :],
    "a step of the sensor up, down or neither": lambda power_w, random: (
        power_w + random.integers(-1, 2, len(power_w)) * STEP_W
    ),
    "1 W of jitter": lambda power_w, random: power_w + random.normal(0, 1, len(power_w)),
    "2 W of jitter": lambda power_w, random: power_w + random.normal(0, 2, len(power_w)),
    "5 W of jitter": lambda power_w, random: power_w + random.normal(0, 5, len(power_w)),
    "every hundredth reading left out": lambda power_w, random: np.delete(
        power_w, np.arange(99, len(power_w), 100)
    ),
}


def _print_disguised(evidences: Sequence[EvidenceFrames]) -> None:
    """Of how many accelerators X112 knows a copy again, and which patterns two have in common
    anyway."""
    series = [one.usable_w for evidence in evidences for one in _bundle(evidence).series]
    print("\n| copy of one accelerator's readings | known again by X112 |\n|---|---|")
    for name, disguise in DISGUISES.items():
        shared = [len(_few(own) & _few(disguise(own, np.random.default_rng(3)))) for own in series]
        print(f"| {name} | {sum(count >= SHARED for count in shared)} of {len(series)} |")
    patterns = np.concatenate([find_patterns(own) for own in series])
    patterns = patterns[~repeat_themselves(patterns)]
    print(
        f"\nOf {len(patterns)} patterns of {len(series)} accelerators "
        f"{len(patterns) - len(np.unique(patterns))} are there twice."
    )


def _few(power_w: Floats) -> frozenset[int]:
    return fingerprint_patterns(find_patterns(power_w))


def _print_scatter(evidences: Sequence[EvidenceFrames]) -> None:
    """How far epochs are from a smooth drift, a parabola, as a share of how far they are from their
    mean (X109)."""
    shares = []
    for evidence in evidences:
        scored = [e["figures"] for e in evidence.result["epochs"] if e["scored"]]
        for name in ("items_per_s_per_accelerator", "mean_power_w_per_accelerator"):
            values = np.array([figures[name] for figures in scored])
            at = np.arange(len(values))
            shares.append(
                float(np.std(values - np.polyval(np.polyfit(at, values, 2), at)) / values.std())
            )
    print(
        f"\nScatter of epochs beside a smooth drift: {min(shares):.0%} to "
        f"{max(shares):.0%} of all their scatter."
    )


if __name__ == "__main__":
    main()
