"""What the bundle of a run in a job of Slurm states of the job: optional, and validated."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from conftest import copy_evidence
from support.bundles import write_bundle

from checker.engine import judge
from harness.slurm.job import JobEnergy, SiteCap, SlurmJob
from rules.declarations.run import RunDeclaration

JOB = SlurmJob(id="12", step="0", restarts=1, array_task=3, site_cap=SiteCap(400.0, "comment"))


def judge_with(folder: Path, job: dict[str, Any]) -> list[str]:
    """The places in result.json that the check of a good bundle with this job reports."""
    evidence = copy_evidence()
    evidence.result["slurm_job"] = job
    write_bundle(evidence, folder / evidence.result["run_id"])
    findings = judge(folder / evidence.result["run_id"], signed=False).findings
    return [finding.pointer for finding in findings if finding.file == "result.json"]


@pytest.mark.parametrize(
    "job",
    [
        replace(JOB, energy=JobEnergy(2100, "acct_gather_energy/ipmi")),
        SlurmJob(id="12", step=None, restarts=0, array_task=None, site_cap=None),
    ],
)
def test_bundle_with_a_job_passes_the_check(tmp_path: Path, job: SlurmJob) -> None:
    assert judge_with(tmp_path, asdict(job)) == []


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"id": "12; rm"}, "/slurm_job/id"),
        ({"restarts": -1}, "/slurm_job/restarts"),
        ({"site_cap": {"cap_w": 0, "source": "comment"}}, "/slurm_job/site_cap"),
        ({"energy": {"consumed_j": 0, "plugin": "x"}}, "/slurm_job/energy"),
    ],
)
def test_malformed_job_is_refused(tmp_path: Path, changes: dict[str, Any], pointer: str) -> None:
    pointers = judge_with(tmp_path, asdict(JOB) | changes)
    assert pointers and all(place.startswith(pointer) for place in pointers)


def test_declaration_has_job_and_cap_of_the_site() -> None:
    result = copy_evidence().result
    assert RunDeclaration.from_document(result).slurm_job is None
    result["slurm_job"] = asdict(JOB)
    job = RunDeclaration.from_document(result).slurm_job
    assert job is not None and job.site_cap is not None and job.energy is None
    assert (job.array_task, job.site_cap.cap_w, job.site_cap.source) == (3, 400.0, "comment")
