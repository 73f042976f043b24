"""What recorder and sampler cost: tuned ResNet-50 with both against the bare loop, A B A B in one
process.

    python benchmarks/overhead.py [--seconds 20] [--pairs 2] [--batch 1024]

A is the implementation's loop with a recorder that only counts; B has two device events a batch and
the sampling process beside it, as in a run. Both are timed over the same number of batches from
device-synchronised instants. Prints a line a leg, the ratio B/A of the mean throughputs, and the
sampler's intervals. Figures seen are in docs/performance.md.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from harness.power.sampler import SAMPLES_FILE, Sampler, Settings
from harness.power.sources import open_source
from harness.run.workers.recorder import CudaClock
from reference.resnet50_train import build
from rules.contract import Built, Job


class Bare:
    """A recorder that counts batches and does nothing else."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def more(self) -> bool:
        return self.left > 0

    def start(self) -> None:
        pass

    def end(self, items: int, loss: Any) -> None:
        self.left -= 1


class Recorded(Bare):
    """The same with the marks of the real recorder."""

    def __init__(self, batches: int, clock: CudaClock) -> None:
        super().__init__(batches)
        self.clock = clock

    def start(self) -> None:
        self.clock.mark()

    def end(self, items: int, loss: Any) -> None:
        self.clock.mark()
        self.left -= 1


def time_run(built: Built, recorder: Bare, items: int) -> float:
    """Items per second of one leg."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    built.run(recorder)
    torch.cuda.synchronize()
    return items / (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pairs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=1024)
    options = parser.parse_args()
    built = build(Job("resnet50-train", "tuned", "full", options.batch, 1, "cuda:0"))
    built.run(Bare(5))
    batches = max(
        1, round(options.seconds * time_run(built, Bare(50), 50))
    )  # 50 batches of one item: batches/s
    print(f"{batches} batches a leg, heating for one leg", flush=True)
    built.run(Bare(batches))

    uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}"
    assert uuid in {d.uuid for d in open_source("nvidia").devices()}
    clock, bare, recorded, intervals_ms, missed = CudaClock(), [], [], [], 0
    for _ in range(options.pairs):
        bare.append(time_run(built, Bare(batches), batches * options.batch))
        print(f"A bare      {bare[-1]:9.1f} images/s", flush=True)
        with tempfile.TemporaryDirectory() as place:
            with Sampler(Settings("nvidia", (uuid,), "node0", 100, place)) as sampler:
                clock.open()
                recorded.append(time_run(built, Recorded(batches, clock), batches * options.batch))
                clock.close()
                missed += sampler.stop()["missed"]
            read_ns = pd.read_csv(Path(place) / SAMPLES_FILE)["read_ns"]
            intervals_ms += list(read_ns.diff().dropna() / 1e6)
        print(f"B recorded  {recorded[-1]:9.1f} images/s", flush=True)
    print(f"ratio B/A   {statistics.mean(recorded) / statistics.mean(bare):.4f}")
    quantiles_ms = pd.Series(intervals_ms).quantile([0.01, 0.5, 0.99, 1.0])
    print(
        "sampler     "
        + ", ".join(f"p{100 * q:.0f} {v:.3f} ms" for q, v in quantiles_ms.items())
        + f", missed ticks {missed}"
    )


if __name__ == "__main__":
    main()
