"""How often the bound of a placed clock holds its error, on simulated loads and meters, and around
the committed traces: the table benchmarks/results/clock-coverage.csv.

    python benchmarks/node_power/clock_coverage.py > benchmarks/results/clock-coverage.csv

It takes some minutes. The clocks are up to 30 s off. Loads and nodes are those of
tests/support/rules/simulated_loads.py and simulated_nodes.py.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.rules.simulated_loads import LOAD_METERS, LOADS, place_on_load  # noqa: E402
from support.rules.simulated_nodes import (  # noqa: E402
    NOISY,
    QUIET,
    Meter,
    Node,
    Place,
    place_meter,
    read_committed_traces,
)

SEEDS = 20
TRACES = 40
HEADS = (
    "load",
    "node",
    "meter",
    "simulated",
    "decided",
    "within_bound",
    "median_bound_s",
    "largest_error_s",
)


def simulate_all() -> Iterator[tuple[str, Node, Meter, list[Place]]]:
    """The placed clocks of each load, node and meter."""
    committed = list(read_committed_traces().items())[:TRACES]
    for node in (QUIET, NOISY):
        for meter in LOAD_METERS:
            for load in LOADS:
                places = [place_on_load(load, node, meter, seed) for seed in range(SEEDS)]
                yield load.name, node, meter, places
            places = [
                place_meter(traces, node, meter, crc32(name.encode())) for name, traces in committed
            ]
            yield "committed traces", node, meter, places


def main() -> None:
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(HEADS)
    for load, node, meter, places in simulate_all():
        decided = [place for place in places if place.estimate.decided]
        within = [place for place in decided if place.error_s <= place.estimate.bound_s]
        bounds_s = [place.estimate.bound_s for place in decided]
        largest_s = max((place.error_s for place in decided), default=None)
        table.writerow(
            (
                load,
                node.name,
                meter.name,
                len(places),
                len(decided),
                len(within),
                f"{np.median(bounds_s):.2f}" if decided else "",
                "" if largest_s is None else f"{largest_s:.2f}",
            )
        )


if __name__ == "__main__":
    main()
