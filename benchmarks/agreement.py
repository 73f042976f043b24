"""How well the ways of measuring agree in bundles: benchmarks/results/agreement.csv, which
`scripts/round_pages.py` writes, and its summary in docs/measurement.md.

    python benchmarks/agreement.py submissions/reference/*/*/

For each bundle: the trapezoid against the energy counter over the run and in the worst scored
epoch, in % of the counter; the same for the trapezoid over the board's averaged power; the spread
of instantaneous power, and how much of its variance goes with the time since a batch began; the
sampler's intervals and misses.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from measured_runs import read_runs

from rules.metrics.parts import split_into_parts
from rules.metrics.run import relative_difference
from rules.testing.frames import EvidenceFrames, table_of

PHASES = 20


def compare_with_counter(evidence: EvidenceFrames, column: str) -> tuple[float, float]:
    """Trapezoid over `column` against the counter in %: over the scored epochs together, and the
    largest of one epoch."""
    samples = evidence.samples.assign(power_mw=evidence.samples[column])
    parts = [
        p
        for p in split_into_parts(evidence.result, table_of(samples), table_of(evidence.batches))
        if p.epoch > 0
    ]
    epoch_percents = [
        100 * relative_difference(p.energy_j_counter or 0.0, p.energy_j_trapezoid) for p in parts
    ]
    run_percent = 100 * relative_difference(
        sum(p.energy_j_counter or 0.0 for p in parts), sum(p.energy_j_trapezoid for p in parts)
    )
    return run_percent, max(epoch_percents, key=abs)


def format_phase_share(evidence: EvidenceFrames) -> str:
    """How much of the variance of instantaneous power, first rank, goes with the time since a batch
    began, in %.

    `none` for a server: its batches are requests, and these overlap.
    """
    if evidence.requests is not None:
        return "none"
    rank = evidence.result["ranks"][0]
    batches = evidence.batches[
        (evidence.batches["rank"] == rank["rank"]) & (evidence.batches["epoch"] > 0)
    ]
    samples = evidence.samples[evidence.samples["accelerator"] == rank["accelerators"][0]]
    starts, ends, read_ns = (
        c.to_numpy() for c in (batches["start_ns"], batches["end_ns"], samples["read_ns"])
    )
    batch = np.searchsorted(starts, read_ns, side="right") - 1
    active = (batch >= 0) & (read_ns <= ends[np.maximum(batch, 0)])
    active_batch, power_mw = batch[active], samples["power_mw"].to_numpy()[active]
    phase = (
        PHASES
        * (read_ns[active] - starts[active_batch])
        / (ends[active_batch] - starts[active_batch] + 1)
    ).astype(int)
    mean_mw = np.array([power_mw[phase == p].mean() for p in range(PHASES)])
    unexplained_share = (
        np.square(power_mw - mean_mw[phase]).sum() / np.square(power_mw - power_mw.mean()).sum()
    )
    return f"{100 * (1 - unexplained_share):.0f}"


COLUMNS = (
    "run",
    "run %",
    "worst epoch %",
    "averaged: run %",
    "worst %",
    "instantaneous W: mean, sd, min to max",
    "by phase %",
    "averaged W: max",
    "interval ms: p1, p50, p99, max",
    "missed",
)


def render_row(evidence: EvidenceFrames) -> str:
    """The row of a run."""
    parts = [
        p
        for p in split_into_parts(
            evidence.result, table_of(evidence.samples), table_of(evidence.batches)
        )
        if p.epoch > 0
    ]
    power_w = np.concatenate([p.column("power_mw") for p in parts]) / 1e3
    average_w = np.concatenate([p.column("power_avg_mw") for p in parts]) / 1e3
    first_board = evidence.samples[
        evidence.samples["accelerator"] == evidence.result["ranks"][0]["accelerators"][0]
    ]
    epoch_samples = first_board[
        first_board["read_ns"].between(
            evidence.batches["start_ns"].min(), evidence.batches["end_ns"].max()
        )
    ]
    interval_ms = np.diff(epoch_samples["read_ns"]) / 1e6
    instantaneous, averaged = (
        compare_with_counter(evidence, "power_mw"),
        compare_with_counter(evidence, "power_avg_mw"),
    )
    cells = (
        name_run(evidence),
        *(f"{percent:+.2f}" for percent in (*instantaneous, *averaged)),
        f"{power_w.mean():.0f}, {power_w.std():.0f}, {power_w.min():.0f} to {power_w.max():.0f}",
        format_phase_share(evidence),
        f"{average_w.max():.0f}",
        ", ".join(f"{np.percentile(interval_ms, q):.2f}" for q in (1, 50, 99, 100)),
        str(evidence.result["sampling"]["missed"]),
    )
    return f"| {' | '.join(cells)} |"


def name_run(evidence: EvidenceFrames) -> str:
    """Workload, variant, number of boards and batch size, and the end of the id of the run."""
    result = evidence.result
    settings = result["settings"]
    return (
        f"{result['workload']} {result['implementation']['variant']} x{settings['accelerators']}, "
        f"batch {settings['batch_size']}, `{result['run_id'][-6:]}`"
    )


def render_table(evidences: Iterable[EvidenceFrames]) -> str:
    """A row for each run."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    return "\n".join([*lines, *map(render_row, evidences)])


def summarise(table: Iterable[Sequence[str]]) -> str:
    """A row for each workload from the rows of the table: the number of runs, and of the
    differences of instantaneous and averaged power from the counter, the median of runs, the
    largest of a run and of an epoch."""
    rows = defaultdict(list)
    for cells in table:
        rows[cells[0].split()[0]].append([abs(float(cell)) for cell in cells[1:5]])
    lines = [
        "| workload | runs | power % | averaged power % |",
        "|---|---|---|---|",
    ]
    for workload, values in rows.items():
        run, epoch, average, average_epoch = np.array(values).T
        lines.append(
            f"| {workload} | {len(values)} "
            f"| {np.median(run):.2f}, {run.max():.2f}, {epoch.max():.2f} "
            f"| {np.median(average):.2f}, {average.max():.2f}, {average_epoch.max():.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    print(render_table(evidence for _, evidence in read_runs(sys.argv[1:])))


if __name__ == "__main__":
    main()
