"""When a job of Slurm ran, by Slurm's accounting."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from harness.slurm.energy import run_command

_ID = re.compile("[0-9]{1,20}")


class SlurmAccountingError(Exception):
    """Slurm's accounting does not say when a job ran. The message says why."""


def read_window(job_id: str, environment: Mapping[str, str]) -> tuple[datetime, datetime]:
    """Start and end in UTC of a job that has ended. Raises SlurmAccountingError."""
    if not _ID.fullmatch(job_id):
        raise SlurmAccountingError(
            f"{job_id!r} is no id of a job; write a number such as 12345, for a "
            "task of an array that which squeue --format=%A or sacct --format=JobIDRaw prints"
        )
    output = run_command(
        [
            *("sacct", "--allocations", "--noheader", "--parsable2"),
            *("--format=JobIDRaw,Start,End", f"--jobs={job_id}"),
        ],
        # Seconds since 1970 have no time zone.
        {**environment, "SLURM_TIME_FORMAT": "%s"},
    )
    return parse_window(job_id, output)


def parse_window(job_id: str, output: str) -> tuple[datetime, datetime]:
    """The window in the output of sacct, lines `JOB|START|END`. Raises SlurmAccountingError."""
    lines = [line.split("|") for line in output.split()]
    found = next((line for line in lines if line[0] == job_id and len(line) == 3), None)
    if len(ids := list(dict.fromkeys(line[0] for line in lines))) > 1:
        raise SlurmAccountingError(
            f"the job {job_id} is an array or has components, the jobs {', '.join(ids[:8])}; "
            "declare job.start and job.end of what was measured"
        )
    if found is None:
        raise SlurmAccountingError(
            f"sacct does not know the job {job_id}; run it on a machine of its cluster, or declare "
            "job.start and job.end"
        )
    _, start, end = found
    if not (start.isdigit() and end.isdigit()) or int(start) >= int(end):
        raise SlurmAccountingError(
            f"the job {job_id} started at {start} and ended at {end}; observe it when it has ended"
        )
    return datetime.fromtimestamp(int(start), UTC), datetime.fromtimestamp(int(end), UTC)
