"""How the energies of committed runs change when the counter is interpolated between its changes,
and how far both are from the averaged power, which lags by half a second.

    python benchmarks/counter_changes.py submissions/reference/*/*/ submissions/reproduction/*/*/
"""

import sys
from pathlib import Path

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.bundle_format.load import read_evidence
from rules.metrics.energy import counter_energies, trapezoid_energies
from rules.metrics.parts import parts_of_groups
from rules.metrics.power.readings import read_average_power_w

BOOKS = ("1.7.0", "1.8.0", "1.9.0")
"""Between reads, between changes, and between changes without late reads."""
LAG_S = 0.5


def compare(bundle: Bundle, rules_version: str) -> tuple[np.ndarray, np.ndarray]:
    """Energy in J of the span of each scored part by the counter, and its difference in % from the
    averaged power, both of shape (parts,)."""
    energies_j, differences = [], []
    groups = bundle.ranks, bundle.samples_of, bundle.batches, bundle.batches_of
    last_epoch = max(epoch for epoch, _ in bundle.spans)
    for part in parts_of_groups(*groups, rules_version):
        # After the last epoch there are no readings of half a second later.
        if part.epoch in (0, last_epoch):
            continue
        trace, average_w = part.trace, read_average_power_w(part.sampled)
        read = np.isfinite(average_w)
        start, end = (
            np.array([(time_ns - trace.zero_ns) / 1e9])
            for time_ns in bundle.spans[(part.epoch, part.rank)]
        )
        (energy_j,) = counter_energies(trace.counter_times_s, trace.counter_j, start, end)
        times_s = trace.read_s[read] - LAG_S
        (average_j,) = trapezoid_energies(times_s, average_w[read], start, end)
        energies_j.append(energy_j)
        differences.append(100 * (energy_j / average_j - 1))
    return np.array(energies_j), np.array(differences)


def main() -> None:
    """Print a table of the runs whose energies differ between rule books."""
    print(
        "| run | values read twice % | run changes % | largest epoch % | "
        f"scatter about averaged power %: {' | '.join(BOOKS)} |\n|---|---|---|---|---|---|---|"
    )
    for directory in map(Path, sys.argv[1:]):
        if not (directory / "result.json").exists():
            continue
        bundle = Bundle(directory, (), read_evidence(read_files(directory))[0])
        repeats = [np.diff(s.floats("energy_mj")) == 0 for s in bundle.samples_of.values()]
        by_book = [compare(bundle, version) for version in BOOKS]
        (first_j, _), *_, (last_j, _) = by_book
        if all((energies_j == first_j).all() for energies_j, _ in by_book):
            continue
        print(
            f"| {bundle.declaration.workload} {bundle.variant} x{len(bundle.samples_of)} "
            f"`{directory.name[-6:]}` | {100 * np.concatenate(repeats).mean():.2f} "
            f"| {100 * (last_j.sum() / first_j.sum() - 1):+.3f} "
            f"| {100 * np.abs(last_j / first_j - 1).max():.2f} "
            f"| {' | '.join(f'{differences.std():.3f}' for _, differences in by_book)} |"
        )


if __name__ == "__main__":
    main()
