"""Simulated inference of image models. It computes nothing and takes the time that
`harness/simulation/inference_model.py` gives at the cap in force.

`open_model` is an implementation like any other (see `rules.study_contract`):
`bench-submit study image-inference --simulate h200` uses it. Operations, parameters and activations
are those of the shipped table.
"""

import os
import time
from collections.abc import Callable
from dataclasses import asdict

from harness.simulation.boards import MEMORY_BYTES
from harness.simulation.inference_model import BYTES, ImageLoad
from harness.simulation.server import VARIABLE, Client
from rules.studies.accuracy import read_shipped_table
from rules.study_contract import BatchRefused, ModelFacts, ModelJob, ModelRefused

RESIDENT_SHARE = 0.25
"""Share of the activations of a batch that are in memory at the same time."""
WARMUP_BATCHES = 2


def open_model(job: ModelJob) -> "SimulatedModel":
    """Open the model of the job on its simulated board. Raises ModelRefused for a model without
    sizes in the shipped table, and ValueError without a simulator."""
    if (path := os.environ.get(VARIABLE)) is None:
        raise ValueError(
            f"{VARIABLE} is not set: simulated models need a simulator; use bench-submit study "
            "--simulate h200"
        )
    if (row := read_shipped_table().find(job.architecture, job.size)) is None:
        raise ModelRefused(
            f"the shipped table has no sizes of {job.architecture} at {job.size} pixels, which "
            "the simulation needs"
        )
    facts = ModelFacts(round(row.flops), round(row.params), round(row.activations))
    return SimulatedModel(job, facts, Client(path))


class SimulatedModel:
    """A model on a simulated board (see `rules.study_contract.OpenModel`)."""

    def __init__(self, job: ModelJob, facts: ModelFacts, client: Client) -> None:
        self.facts = facts
        self._job, self._client = job, client
        self._batch = 0

    def prepare(self, batch: int) -> None:
        """Put the batch onto the board and run two of them. Raises BatchRefused if the simulated
        memory is too small."""
        self._batch = batch
        if self.peak_bytes() > MEMORY_BYTES:
            raise BatchRefused(
                "out-of-memory",
                f"out of memory: a batch of {batch} takes {self.peak_bytes():,} of "
                f"{MEMORY_BYTES:,} bytes",
            )
        job = self._job
        load = ImageLoad(batch, self.facts.flops, self.facts.activations, job.engine, job.precision)
        self._client.ask("infer", uuid=job.uuid, load=asdict(load))
        self.run(WARMUP_BATCHES, 1, lambda: None)

    def run(self, batches: int, parts: int, mark: Callable[[], None]) -> None:
        """Sleep as long as the batches take. A part makes up for a delay of the one before. Raises
        MeterError if the board vanishes."""
        uuid = self._job.uuid
        mark()
        end_s = time.monotonic()
        for _ in range(parts):
            end_s += batches * self._batch / self._client.ask("rate", uuid=uuid)
            time.sleep(max(0.0, end_s - time.monotonic()))
            mark()

    def peak_bytes(self) -> int:
        images = 3 * self._job.size**2 + RESIDENT_SHARE * self.facts.activations
        return round(BYTES[self._job.precision] * (self.facts.params + self._batch * images))

    def close(self) -> None:
        """End the work on the board."""
        self._client.ask("work", uuid=self._job.uuid, workload=None)
        self._client.close()
