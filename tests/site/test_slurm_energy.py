"""The energy accounting of a real Slurm, whose plugin for nodes of a Cray reads counters of the
test. tests/site/test_slurm_sweep.py has a Slurm that counts none."""

import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from support.slurm.cluster import explain_missing, start_cluster
from support.slurm.jobs import read_output, read_results, write_sweep_script

pytestmark = pytest.mark.xdist_group("slurm")
POWER_W = 1000


def test_energy_that_slurm_counts_is_in_the_bundle(tmp_path: Path) -> None:
    if reason := explain_missing():
        pytest.skip(reason)
    ended = threading.Event()
    with (
        tempfile.TemporaryDirectory(prefix="wattmark-slurm-") as directory,
        start_cluster(Path(directory), has_counters=True) as slurm,
    ):
        sees_counters = ["srun", "test", "-d", "/sys/cray/pm_counters"]
        if subprocess.run(sees_counters, env=slurm.environment, check=False).returncode != 0:
            pytest.skip("the nodes have no counters here: a private /sys/cray cannot be mounted")

        def count() -> None:
            energy_j = 5_000_000
            while not ended.wait(0.2):
                energy_j += POWER_W // 5
                slurm.set_counters(energy_j, POWER_W)

        counter = threading.Thread(target=count)
        counter.start()
        try:
            options = ["--caps", "as-found", "--batch", 64, "--epoch-seconds", 0.5]
            job = slurm.submit(write_sweep_script(tmp_path, *options))
            fields = slurm.wait_for_state(f"{job}_0")
        finally:
            ended.set()
            counter.join()
    assert fields["JobState"] == "COMPLETED", read_output(tmp_path)
    (result,) = read_results(tmp_path)
    energy = result["slurm_job"]["energy"]
    assert energy["plugin"] == "acct_gather_energy/pm_counters"
    # Slurm reads each second. Eleven epochs of 0.5 s take at least 5.5 s, and the job less than
    # two minutes.
    assert 3 * POWER_W < energy["consumed_j"] < 120 * POWER_W
    assert "pre-check: no errors" in read_output(tmp_path)
