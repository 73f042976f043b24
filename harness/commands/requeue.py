"""A run or a study in a Slurm job that Slurm has requeued: the job resumes what it left, and does
not repeat what it finished.

The steps of a job have the same numbers each time Slurm starts the job. Job and step thus identify
the run or the study.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from harness.errors import PlanError
from harness.run import command
from harness.run.outcome import Outcome
from harness.run.plan import Plan, RunRequest
from harness.run.planning import describe_job
from harness.run.repeats import compare_bundles, is_repeat
from harness.run.run_directory import STATE_FILE
from harness.slurm.job import SlurmJob, is_requeued
from harness.studies import command as study_command
from harness.studies.earlier import find_earlier
from harness.studies.plan import RUNNING_SUFFIX, StudyPlan
from harness.studies.planning import StudyRequest
from harness.studies.study_directory import list_sessions
from rules.bundle_format.study_records import STUDY_FILE
from rules.declarations.run import RunDeclaration
from rules.json_record import from_json


def run(run_request: RunRequest, out: Path) -> Outcome:
    """Carry out the requested run. In a requeued job, judge the bundle that the step has already,
    or resume the run that it left on these accelerators. Raises the errors of
    `harness.run.command.run`."""
    # A run over several nodes cannot be resumed.
    if run_request.nodes == 1 and is_requeued(os.environ):
        with command.simulate_boards(run_request.simulate):
            plan = command.plan_run(run_request, out)
        if bundle := find_bundle(plan, out):
            command.print_line(f"{plan.job} was requeued and has this run already")
            return command.conclude_run(bundle, Console(), run_request.is_verbose)
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
            and result["settings"]["seed"] == plan.configuration.seed
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


def run_study(request: StudyRequest, resume: Path | None, out: Path) -> bool:
    """Carry out the requested study, or continue the one in `resume`. In a requeued job, continue
    the study of the step instead, or judge its bundle if nothing is left to measure. Returns
    whether the pre-check finds no error. Raises the errors of `harness.studies.command.run`."""
    job = describe_job()
    if job is not None and is_requeued(os.environ):
        # An unfinished study stays where it is.
        is_unfinished = resume is not None and resume.name.endswith(RUNNING_SUFFIX)
        if study := find_study(job, resume.parent if resume and is_unfinished else out):
            earlier = find_earlier(study)
            if earlier.is_bundle and not earlier.state.list_remaining(earlier.plan.work):
                command.print_line(f"{job} was requeued and has this study already")
                return command.run_pre_check(study, Console()).passes
            command.print_line(f"{job} was requeued and continues {study}")
            resume = study
    return study_command.run(request, resume, out)


def find_study(job: SlurmJob, directory: Path) -> Path | None:
    """The latest study in `directory` of which the step of the job has measured a part: an
    unfinished one, or a bundle. None without one."""
    studies = [
        path
        for path, jobs in (*_list_unfinished_studies(directory), *_list_studies(directory))
        if any(job.is_same_step(other_job.id, other_job.step) for other_job in jobs)
    ]
    # Names begin with the time at which a study was planned.
    return max(studies, key=lambda path: path.name.lstrip("."), default=None)


def _list_unfinished_studies(directory: Path) -> Iterator[tuple[Path, Sequence[SlurmJob]]]:
    """Yield the unfinished studies in a directory, with the jobs of their sessions."""
    for path in directory.glob(f".*{RUNNING_SUFFIX}"):
        try:
            plan, sessions = StudyPlan.load(path), list_sessions(path)
        except PlanError:
            continue
        # A kill after the bundle was written leaves both.
        if not (directory / plan.study_id).exists():
            yield path, [job for s in sessions if (job := s.record.plan.job) is not None]


def _list_studies(directory: Path) -> Iterator[tuple[Path, Sequence[SlurmJob]]]:
    """Yield the bundles of studies in a directory, with the jobs of their sessions."""
    for path in directory.glob(f"*/{STUDY_FILE}"):
        try:
            sessions = json.loads(path.read_bytes())["sessions"]
            jobs = [from_json(SlurmJob, s["slurm_job"]) for s in sessions if "slurm_job" in s]
        # A directory can hold any file of this name.
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        yield path.parent, jobs
