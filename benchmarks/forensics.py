"""Which forgeries the statistical rules on power find, and how often they report real readings.

The script takes the measured bundles, forges the readings of each as a careful cheat would, derives
all other figures again and runs the statistical rules, W119, W111 and the rules on energy. It runs
the same rules on the unaltered bundles, on whole runs and on every five consecutive scored epochs.
It also tests whether X112 recognises disguised copies.

python benchmarks/forensics.py [PATH…]          paths below which to look for bundles (default:
submissions/reference)

docs/forensics.md has the tables that it prints.
"""

import argparse
import copy
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.bundles import rederive  # noqa: E402

from rules.bundle import Bundle  # noqa: E402
from rules.bundle_format.files import read_files  # noqa: E402
from rules.copies import noise  # noqa: E402
from rules.fingerprints import select_readings, take_noise  # noqa: E402
from rules.metrics.power_series import Series, find_patterns, repeat_themselves  # noqa: E402
from rules.registry import rules_by_id  # noqa: E402
from rules.run_summary import RunSummary, summarize  # noqa: E402
from rules.testing.frames import EvidenceFrames, read_frames  # noqa: E402

Floats = NDArray[np.float64]
Power = Callable[[Series, Series, np.random.Generator], Floats]
"""Makes the power under load in W of the first series. The second series is of another run."""

STATISTICAL = [rule for rule in rules_by_id().values() if rule.statistical]
RULES = [*STATISTICAL, *(rules_by_id()[id] for id in ("W119", "W111", "E103", "E104"))]
STEP_W = 0.322
MAX_EXHAUSTIVE = noise.MAX_EXHAUSTIVE


def main() -> None:
    """Print both tables and the scatter of epochs as Markdown."""
    parser = argparse.ArgumentParser(
        description="Which forgeries the statistical rules on power readings find, and how often "
        "they report real ones."
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
        if (evidence := read_frames(read_files(path))[0]) and is_measured(evidence)
    ]
    print(f"{len(evidences)} measured bundles\n")
    print_forgeries(evidences)
    print_false_alarms(evidences)
    print_disguises(evidences)
    print_scatter(evidences)


def is_measured(evidence: EvidenceFrames) -> bool:
    return evidence.result["standing"] != "demo"


def make_bundle(evidence: EvidenceFrames) -> Bundle:
    return Bundle(Path("center/system/run"), (), evidence.evidence())


def list_reporting_rules(bundle: Bundle) -> set[str]:
    return {rule.id for rule in RULES if any(True for _ in rule.run(bundle))}


# A forgery scales all columns by one factor, or replaces the power under load and derives average
# and counter from it.


def make_scaling(share: float) -> Callable[[EvidenceFrames, EvidenceFrames], None]:
    def forge(evidence: EvidenceFrames, other_run: EvidenceFrames) -> None:
        for column in ("power_mw", "power_avg_mw", "energy_mj"):
            evidence.samples[column] = (evidence.samples[column] * share).round()

    return forge


def make_derivation(
    power: Power, noise: float = 0.0, keep_counter: bool = False
) -> Callable[[EvidenceFrames, EvidenceFrames], None]:
    """Make a forgery with the power of `power`, scaled to the real mean. Average and counter are
    derived from it with Gaussian noise of `noise` times its standard deviation."""

    def forge(evidence: EvidenceFrames, other_run: EvidenceFrames) -> None:
        random = np.random.default_rng(11)
        donors = make_bundle(other_run).series
        for number, series in enumerate(make_bundle(evidence).series):
            forged_w = power(series, donors[number % len(donors)], random)
            if power is not round_readings:
                forged_w += series.under_load_w.mean() - forged_w.mean()
            power_w = series.power_w.copy()
            power_w[series.load] = forged_w
            sd = noise * forged_w.std()
            mean_w = (
                np.convolve(power_w, np.ones(10) / 10)[: len(power_w)]
                + random.normal(0, sd, len(power_w)) / 3
            )
            steps_j = np.diff(series.read_s) * (
                (power_w[1:] + power_w[:-1]) / 2 + random.normal(0, sd, len(power_w) - 1)
            )
            rows = series.samples.places
            evidence.samples.loc[rows[series.load], "power_mw"] = np.round(
                power_w[series.load] * 1e3
            )
            inner = series.load & (np.arange(len(rows)) >= 10)
            evidence.samples.loc[rows[inner], "power_avg_mw"] = np.round(mean_w[inner] * 1e3)
            if not keep_counter:
                evidence.samples.loc[rows, "energy_mj"] = np.round(
                    1e3 * (series.counter_j[0] + np.concatenate(([0.0], np.cumsum(steps_j))))
                )

    return forge


def draw_gaussian(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    return random.normal(0, series.under_load_w.std(), int(series.load.sum()))


def draw_gaussian_on_steps(
    series: Series, other_series: Series, random: np.random.Generator
) -> Floats:
    return np.round(draw_gaussian(series, other_series, random) / STEP_W) * STEP_W


def draw_autoregressive(
    series: Series, other_series: Series, random: np.random.Generator
) -> Floats:
    shocks, noise_w, value = draw_gaussian(series, other_series, random), [], 0.0
    for shock in shocks:
        value = 0.6 * value + 0.8 * shock
        noise_w.append(value)
    return np.array(noise_w)


def copy_other_run(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    return np.resize(other_series.under_load_w, int(series.load.sum())).copy()


def scale_other_run(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    return (
        copy_other_run(series, other_series, random)
        * series.under_load_w.std()
        / other_series.under_load_w.std()
    )


def stretch_readings(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    count = int(series.load.sum())
    return np.interp(np.arange(count) * 0.97, np.arange(count), series.under_load_w)


def splice_readings(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    spliced_w = series.under_load_w.copy()
    middle = len(spliced_w) // 2
    spliced_w[middle:] = np.resize(other_series.under_load_w, len(spliced_w) - middle)
    return spliced_w


def shuffle_readings(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    return random.permutation(series.under_load_w)


def smooth_readings(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    return np.convolve(np.pad(series.under_load_w, 2, mode="edge"), np.ones(5) / 5, mode="valid")


def interpolate_from_one_hertz(
    series: Series, other_series: Series, random: np.random.Generator
) -> Floats:
    places = np.arange(int(series.load.sum()))
    return np.interp(places, places[::10], series.under_load_w[::10])


def round_readings(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    return np.round(series.under_load_w)


def repeat_first_epoch(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    repeated_w = np.resize(series.under_load_w[:300], int(series.load.sum())).copy()
    return repeated_w + random.normal(0, 1, len(repeated_w))


FORGERIES: dict[str, Callable[[EvidenceFrames, EvidenceFrames], None]] = {
    "all readings halved": make_scaling(0.5),
    "all readings 7 % lower": make_scaling(0.93),
    "mean with Gaussian noise": make_derivation(draw_gaussian),
    "the same with correlated noise": make_derivation(draw_autoregressive),
    "the same on the sensor's steps": make_derivation(draw_gaussian_on_steps),
    "the same, average and counter with noise of their own": make_derivation(
        draw_gaussian_on_steps, noise=0.7
    ),
    "of another run": make_derivation(copy_other_run, noise=0.7),
    "of another run, scaled": make_derivation(scale_other_run, noise=0.7),
    "own, stretched in time by 3 %": make_derivation(stretch_readings, noise=0.7),
    "half own, half of another run": make_derivation(splice_readings, noise=0.7),
    "own, shuffled, counter kept": make_derivation(shuffle_readings, noise=0.7, keep_counter=True),
    "own, smoothed over 5": make_derivation(smooth_readings, noise=0.7, keep_counter=True),
    "own, interpolated from 1 Hz": make_derivation(interpolate_from_one_hertz, noise=0.7),
    "own, rounded to watts": make_derivation(round_readings, noise=0.7),
    "first 30 s over and over, with 1 W of jitter": make_derivation(repeat_first_epoch, noise=0.7),
}


def print_forgeries(evidences: Sequence[EvidenceFrames]) -> None:
    print("| forgery | " + " | ".join(rule.id for rule in RULES) + " | any |")
    print("|---" * (len(RULES) + 2) + "|")
    for name, forge in FORGERIES.items():
        reports: Counter[str] = Counter()
        for number, evidence in enumerate(evidences):
            forgery = copy.deepcopy(evidence)
            forge(forgery, evidences[(number + 1) % len(evidences)])
            rederive(forgery)
            rules = list_reporting_rules(make_bundle(forgery))
            reports.update([*rules, *(["any"] if rules else [])])
        cells = [str(reports[rule.id] or "") for rule in RULES]
        print(f"| {name} | {' | '.join(cells)} | {reports['any']} of {len(evidences)} |")


def print_false_alarms(evidences: Sequence[EvidenceFrames]) -> None:
    print("\n| real readings | cases | " + " | ".join(rule.id for rule in RULES) + " |")
    print("|---" * (len(RULES) + 2) + "|")
    selections = {
        "whole runs, each accelerator": take_whole,
        "every five scored epochs in a row": take_five_epochs,
    }
    for name, select_bundles in selections.items():
        cases, reports = 0, Counter[str]()
        for evidence in evidences:
            for bundle in select_bundles(evidence):
                cases += len(bundle.series)
                reports.update({rule.id: sum(1 for _ in rule.run(bundle)) for rule in RULES})
        print(f"| {name} | {cases} | {' | '.join(str(reports[rule.id]) for rule in RULES)} |")


def take_whole(evidence: EvidenceFrames) -> Iterator[Bundle]:
    yield make_bundle(evidence)


def take_five_epochs(evidence: EvidenceFrames) -> Iterator[Bundle]:
    for first_epoch in range(1, int(evidence.batches["epoch"].max()) - 3):
        excerpt = copy.copy(evidence)
        excerpt.batches = evidence.batches[
            evidence.batches["epoch"].between(first_epoch, first_epoch + 4)
        ]
        yield make_bundle(excerpt)


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


def print_disguises(evidences: Sequence[EvidenceFrames]) -> None:
    """Print for how many accelerators X112 recognises a disguised copy, in a small round and in one
    that is too large to compare all pairs, and how many patterns two accelerators share."""
    bundles = [make_bundle(evidence) for evidence in evidences]
    readings = [
        (summary, power_w)
        for bundle in bundles
        if (summary := summarize(bundle)) is not None
        for power_w in select_readings(bundle)
    ]
    print("\n| copy of one accelerator's readings | small round | large round |\n|---|---|---|")
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
        print(f"| {name} | {' | '.join(cells)} |")
    patterns = np.concatenate([find_patterns(power_w) for _, power_w in readings])
    patterns = patterns[~repeat_themselves(patterns)]
    print(
        f"\nOf {len(patterns)} patterns of {len(readings)} accelerators "
        f"{len(patterns) - len(np.unique(patterns))} are there twice."
    )


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
    return bool(list(rules_by_id()["X112"].judge_round([original, copied])))


def print_scatter(evidences: Sequence[EvidenceFrames]) -> None:
    """Print the scatter of epochs about a parabola, a smooth drift, as a share of their scatter
    about the mean (X109)."""
    shares = []
    for evidence in evidences:
        scored = [e["figures"] for e in evidence.result["epochs"] if e["scored"]]
        for name in ("items_per_s_per_accelerator", "mean_power_w_per_accelerator"):
            values = np.array([figures[name] for figures in scored])
            places = np.arange(len(values))
            shares.append(
                float(
                    np.std(values - np.polyval(np.polyfit(places, values, 2), places))
                    / values.std()
                )
            )
    print(
        f"\nScatter of epochs beside a smooth drift: {min(shares):.0%} to "
        f"{max(shares):.0%} of all their scatter."
    )


if __name__ == "__main__":
    main()
