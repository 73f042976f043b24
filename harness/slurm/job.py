"""The Slurm job that this process is part of, as its environment and the controller describe it."""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

SITE_CAP_VARIABLE = "WATTMARK_SITE_CAP_W"
"""Set by a site, for example in its task prolog, to the cap in W that it has set for the job."""
SITE_CAP_COMMENT = re.compile(r"(?:^|[\s,;])wattmark-cap=([^\s,;]*)")
"""The words in the comment of a job of which scripts/slurm-prolog.sh takes the first."""
SITE_CAP = re.compile("[1-9][0-9]{0,3}")
"""Whole watts of at most four digits, as scripts/wattmark-cap takes them."""
SLURM_VALUES = {
    "SLURM_JOB_ID": re.compile("[0-9]{1,20}"),
    "SLURM_STEP_ID": re.compile("[a-z0-9]{1,20}"),
    "SLURM_RESTART_COUNT": re.compile("[0-9]{1,6}"),
    "SLURM_ARRAY_TASK_ID": re.compile("[0-9]{1,18}"),
}
"""The values that Slurm gives these variables, as the schema of result.json takes them."""
SCONTROL_TIMEOUT_S = 10.0


class SlurmJobError(Exception):
    """A variable of the job has a value that cannot be read. The message names both."""


@dataclass(frozen=True)
class SiteCap:
    """The power cap that the site was to set for the job, before the run."""

    cap_w: float
    source: str
    """`environment` or `comment`."""


@dataclass(frozen=True)
class JobEnergy:
    """The energy during the run by Slurm's accounting, over the nodes of the step."""

    consumed_j: int
    plugin: str
    """`AcctGatherEnergyType`, such as `acct_gather_energy/ipmi`."""


@dataclass(frozen=True)
class SlurmJob:
    """A job of Slurm, or the step of it that this process is in."""

    id: str
    step: str | None
    """None outside a step, as in a batch script without srun."""
    restarts: int
    """How often Slurm has requeued the job."""
    array_task: int | None
    """The number of the task in its array; None if the job is in no array."""
    site_cap: SiteCap | None
    """None if the site has stated none."""
    energy: JobEnergy | None = None
    """None where Slurm counts no energy, and in a plan: it is known when the run has ended."""

    def __str__(self) -> str:
        return f"job {self.id}" + ("" if self.step is None else f", step {self.step},")

    def is_same_step(self, job_id: str, step: str | None) -> bool:
        """Whether `job_id` and `step` name this step. A requeued job has the same numbers."""
        return self.step is not None and (job_id, step) == (self.id, self.step)


def is_requeued(environment: Mapping[str, str]) -> bool:
    """Whether Slurm has started the job of `environment` before."""
    # Slurm sets the variable when it starts a job again.
    # `read_job` refuses other text than a number.
    return environment.get("SLURM_RESTART_COUNT", "0") != "0"


def read_job(environment: Mapping[str, str]) -> SlurmJob | None:
    """Return the job that `environment` is of, None outside Slurm. Raises SlurmJobError."""
    job_id = environment.get("SLURM_JOB_ID")
    if job_id is None:
        return None
    for name, pattern in SLURM_VALUES.items():
        if name in environment and not pattern.fullmatch(environment[name]):
            raise SlurmJobError(
                f"{name}={environment[name]!r}: Slurm sets no such value; correct or unset it"
            )
    task = environment.get("SLURM_ARRAY_TASK_ID")
    return SlurmJob(
        job_id,
        environment.get("SLURM_STEP_ID"),
        int(environment.get("SLURM_RESTART_COUNT", 0)),
        None if task is None else int(task),
        _read_site_cap(job_id, environment),
    )


def _read_site_cap(job_id: str, environment: Mapping[str, str]) -> SiteCap | None:
    text = environment.get(SITE_CAP_VARIABLE)
    if text is not None:
        if not SITE_CAP.fullmatch(text):
            raise SlurmJobError(
                f"{SITE_CAP_VARIABLE}={text}: give whole watts of at most four digits, or unset it"
            )
        return SiteCap(float(text), "environment")
    word = SITE_CAP_COMMENT.search(_read_comment(job_id, environment))
    # The prolog refuses other values and sets no cap.
    if word is None or not SITE_CAP.fullmatch(word[1]):
        return None
    return SiteCap(float(word[1]), "comment")


def _read_comment(job_id: str, environment: Mapping[str, str]) -> str:
    """Return the comment of the job, empty if there is none or the controller does not answer."""
    try:
        description = subprocess.run(
            ["scontrol", "show", "job", job_id],
            env=dict(environment),
            capture_output=True,
            text=True,
            check=False,
            timeout=SCONTROL_TIMEOUT_S,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    comment = re.search("^ *Comment=(.*)$", description, re.MULTILINE)
    return comment[1] if comment else ""
