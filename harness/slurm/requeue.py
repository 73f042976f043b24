"""A run in a Slurm job that Slurm has requeued: the job resumes what it left, and does not repeat
what it finished.

The steps of a job have the same numbers each time Slurm starts the job. Job and step thus identify
the run.
"""

import os
from pathlib import Path

from rich.console import Console

from harness.run import command
from harness.run.plan import Plan, PlanError, RunRequest
from harness.run.repeats import compare_bundles, is_repeat
from harness.run.run_directory import STATE_FILE
from harness.slurm.job import is_requeued
from rules.declarations.run import RunDeclaration


def run(run_request: RunRequest, out: Path) -> bool:
    """Carry out the requested run. In a requeued job, judge the bundle that the step has already,
    or resume the run that it left on these accelerators. Returns whether the pre-check finds no
    error. Raises the errors of `harness.run.command.run`."""
    # A run over several nodes cannot be resumed.
    if run_request.nodes == 1 and is_requeued(os.environ):
        with command.simulate_boards(run_request.simulate):
            plan = command.plan_run(run_request, out)
        if bundle := find_bundle(plan, out):
            command.print_line(f"{plan.job} was requeued and has this run already")
            return command.run_pre_check(bundle, Console())
        if unfinished := find_unfinished(plan, out):
            command.print_line(f"{plan.job} was requeued and resumes {unfinished}")
            return command.resume(unfinished)
    return command.run(run_request, out)


def find_bundle(plan: Plan, out: Path) -> Path | None:
    """The bundle in `out` that the step of the plan has left before, also on other accelerators;
    None without one."""
    for bundle, result, differences in compare_bundles(plan, out):
        job = RunDeclaration.from_document(result).slurm_job
        if (
            plan.job is not None
            and job is not None
            and plan.job.is_same_step(job.id, job.step)
            and result["settings"]["seed"] == plan.seed
            and not set(differences) - {"accelerators"}
        ):
            return bundle
    return None


def find_unfinished(plan: Plan, out: Path) -> Path | None:
    """The directory in `out` of the run that the step of the plan has begun before on the same
    accelerators; None without one."""
    for directory in sorted(out.glob(".*.running"), reverse=True):
        try:
            unfinished = Plan.load(directory)
        except PlanError:
            continue
        if (
            plan.job is not None
            and unfinished.job is not None
            and plan.job.is_same_step(unfinished.job.id, unfinished.job.step)
            and (directory / STATE_FILE).exists()
            and is_repeat(unfinished, plan)
        ):
            return directory
    return None
