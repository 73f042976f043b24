"""The hash of the synthetic input follows from the seed and the rank."""

from dataclasses import replace
from importlib import import_module

import pytest

from rules.contract import Job


@pytest.mark.parametrize("workload", ["resnet50-train", "vitl16-train"])
def test_hash_of_the_input_follows_from_seed_and_rank(workload: str) -> None:
    build = import_module(f"reference.{workload.replace('-', '_')}").build
    job = Job(workload, "tuned", "smoke", 2, seed=1, device="cpu")

    def hash_inputs(job: Job) -> str:
        sha256 = build(job).inputs_sha256
        assert sha256 is not None and len(sha256) == 64
        return str(sha256)

    first = hash_inputs(job)
    assert hash_inputs(job) == first
    others = [replace(job, seed=3), replace(job, rank=1), replace(job, variant="baseline")]
    hashes = {hash_inputs(other) for other in others}
    assert len(hashes) == len(others) and first not in hashes
