"""Compares what a worker built with the plan of its run."""

from harness.run.plan import Plan
from harness.run.workers.worker_events import WorkloadBuilt
from rules.workloads import workloads


def describe_mismatch(plan: Plan, built: WorkloadBuilt) -> str | None:
    """Return why a rank has not built the workload of the plan on an accelerator of the plan, and
    what to do; None if it has. A mistake then ends the run before its first epoch, not after the
    last."""
    run, rank = plan.configuration, built.rank
    workload = workloads()[run.workload]
    size = workload.apply_options(workload.size(run.size, run.variant), run.options)
    for actual, defined in (
        (f"{built.parameters} parameters", f"{size.parameters} parameters"),
        (f"input shape {list(built.input_shape)}", f"input shape {list(size.input_shape)}"),
    ):
        # An open run may change the model. Closed runs and demos must not.
        if actual != defined and plan.standing != "open":
            return (
                f"rank {rank} built a model with {actual}; {run.workload} has {defined}; "
                "build the model as the workload defines it"
            )
    if foreign := set(built.accelerators) - {device.uuid for device in plan.devices}:
        return (
            f"rank {rank} computes on {', '.join(sorted(foreign))}, which is not one of the "
            "plan's accelerators; use the device that the job names"
        )
    if built.implementation_sha256 != run.implementation_sha256:
        return (
            f"rank {rank} has loaded another {run.implementation} than was planned; has its file "
            "changed?"
        )
    if run.corpus is not None and built.corpus_sha256 is None:
        return f"{run.implementation} does not train on a corpus; leave out --corpus"
    if run.weights is not None and built.weights_sha256 is None:
        return f"{run.implementation} does not load weights; leave out --weights"
    return None
