"""Makes the request for a reproduction from the bundle of its original."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from checker import CheckerError
from checker.judging.bundle_judge import JudgedBundle, JudgeOptions, judge_bundles
from checker.verdict import Verdict
from harness.cli_values import make_request
from harness.errors import PlanError
from harness.run.plan import SIMULATED_WORK, Original, OriginalReference, RunRequest
from harness.run.result_lines import SIMULATED_METER
from harness.system import read_package_versions
from rules.bundle import Bundle
from rules.bundle_format.records import MANIFEST_FILE
from rules.declarations.run import RunDeclaration
from rules.declarations.system import SystemDeclaration
from rules.finding import Severity
from rules.protocol import CURRENT
from rules.rule import OBSERVED_STANDING, STUDY_STANDING
from rules.settings import SETTINGS
from rules.summaries.bundle_summary import Challenge
from rules.views import AnyBundle
from rules.workloads import workloads


def make_reproduction_request(
    bundle: Path, seed: int | None, meter: str | None, **options: Any
) -> RunRequest:
    """Return the request that repeats the run of `bundle` here. The seed is `seed`, that of the
    newest challenge, or that of the original. `options` has the system, corpus, weights, node and
    head of the command line.

    Prints which software differs. Raises PlanError if the bundle does not pass, and MeterError if
    there is no such meter.
    """
    original, packages, challenges = _read_original(bundle.resolve())
    _print_software_differences(packages)
    if seed is None and challenges:
        newest = max(challenges, key=lambda challenge: challenge.issued_at)
        seed = newest.seed
        click.echo(f"seed {seed} of the challenge by {newest.issued_by}", err=True)
    run = original.run
    settings = run.settings
    if settings.nodes > 1 and options["head"] is None:
        raise PlanError(
            f"{bundle} ran on {settings.nodes} nodes; start this command on each of them, with "
            "--node N and --head HOST:PORT"
        )
    # Other boards may need another meter. Those of a simulation do not.
    if meter is None and run.sampling.meter.startswith(SIMULATED_METER):
        meter = run.sampling.meter
    return make_request(
        run.workload,
        {
            **options,
            **{s.key: s.read(run) for s in SETTINGS if s.is_repeated},
            "batch": str(settings.batch_size),
            "gpus": settings.accelerators // settings.nodes,
            "nodes": settings.nodes,
            "smoke": run.size == "smoke" and run.implementation.name != SIMULATED_WORK,
            "meter": meter,
            "simulate": None,
            "epoch_s": _choose_epoch_s(settings.epoch_target_s),
            "seed": settings.seed if seed is None else seed,
            "implementation": _find_own_implementation(run),
            "options": tuple(f"{key}={value}" for key, value in (settings.options or {}).items()),
            "host_load": settings.host_load is not None,
            "original": original,
        },
    )


@dataclass(frozen=True)
class _Statement:
    """What a bundle that passes states."""

    run: RunDeclaration
    system: SystemDeclaration
    packages: Mapping[str, str]
    """Version by name of the package."""

    @staticmethod
    def of(bundle: AnyBundle) -> "_Statement | None":
        """What a run states; None for a study."""
        if not isinstance(bundle, Bundle):
            return None
        packages = bundle.environment_declaration.packages
        return _Statement(bundle.declaration, bundle.system_declaration, packages)


def _read_original(
    bundle: Path,
) -> tuple[Original, Mapping[str, str], tuple[Challenge, ...]]:
    """Judge the bundle to reproduce, and return it with the versions of its packages and its
    challenges. Raises PlanError if it does not pass."""
    try:
        judged = _judge(bundle, signed=True)
    # A compute node may have no ssh-keygen. Whoever checks the reproduction verifies the signature.
    except CheckerError as error:
        click.echo(f"the signature of {bundle} is not verified: {error}", err=True)
        judged = _judge(bundle, signed=False)
    if judged.verdict.standing == OBSERVED_STANDING:
        raise PlanError(
            f"{bundle}: this is an observed job, and only a run can be reproduced; repeat its work "
            "with bench-submit run"
        )
    if judged.verdict.standing == STUDY_STANDING:
        raise PlanError(
            f"{bundle}: this is a study of models, and only a run can be reproduced; measure the "
            "study again with bench-submit study"
        )
    statement = judged.verdict.kept
    if not isinstance(statement, _Statement):
        listing = "\n".join(_list_reasons(judged.verdict))
        raise PlanError(f"{bundle}: only a bundle that passes can be reproduced:\n{listing}")
    reference = OriginalReference(
        run_id=statement.run.run_id,
        path=judged.trust.place or "/".join(bundle.parts[-3:]),
        manifest_sha256=sha256((bundle / MANIFEST_FILE).read_bytes()).hexdigest(),
        boards=tuple(uuid for rank in statement.run.ranks for uuid in rank.accelerators),
    )
    original = Original(reference, statement.run, statement.system)
    return original, statement.packages, judged.trust.challenges


def _judge(bundle: Path, signed: bool) -> JudgedBundle:
    options = JudgeOptions(signed=signed, keep=_Statement.of)
    (judged,) = judge_bundles({bundle: bundle}, options)
    return judged


def _list_reasons(verdict: Verdict) -> Iterator[str]:
    """Why the bundle does not pass, one reason a line."""
    for finding in verdict.findings:
        if finding.severity == Severity.ERROR:
            place = " ".join(filter(None, (finding.rule, finding.file, finding.pointer)))
            yield (
                f"  {place}: found {finding.found}, expected {finding.expected}. {finding.message}"
            )
    if verdict.withdrawn:
        yield f"  withdrawn by {verdict.withdrawn_by}: {verdict.withdrawn}"


def _choose_epoch_s(original_s: float) -> float | None:
    """Return the length of epochs to request. Epochs that suffice for the protocol get the usual
    length, because it has a margin; shorter ones stay as they are."""
    return None if original_s >= CURRENT.min_epoch_s else original_s


def _find_own_implementation(run: RunDeclaration) -> str | None:
    """Return the name of a submitter's own code; None for a reference implementation and for
    simulated work."""
    workload = workloads().get(run.workload)
    reference = workload.implementation if workload else None
    name = run.implementation.name
    return None if name in (reference, SIMULATED_WORK) else name


def _print_software_differences(packages: Mapping[str, str]) -> None:
    """Print the packages whose version is another one here. They may explain a difference, and do
    not prevent a reproduction."""
    present = read_package_versions()
    differences = [
        f"{name} {version} there, {present.get(name, 'none')} here"
        for name, version in packages.items()
        if present.get(name) != version
    ]
    if differences:
        click.echo(f"other software than the original: {'; '.join(differences)}", err=True)
