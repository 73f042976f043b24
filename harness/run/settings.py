"""The settings of a planned run as result.json states them, and as `--until-ci`, requeued jobs and
sweeps compare them with those of finished runs."""

from dataclasses import asdict

from harness.run.plan import Plan, PlanError
from rules.bundle_format.records import Json
from rules.declarations.run import RunDeclaration
from rules.declarations.system import EnvironmentDeclaration
from rules.input_hash import hash_input
from rules.settings import OPTIONAL_SETTINGS, SETTINGS


def declare_settings(plan: Plan) -> Json:
    """Return what result.json states of the settings that the plan decides, each at its place."""
    declared: Json = {
        "workload": plan.workload,
        "size": plan.size,
        "implementation": {
            "name": plan.implementation,
            "variant": plan.variant,
            "sha256": plan.implementation_sha256,
        },
        "settings": {
            "nodes": plan.nodes,
            "batch_size": plan.batch_size,
            "epoch_target_s": plan.epoch_s,
            "seed": plan.seed,
            "options": dict(plan.options),
            "requests": None if plan.requests is None else asdict(plan.requests),
        },
        "power": {"cap_w": plan.cap_w, "state": plan.state},
        "sampling": {"meter": plan.meter},
    }
    for setting in OPTIONAL_SETTINGS:
        if (value := getattr(plan, setting.key)) is not None:
            group, key = setting.pointer[1:].split("/")
            declared[group][key] = value
    return declared


def describe_plan(plan: Plan) -> dict[str, object]:
    """Return the settings of a planned run that its repeats share, by name. Files count by their
    content, and the seed does not count. Raises PlanError if a file that the plan names cannot be
    read."""
    declared = declare_settings(plan)
    weights = hash_named_file(plan.weights)
    declared["settings"] |= {
        "weights": "seeded" if weights is None else f"sha256:{weights}",
        "corpus_sha256": hash_named_file(plan.corpus),
    }
    run = RunDeclaration.from_document(declared)
    return {**_describe(run), "source_sha256": plan.source_sha256}


def describe_run(run: RunDeclaration, environment: EnvironmentDeclaration) -> dict[str, object]:
    """Return the same of a finished run."""
    return {**_describe(run), "source_sha256": environment.source_sha256}


def _describe(run: RunDeclaration) -> dict[str, object]:
    return {s.label or s.key: s.read(run) for s in SETTINGS if s.is_planned}


def hash_named_file(path: str | None) -> str | None:
    """Return the SHA-256 of weights or a corpus that a plan names; None if it names none. Raises
    PlanError if it cannot be read."""
    try:
        return None if path is None else hash_input(path)
    except OSError as error:
        raise PlanError(f"{error.filename}: cannot be read ({error.strerror})") from None
