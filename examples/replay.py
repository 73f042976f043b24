"""Recompute the headline figures of all runs below a directory, with nothing of wattmark.

    python examples/replay.py submissions

By docs/measurement.md it integrates power and counter over the batches, and compares every headline
figure and interval with result.json. The exit status is 1 if one differs by more than 1e-9 of its
value. Only the energy of record and the FLOPs of an item over the peak come from result.json.
"""

import csv
import gzip
import json
import math
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

# 97.5 % quantiles of Student's t by degrees of freedom, to the three decimals of the rule book.
T95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179]


def main() -> None:
    """Print the largest relative difference of each run, and of all."""
    worst = {}
    for path in sorted(Path(sys.argv[1]).rglob("result.json")):
        result = json.loads(path.read_text())
        if "ranks" in result:  # A study of image models has no batches.
            stated, own = (dict(flatten(h)) for h in (result["headline"], replay(path, result)))
            differences = [abs(own.get(name, 0) / stated[name] - 1) for name in stated]
            worst[path] = max(differences) if own.keys() <= stated.keys() else math.inf
            print(f"{worst[path]:8.1e}  {path.parent}")
    largest = max(worst.values(), default=math.inf)
    print(f"{largest:8.1e}  the largest relative difference of {len(worst)} runs")
    sys.exit(largest > 1e-9)


def flatten(value, name=""):
    """The numbers in nested JSON, each with the path to it."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from flatten(item, f"{name}/{key}")
    elif value is not None:
        yield name, value


def replay(path: Path, result: dict) -> dict:
    """The headline from the tables beside result.json."""
    book = tuple(map(int, result["rules_version"].split(".")))
    samples, batches = (read_table(path.with_name(f"{t}.csv.gz")) for t in ("samples", "batches"))
    parts = defaultdict(list)
    for rank in result["ranks"]:
        of_rank = batches["rank"] == str(rank["rank"])
        own_batches = {name: numbers(values[of_rank]) for name, values in batches.items()}
        for accelerator in rank["accelerators"]:
            of_board = {k: v[samples["accelerator"] == accelerator] for k, v in samples.items()}
            for epoch, *part in integrate(of_board, own_batches, book):
                parts[epoch].append((rank["rank"], *part))
    scored = [epoch for epoch in result["epochs"] if epoch["scored"]]
    first, by_counter = scored[0]["figures"], result["energy_of_record"] == "counter"
    mfu_per_rate = first["mfu"] and first["mfu"] / first["items_per_s_per_accelerator"]
    epochs = [compute_epoch(parts[epoch["epoch"]], by_counter, mfu_per_rate) for epoch in scored]
    return compute_headline(epochs, book)


def read_table(path: Path) -> dict:
    """The columns of a table by name, as text."""
    with gzip.open(path, "rt", newline="") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, np.array(rows).T, strict=True))


def numbers(values, kind=np.int64, empty: str = "-1") -> np.ndarray:
    """The numbers of a column. Times in ns are integers, because they do not fit into a double."""
    return np.where(values == "", empty, values).astype(kind)


def integrate(samples: dict, batches: dict, book: tuple):
    """Each epoch of a board with its items, active seconds, and joules by counter and by power."""
    zero_ns = numbers(samples["read_ns"])[0]
    read_s = (numbers(samples["read_ns"]) - zero_ns) / 1e9
    column = "power_mw" if (samples["power_mw"] != "").any() else "power_avg_mw"
    power_w = numbers(samples[column], float, "nan") / 1e3
    power_s, power_w = read_s[~np.isnan(power_w)], power_w[~np.isnan(power_w)]
    power_j = np.append(0, np.cumsum(np.diff(power_s) * (power_w[1:] + power_w[:-1]) / 2))
    counter_j = numbers(samples["energy_mj"], float, "nan") / 1e3
    stamps_ns = numbers(samples.get("counter_ns", np.full(len(read_s), "")))
    counter_s = np.where(stamps_ns < 0, read_s, (stamps_ns - zero_ns) / 1e9)
    counter_s, counter_j = counter_s[~np.isnan(counter_j)], counter_j[~np.isnan(counter_j)]
    if book >= (1, 8, 0):
        model_j = np.interp(counter_s, power_s, power_j)
        counter_s, counter_j = find_changes(counter_s, counter_j, model_j, book == (1, 8, 0))

    def energy_until(t):
        i = np.clip(np.searchsorted(power_s, t, side="right") - 1, 0, len(power_s) - 2)
        slope = (power_w[i + 1] - power_w[i]) / (power_s[i + 1] - power_s[i])
        return power_j[i] + (t - power_s[i]) * (power_w[i] + slope * (t - power_s[i]) / 2)

    for epoch in np.unique(batches["epoch"]):
        own = batches["epoch"] == epoch
        start_s, end_s = ((batches[k][own] - zero_ns) / 1e9 for k in ("start_ns", "end_ns"))
        # The requests of a server overlap, so join them.
        order = np.argsort(start_s, kind="stable")
        start_s, end_s = start_s[order], np.maximum.accumulate(end_s[order])
        first = np.flatnonzero(np.append(True, start_s[1:] > end_s[:-1]))
        start_s, end_s = start_s[first], end_s[np.append(first[1:], len(start_s)) - 1]
        trapezoid_j = math.fsum(energy_until(end_s) - energy_until(start_s))
        counted_j = None
        if len(counter_s) > 1:
            began_j, ended_j = (np.interp(t, counter_s, counter_j) for t in (start_s, end_s))
            counted_j = math.fsum(ended_j - began_j)
        active_s = math.fsum(end_s - start_s)
        yield int(epoch), int(batches["items"][own].sum()), active_s, counted_j, trapezoid_j


def find_changes(at_s, at_j, model_j, trust_late: bool):
    """When the counter had which value: docs/measurement.md, the refresh of the counter."""
    again = np.append(False, (np.diff(at_j) == 0) & (np.diff(model_j) > 0))
    often = again.sum() < 0.25 * len(at_j)
    if often:  # A counter that keeps its value for longer stands still.
        again &= ~np.append(again[1:], False) & ~np.append(False, again[:-1])
    if not again.any():
        return at_s, at_j
    keep, ages = ~again, often
    if often and not trust_late:
        step_s = np.diff(at_s)
        jitter = step_s / np.median(step_s[keep[1:]]) - 1
        ages = (again[1:] & (abs(jitter) <= 0.1)).mean() >= 0.02
        after_late = np.flatnonzero(again[1:] & (jitter < -0.1)) + 1
        keep[after_late] = True
        keep[after_late[after_late > 1] - 1] = False
    s, j, model = at_s[keep], at_j[keep], model_j[keep]
    if ages and len(s) > 2:
        s = s - find_ages(s, j, model)
        rising = np.append(True, s[1:] > s[0])
        s, j = s[rising], j[rising]
    if not keep[-1]:  # It may have stopped.
        s, j = np.append(s, at_s[-1]), np.append(j, at_j[-1])
    return (s, j) if (np.diff(s) > 0).all() else (at_s, at_j)


def find_ages(s, j, model):
    """By how much each value of the counter is old: nothing, or one period."""
    step_s, step_j, model_j = np.diff(s), np.diff(j), np.diff(model)
    period_s = np.median(step_s)
    of_period = model_j / step_s * period_s  # J
    excess = np.where(of_period > 0, (step_j - model_j) / np.where(of_period > 0, of_period, 1), 0)
    aging = np.flatnonzero((step_s > 1.5 * period_s) & (abs(excess + 1) < 0.5))
    age_s = np.zeros(len(s))
    for begin, end in zip([-1, *aging], [*aging, len(step_s)], strict=True):
        misfit = abs(excess[begin + 1 : end] - 1)
        if len(misfit) and misfit.min() < 0.5:
            age_s[begin + 1 : begin + 2 + misfit.argmin()] = period_s
        elif end == len(step_s) and begin >= 0:
            age_s[begin + 1 :] = period_s
    age_s[[0, -1]] = 0
    return age_s


def compute_epoch(parts: list, by_counter: bool, mfu_per_rate) -> dict:
    """Numerator and denominator of each figure of an epoch, from its boards."""
    items = sum({rank: items for rank, items, *_ in parts}.values())  # The boards of a rank share.
    _, _, active_s, counters_j, trapezoids_j = zip(*parts, strict=True)
    seconds, trapezoid_j = math.fsum(active_s), math.fsum(trapezoids_j)
    counter_j = None if None in counters_j else math.fsum(counters_j)
    energy_j = counter_j if by_counter else trapezoid_j
    return {
        "energy_j_counter": (counter_j, 1),
        "energy_j_trapezoid": (trapezoid_j, 1),
        "items_per_joule": (items, energy_j),
        "items_per_s": (items, seconds / len(parts)),
        "items_per_s_per_accelerator": (items, seconds),
        "joules_per_item": (energy_j, items),
        "mean_power_w_per_accelerator": (energy_j, seconds),
        "mfu": (mfu_per_rate and mfu_per_rate * items, seconds),
    }


def compute_headline(epochs: list, book: tuple) -> dict:
    """Ratios of sums (Cochran, Sampling Techniques, 2.11); before 1.5.0, means of ratios."""
    headline = {}
    for name in epochs[0]:
        above, below = zip(*(epoch[name] for epoch in epochs), strict=True)
        if None in above or 0 in below:
            continue
        above, below = np.array(above), np.array(below)
        if book < (1, 5, 0):
            above, below = above / below, np.ones(len(below))
        n, ratio = len(above), math.fsum(above) / math.fsum(below)
        residuals = (above - ratio * below) / below.mean()
        sd = math.sqrt(math.fsum(residuals**2) / (n - 1)) if n > 1 else None
        half = T95[n - 2] * sd / math.sqrt(n) if n > 1 else 0
        ci95 = [ratio - half, ratio + half] if n > 1 else None
        headline[name] = {"mean": ratio, "n": n, "sd": sd, "ci95": ci95}
    return headline


if __name__ == "__main__":
    main()
