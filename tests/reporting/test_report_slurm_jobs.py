"""The evidence of runs in jobs of Slurm."""

from conftest import Submissions, copy_evidence
from support.bundles import make_other_run, rederive
from support.report.html import Report, read_lines

JOB = {
    "id": "812",
    "step": "0",
    "restarts": 1,
    "array_task": 3,
    "site_cap": {"cap_w": 400.0, "source": "comment"},
    "energy": {"consumed_j": 987_654, "plugin": "acct_gather_energy/ipmi"},
}


def test_evidence_of_runs_in_jobs_of_slurm_has_the_jobs(
    submissions: Submissions, report: Report
) -> None:
    plain_job = JOB | dict.fromkeys(("array_task", "site_cap", "energy")) | {"restarts": 0}
    for number, job in enumerate((JOB, plain_job)):
        evidence = make_other_run(copy_evidence(), number)
        evidence.result["slurm_job"] = job
        rederive(evidence)
        submissions.add(evidence, f"run-000{number}")
    page, _ = report(submissions.root)
    (power_row, _) = read_lines(page, "resnet50-train-power")
    # The energy of the accelerators over the same time is beside that of Slurm.
    energy = f"987.7 kJ by acct_gather_energy/ipmi, accelerators {power_row['run_kj']:.4g} kJ"
    site_cap = "400 W by the site (comment)"
    jobs = [row.text("slurm_job") for row in read_lines(page, "evidence")]
    assert jobs == [f"job 812, task 3, 1 requeue; {site_cap}; {energy}", "job 812"]


def test_evidence_without_jobs_of_slurm_has_no_such_column(
    submissions: Submissions, report: Report
) -> None:
    submissions.add()
    page, _ = report(submissions.root)
    (row,) = read_lines(page, "evidence")
    assert "slurm_job" not in row.values
