"""Power against the energy counter by the length of a batch: the file
benchmarks/results/batch-lengths.csv, which `scripts/round_pages.py` writes.

    python benchmarks/batch_lengths.py submissions/reference/*/*/ submissions/reproduction/*/*/

A row has all scored epochs of training runs on H200 whose batches take this long on average, to the
nearest millisecond: the medians over them of averaged power and of readings against the counter, in
% of the counter. Each accelerator of an epoch counts by itself. Rows with fewer than eight are left
out.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

from measured_runs import read_runs

from rules.metrics.parts import Part, split_into_parts
from rules.metrics.run import relative_difference
from rules.testing.frames import EvidenceFrames, table_of

MIN_EPOCHS = 8
COLUMNS = ("power_avg_mw", "power_mw")
HEAD = "| batch, ms | epochs | runs | averaged power % | readings % |\n|---|---|---|---|---|"


def list_scored_parts(evidence: EvidenceFrames, column: str) -> list[Part]:
    samples = evidence.samples.assign(power_mw=evidence.samples[column])
    parts = split_into_parts(evidence.result, table_of(samples), table_of(evidence.batches))
    return [part for part in parts if part.epoch > 0 and part.energy_j_counter]


def render_rows(evidences: Iterable[tuple[Path, EvidenceFrames]]) -> Iterator[tuple[int, str]]:
    """The length of the batches in ms and the row of each length."""
    epochs: dict[int, list[tuple[str, list[float]]]] = defaultdict(list)
    for path, evidence in evidences:
        boards = [board for node in evidence.system["nodes"] for board in node["accelerators"]]
        is_h200 = all("H200" in board["name"] for board in boards)
        if evidence.requests is not None or not is_h200:
            continue
        batches = evidence.result["settings"]["batches_per_epoch"]
        for parts in zip(*(list_scored_parts(evidence, c) for c in COLUMNS), strict=True):
            percents = [
                100 * relative_difference(part.energy_j_counter or 0.0, part.energy_j_trapezoid)
                for part in parts
            ]
            length_ms = 1e3 * parts[0].active_s / batches
            epochs[round(length_ms)].append((path.name, percents))
    for length_ms, rows in sorted(epochs.items()):
        if len(rows) >= MIN_EPOCHS:
            averaged, instantaneous = (median(row[1][n] for row in rows) for n in range(2))
            yield (
                length_ms,
                f"| {length_ms} | {len(rows)} | {len({name for name, _ in rows})} "
                f"| {averaged:+.2f} | {instantaneous:+.2f} |",
            )


def main() -> None:
    print(HEAD)
    for _, row in render_rows(read_runs(sys.argv[1:])):
        print(row)


if __name__ == "__main__":
    main()
