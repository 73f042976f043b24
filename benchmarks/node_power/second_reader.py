"""A second reader of the energy counters of NVIDIA boards beside a run: how far its energy over the
scored epochs is from that of the bundle.

    python benchmarks/node_power/second_reader.py record readings.csv
    python benchmarks/node_power/second_reader.py compare readings.csv BUNDLE

The first command runs beside the run and ends on SIGTERM. It reads NVML by itself, about ten times
a second, at times of its own, and shares no code with the sampler.
"""

import csv
import signal
import sys
import time
from pathlib import Path

import numpy as np

INTERVAL_S = 0.0937
"""No multiple or part of the sampler's interval, so the two read at other phases of the counter."""


def record(path: Path) -> None:
    """Append time in ns, UUID and counter in mJ to `path` until the process is told to end."""
    import pynvml

    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    pynvml.nvmlInit()
    boards = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
    uuids = [str(pynvml.nvmlDeviceGetUUID(board)) for board in boards]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("read_ns", "uuid", "energy_mj"))
        while True:
            for board, uuid in zip(boards, uuids, strict=True):
                read_ns = time.monotonic_ns()
                energy_mj = pynvml.nvmlDeviceGetTotalEnergyConsumption(board)
                writer.writerow((read_ns, uuid, energy_mj))
            file.flush()
            time.sleep(INTERVAL_S)


def compare(path: Path, directory: Path) -> None:
    """Print for each accelerator of a bundle the energy of both readers over the scored epochs."""
    from rules.bundle import Bundle
    from rules.bundle_format.files import read_files
    from rules.bundle_format.load import read_evidence
    from rules.metrics.node.spans import join_spans, span_scored_epochs

    evidence, _ = read_evidence(read_files(directory))
    assert evidence is not None, f"{directory}: the bundle cannot be read"
    bundle = Bundle(directory, (), evidence)
    (span,) = join_spans(span_scored_epochs(bundle.declaration, bundle.batches))
    edges_ns = np.array([span.start_ns, span.end_ns])
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    print(
        "| accelerator | bundle, J | second reader, J | difference |", "|---|---|---|---|", sep="\n"
    )
    for uuid, samples in bundle.samples_of.items():
        board_rows = [row for row in rows if row["uuid"] == uuid]
        readings = (
            (samples.ints("read_ns"), samples.floats("energy_mj")),
            (
                np.array([int(row["read_ns"]) for row in board_rows]),
                np.array([float(row["energy_mj"]) for row in board_rows]),
            ),
        )
        energies_j = [
            float(np.diff(np.interp(edges_ns - ns[0], ns - ns[0], mj))[0]) / 1e3
            for ns, mj in readings
        ]
        difference = energies_j[1] / energies_j[0] - 1
        print(f"| {uuid[-12:]} | {energies_j[0]:.1f} | {energies_j[1]:.1f} | {difference:+.4%} |")


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(Path(sys.argv[2]))
    else:
        sys.path.insert(0, str(Path(__file__).parents[2]))
        compare(Path(sys.argv[2]), Path(sys.argv[3]))
