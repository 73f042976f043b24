"""What Slurm's energy accounting states of the step that a run is in.

A plugin of the site (`AcctGatherEnergyType`) reads the meter, slurmd polls it, and sstat prints the
sum over the nodes of a step. The figure is a declaration of the site: boards, node and interval are
those of the plugin.
"""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.slurm.job import JobEnergy, SlurmJob

TIMEOUT_S = 10.0
NO_PLUGIN = ("acct_gather_energy/none", "(null)", "")
UNKNOWN_J = 1 << 63
"""Slurm prints its values for `no value` as numbers above this one."""


@dataclass(frozen=True)
class EnergyAccount:
    """The energy of a step, counted from a first reading."""

    plugin: str
    step: str
    """`JOB.STEP`"""
    start_j: int

    def read(self, environment: Mapping[str, str]) -> JobEnergy | None:
        """Return the energy since the first reading; None if the count has not risen."""
        end_j = _read_count_j(self.step, environment)
        if end_j is None or end_j <= self.start_j:
            return None
        return JobEnergy(end_j - self.start_j, self.plugin)


def open_account(job: SlurmJob | None, environment: Mapping[str, str]) -> EnergyAccount | None:
    """Read the count of the step of `job` for the first time. Returns None outside a job, and where
    Slurm counts no energy."""
    if job is None:
        return None
    plugin = parse_plugin(run_command(["scontrol", "show", "config"], environment))
    if plugin is None:
        return None
    step = f"{job.id}.{job.step or 'batch'}"
    count_j = _read_count_j(step, environment)
    return None if count_j is None else EnergyAccount(plugin, step, count_j)


def parse_plugin(configuration: str) -> str | None:
    """Return the energy plugin in the output of `scontrol show config`, None without one."""
    for line in configuration.splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "AcctGatherEnergyType" and value.strip() not in NO_PLUGIN:
            return value.strip()
    return None


def parse_count_j(output: str) -> int | None:
    """Return the energy in J in the output of sstat, a line `JOB.STEP|ENERGY`; None without a
    value."""
    lines = output.split()
    text = lines[0].partition("|")[2] if len(lines) == 1 else ""
    if not (text.isascii() and text.isdigit()) or int(text) >= UNKNOWN_J:
        return None
    return int(text)


def _read_count_j(step: str, environment: Mapping[str, str]) -> int | None:
    format_options = ["--noheader", "--parsable2", "--format=JobID,ConsumedEnergyRaw"]
    return parse_count_j(run_command(["sstat", *format_options, f"--jobs={step}"], environment))


def run_command(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return what the command of Slurm prints, or nothing if it fails: a run does not depend on
    it."""
    try:
        result = subprocess.run(
            command,
            env=dict(environment),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout if result.returncode == 0 else ""
