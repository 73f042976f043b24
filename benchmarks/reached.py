"""What the bundles of reference runs say: the first two tables of docs/performance.md.

    python benchmarks/reached.py submissions/reference/*/*/

First a row per run, whose last column counts the scored samples that gave the software power cap as
the reason of slowdown. Then a row per run on several accelerators: throughput per accelerator
against the fastest bundle of one with the same workload, variant and batch, and the mean SM clock
and power of each accelerator over the scored epochs. Bundles of studies are left out.
"""

import sys
from collections.abc import Sequence

from measured_runs import read_runs

from rules.bundle_format.records import Json
from rules.metrics.figures_json import figures_from_json
from rules.metrics.imbalance import Imbalance, compute_imbalance
from rules.metrics.parts import split_into_parts
from rules.testing.frames import EvidenceFrames, table_of

SOFTWARE_POWER_CAP = 0x4


def print_table(header: str, rows: Sequence[str]) -> None:
    print(header, "|" + "---|" * (header.count("|") - 1), *rows, sep="\n", end="\n\n")


def format_rate(items_per_s: float) -> str:
    return f"{items_per_s:,.{1 if items_per_s >= 100 else 2}f}".replace(",", " ")


def format_run(evidence: EvidenceFrames) -> str:
    result = evidence.result
    parts = [
        p
        for p in split_into_parts(result, table_of(evidence.samples), table_of(evidence.batches))
        if p.epoch > 0
    ]
    reasons = [int(mask) for p in parts for mask in p.column("slowdown")]
    clocks = [mhz for p in parts for mhz in p.column("sm_mhz")]
    means = {name: figure["mean"] for name, figure in result["headline"].items()}
    low, high = result["headline"]["items_per_s"]["ci95"]
    return (
        f"| {result['workload']} {result['implementation']['variant']} | "
        f"{result['settings']['accelerators']} "
        f"| {result['settings']['batch_size']} "
        f"| {format_rate(means['items_per_s'])} ({format_rate(low)} to {format_rate(high)}) "
        f"| {means['mean_power_w_per_accelerator']:.1f} | {means['joules_per_item']:.4g} | "
        f"{means['items_per_joule']:.4g} "
        f"| {100 * means['mfu']:.1f} % | {sum(clocks) / len(clocks):.0f} "
        f"| {sum(bool(mask & SOFTWARE_POWER_CAP) for mask in reasons)} of {len(reasons)} |"
    )


def get_comparison_key(result: Json) -> tuple[str, str, int]:
    return result["workload"], result["implementation"]["variant"], result["settings"]["batch_size"]


def format_scaling(evidence: EvidenceFrames, single: Json | None) -> str:
    result = evidence.result
    per_accelerator = result["headline"]["items_per_s_per_accelerator"]["mean"]
    single_rate = single and single["headline"]["items_per_s_per_accelerator"]["mean"]
    efficiency = f"{100 * per_accelerator / single_rate:.1f} %" if single_rate else "none"
    parts = [
        p
        for p in split_into_parts(result, table_of(evidence.samples), table_of(evidence.batches))
        if p.epoch > 0
    ]
    clocks = []
    for observed in result["observed"]:
        mhz = [
            v for p in parts if p.accelerator == observed["accelerator"] for v in p.column("sm_mhz")
        ]
        clocks.append(f"{sum(mhz) / len(mhz):.0f} at {observed['mean_power_w']:.1f}")
    imbalance = compute_imbalance(figures_from_json(result).epochs) or Imbalance(None, None, None)
    ranges = imbalance.active_time, imbalance.mean_power, imbalance.mean_sm_clock
    spread = ", ".join("none" if share is None else f"{100 * share:.2f}" for share in ranges)
    return (
        f"| {result['workload']} {result['implementation']['variant']} "
        f"x{result['settings']['accelerators']} "
        f"| {format_rate(per_accelerator)} "
        f"| {format_rate(single_rate) if single_rate else 'none'} | {efficiency} "
        f"| {', '.join(clocks)} | {spread} |"
    )


def get_items_per_s(evidence: EvidenceFrames) -> float:
    """Throughput of the run over its scored epochs."""
    return float(evidence.result["headline"]["items_per_s"]["mean"])


def main() -> None:
    evidences = [evidence for _, evidence in read_runs(sys.argv[1:])]
    # Boards differ by some percent. The fastest board gives the lowest, most cautious efficiency.
    singles = {
        get_comparison_key(e.result): e.result
        for e in sorted(evidences, key=get_items_per_s)
        if e.result["settings"]["accelerators"] == 1
    }
    print_table(
        "| run | accelerators | batch | items/s | W | J/item | items/J | MFU | SM MHz | capped |",
        [format_run(e) for e in evidences],
    )
    print_table(
        "| run | items/s per accelerator | of one | efficiency | SM MHz at W, each | apart "
        "%: active time, power, clock |",
        [
            format_scaling(e, singles.get(get_comparison_key(e.result)))
            for e in evidences
            if e.result["settings"]["accelerators"] > 1
        ],
    )


if __name__ == "__main__":
    main()
