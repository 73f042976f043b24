"""The fixture `slurm`. A test module imports it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.slurm.cluster import Slurm, explain_missing, start_cluster


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    """A Slurm of two nodes. Skips the test where it cannot be started."""
    if reason := explain_missing():
        pytest.skip(reason)
    with (
        tempfile.TemporaryDirectory(prefix="wattmark-slurm-") as directory,
        start_cluster(Path(directory)) as cluster,
    ):
        yield cluster
