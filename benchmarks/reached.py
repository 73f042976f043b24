"""What the bundles of reference runs say: the first two tables of docs/performance.md.

    python benchmarks/reached.py submissions/reference/*/*/

First a row per bundle, whose last column counts the scored samples that gave the software power cap
as the reason of slowdown. Then a row per run on several accelerators: throughput per accelerator
against the fastest bundle of one with the same workload, variant and batch, and the mean SM clock
and power of each accelerator over the scored epochs.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from rules.bundle_format.files import read_files
from rules.bundle_format.records import Json
from rules.metrics.figures_json import figures_from_json
from rules.metrics.imbalance import Imbalance, compute_imbalance
from rules.metrics.parts import split_into_parts
from rules.testing.frames import EvidenceFrames, read_frames, table_of

SOFTWARE_POWER_CAP = 0x4


def table(header: str, rows: Sequence[str]) -> None:
    print(header, "|" + "---|" * (header.count("|") - 1), *rows, sep="\n", end="\n\n")


def rate(items_per_s: float) -> str:
    return f"{items_per_s:,.{1 if items_per_s >= 100 else 2}f}".replace(",", " ")


def of_run(evidence: EvidenceFrames) -> str:
    result = evidence.result
    parts = [
        p
        for p in split_into_parts(result, table_of(evidence.samples), table_of(evidence.batches))
        if p.epoch > 0
    ]
    reasons = [int(mask) for p in parts for mask in p.column("slowdown")]
    clocks = [mhz for p in parts for mhz in p.column("sm_mhz")]
    head = {name: figure["mean"] for name, figure in result["headline"].items()}
    low, high = result["headline"]["items_per_s"]["ci95"]
    return (
        f"| {result['workload']} {result['implementation']['variant']} | "
        f"{result['settings']['accelerators']} "
        f"| {result['settings']['batch_size']} | {rate(head['items_per_s'])} ({rate(low)} "
        f"to {rate(high)}) "
        f"| {head['mean_power_w_per_accelerator']:.1f} | {head['joules_per_item']:.4g} | "
        f"{head['items_per_joule']:.4g} "
        f"| {100 * head['mfu']:.1f} % | {sum(clocks) / len(clocks):.0f} "
        f"| {sum(bool(mask & SOFTWARE_POWER_CAP) for mask in reasons)} of {len(reasons)} |"
    )


def key(result: Json) -> tuple[str, str, int]:
    return result["workload"], result["implementation"]["variant"], result["settings"]["batch_size"]


def of_several(evidence: EvidenceFrames, one: Json | None) -> str:
    result = evidence.result
    per_accelerator = result["headline"]["items_per_s_per_accelerator"]["mean"]
    of_one = one and one["headline"]["items_per_s_per_accelerator"]["mean"]
    efficiency = f"{100 * per_accelerator / of_one:.1f} %" if of_one else "none"
    parts = [
        p
        for p in split_into_parts(result, table_of(evidence.samples), table_of(evidence.batches))
        if p.epoch > 0
    ]
    clocks = []
    for own in result["observed"]:
        mhz = [v for p in parts if p.accelerator == own["accelerator"] for v in p.column("sm_mhz")]
        clocks.append(f"{sum(mhz) / len(mhz):.0f} at {own['mean_power_w']:.1f}")
    imbalance = compute_imbalance(figures_from_json(result).epochs) or Imbalance(None, None, None)
    ranges = imbalance.active_time, imbalance.mean_power, imbalance.mean_sm_clock
    spread = ", ".join("none" if share is None else f"{100 * share:.2f}" for share in ranges)
    return (
        f"| {result['workload']} {result['implementation']['variant']} "
        f"x{result['settings']['accelerators']} "
        f"| {rate(per_accelerator)} | {rate(of_one) if of_one else 'none'} | {efficiency} "
        f"| {', '.join(clocks)} | {spread} |"
    )


def items_per_s(evidence: EvidenceFrames) -> float:
    """Throughput of the run over its scored epochs."""
    return float(evidence.result["headline"]["items_per_s"]["mean"])


def main() -> None:
    every: list[EvidenceFrames] = []
    for path in map(Path, sys.argv[1:]):
        evidence, problems = read_frames(read_files(path))
        if evidence is None:
            sys.exit(f"{path}: {problems[0].violation.found}")
        every.append(evidence)
    # Boards differ by some percent. The fastest board gives the lowest, most cautious efficiency.
    singles = {
        key(e.result): e.result
        for e in sorted(every, key=items_per_s)
        if e.result["settings"]["accelerators"] == 1
    }
    table(
        "| run | accelerators | batch | items/s | W | J/item | items/J | MFU | SM MHz | capped |",
        [of_run(e) for e in every],
    )
    table(
        "| run | items/s per accelerator | of one | efficiency | SM MHz at W, each | apart "
        "%: active time, power, clock |",
        [
            of_several(e, singles.get(key(e.result)))
            for e in every
            if e.result["settings"]["accelerators"] > 1
        ],
    )


if __name__ == "__main__":
    main()
