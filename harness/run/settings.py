"""The settings that repeats of a run share, as `--until-ci`, requeued jobs and sweeps compare
them."""

from collections.abc import Iterator
from dataclasses import asdict

from harness.errors import PlanError
from harness.run.plan import Plan
from rules.declarations.run import RunDeclaration
from rules.declarations.system import EnvironmentDeclaration
from rules.input_hash import hash_input


def describe_plan(plan: Plan) -> Iterator[tuple[str, object]]:
    """Yield each setting of a planned run by name. Files count by their content, and the seed does
    not count. Raises PlanError if a file that the plan names cannot be read."""
    weights = hash_named_file(plan.weights)
    yield "workload", plan.workload
    yield "size", plan.size
    yield "implementation", plan.implementation
    yield "implementation's sha256", plan.implementation_sha256
    yield "variant", plan.variant
    yield "source_sha256", plan.source_sha256
    yield "meter", plan.meter
    yield "sm_clock_mhz", plan.sm_clock_mhz
    yield "batch_size", plan.batch_size
    yield "epoch_target_s", plan.epoch_s
    yield "options", dict(plan.options)
    yield "requests", plan.requests and asdict(plan.requests)
    yield "weights", "seeded" if weights is None else f"sha256:{weights}"
    yield "corpus_sha256", hash_named_file(plan.corpus)


def describe_run(
    run: RunDeclaration, environment: EnvironmentDeclaration
) -> Iterator[tuple[str, object]]:
    """Yield the same of a finished run."""
    implementation, settings = run.implementation, run.settings
    yield "workload", run.workload
    yield "size", run.size
    yield "implementation", implementation.name
    yield "implementation's sha256", implementation.sha256
    yield "variant", implementation.variant
    yield "source_sha256", environment.source_sha256
    yield "meter", run.sampling.meter
    yield "sm_clock_mhz", run.power.sm_clock_mhz
    yield "batch_size", settings.batch_size
    yield "epoch_target_s", settings.epoch_target_s
    yield "options", dict(settings.options or {})
    yield "requests", settings.requests and asdict(settings.requests)
    yield "weights", settings.weights
    yield "corpus_sha256", settings.corpus_sha256


def hash_named_file(path: str | None) -> str | None:
    """Return the SHA-256 of weights or a corpus that a plan names; None if it names none. Raises
    PlanError if it cannot be read."""
    try:
        return None if path is None else hash_input(path)
    except OSError as error:
        raise PlanError(f"{error.filename}: cannot be read ({error.strerror})") from None
