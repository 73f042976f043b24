"""How well the clock of a node meter is placed on simulated nodes around the committed traces: the
file benchmarks/results/node-clocks.csv, which `scripts/round_pages.py` writes, and its summary in
docs/measurement.md.

    python benchmarks/node_power/node_clocks.py

It takes half a minute. Each node and meter is simulated around every committed trace, with
clocks that are up to 30 s off and drift by 50 ppm.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.rules.simulated_nodes import (  # noqa: E402
    METERS,
    NODES,
    Place,
    place_meter,
    read_committed_traces,
)

SEEDS = {1: 3, 2: 10, 4: 10}
"""How many nodes are simulated around each trace, by its number of boards."""
HEADS = (
    "node",
    "meter",
    "boards",
    "nodes simulated",
    "decided",
    "error s: median, largest",
    "largest error / bound",
    "largest error of undecided s",
)


def render_table() -> str:
    lines = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    lines += [f"| {' | '.join(cells)} |" for cells in _render_rows()]
    return "\n".join(lines)


def summarise(table: Iterable[Sequence[str]]) -> str:
    """For each node and meter, from the rows of the table: how many clocks are decided, and the
    largest error over its bound."""
    rows_of = defaultdict(list)
    for row in table:
        rows_of[row[0], row[1]].append(row)
    lines = [["meter", *(node.name for node in NODES)], ["---"] * (len(NODES) + 1)]
    for meter in METERS:
        cells = []
        for node in NODES:
            rows = rows_of[node.name, meter.name]
            nodes, decided = (sum(int(row[column]) for row in rows) for column in (3, 4))
            errors = [float(row[6]) for row in rows if row[6] != "none"]
            largest = f", {max(errors):.2f}" if errors else ""
            cells.append(f"{decided} of {nodes}{largest}")
        lines.append([meter.name, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _render_rows() -> Iterator[tuple[str, ...]]:
    runs = read_committed_traces()
    for node in NODES:
        for meter in METERS:
            for boards, seeds in SEEDS.items():
                places = [
                    # By name, so that a new bundle does not change the nodes around the others.
                    place_meter(traces, node, meter, crc32(name.encode()) + seed)
                    for name, traces in runs.items()
                    if len(traces) == boards
                    for seed in range(seeds)
                ]
                yield node.name, meter.name, str(boards), *_summarise(places)


def _summarise(places: Sequence[Place]) -> Iterator[str]:
    decided = [place for place in places if place.estimate.decided]
    undecided_s = [place.error_s for place in places if not place.estimate.decided]
    errors_s = np.array([place.error_s for place in decided])
    bounds_s = np.array([place.estimate.bound_s for place in decided])
    yield str(len(places))
    yield str(len(decided))
    yield f"{np.median(errors_s):.2f}, {errors_s.max():.2f}" if decided else "none"
    yield f"{(errors_s / bounds_s).max():.2f}" if decided else "none"
    yield f"{max(undecided_s):.2f}" if undecided_s else "none"


if __name__ == "__main__":
    print(render_table())
