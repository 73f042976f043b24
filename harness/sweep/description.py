"""The description of a planned sweep: its runs, the expected time, and what it cannot show."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from harness.power.source import Readback
from harness.run.plan import Plan
from harness.run.planning import copy_optional, find_standing
from harness.run.progress import format_minutes
from harness.sweep.axis import CAP, GPUS, PRECISION, SM_CLOCK, VARIANT
from harness.sweep.plan import Sweep, estimate_start_s
from rules.finding import format_count
from rules.workloads import workloads


def describe_plan(sweep: Sweep, plan: Plan) -> Iterator[str]:
    """Yield lines that describe the plan to the user: the runs and their order, the expected time,
    and the changes on the node meanwhile."""
    run_request, entries = sweep.run_request, sweep.entries
    sets_caps = any(e.cap_w is not None for e in entries)
    run_s = plan.epochs * plan.epoch_s + 2 * plan.idle_s + estimate_start_s(run_request)
    name = plan.devices[0].name
    variant = "" if {VARIANT.name, PRECISION.name} & {*sweep.axis_names} else f" {plan.variant}"
    yield (
        f"sweep {sweep.id}: {run_request.workload}{variant}, {plan.scale}, "
        f"on {name}, standing {' or '.join(_list_standings(sweep, plan))}"
    )
    yield format_count(len(entries), "run") + (
        f", {sweep.order} (seed {run_request.seed}):" if len(entries) > 1 else ":"
    )
    yield from (f"  {e.place:3d}  {sweep.describe(e)}" for e in entries)
    # With another axis, runs on as many accelerators are compared with each other.
    compared_axes = [axis for axis in sweep.axes if axis.name != GPUS.name] or sweep.axes
    # Caps alone are compared with the default cap, as `find_remarks` has it.
    if sweep.reference or [axis.name for axis in compared_axes] != [CAP.name]:
        values = [
            "the default cap"
            if axis.name == CAP.name and CAP.name not in sweep.reference
            else axis.label(sweep.reference.get(axis.name))
            for axis in compared_axes
        ]
        yield f"the other runs are compared with {', '.join(values)} (--reference)"
    yield (
        f"each run warms up at its own settings: of its {plan.epochs} epochs of {plan.epoch_s:g} s "
        "the first is discarded"
    )
    yield (
        f"expected time: {format_minutes(len(entries) * run_s)}, assuming "
        f"{estimate_start_s(run_request):g} s per run to build, warm up and calibrate"
    )
    boards = ", ".join(d.uuid for d in plan.devices)
    locks_clocks = any(SM_CLOCK.read(entry.apply(run_request)) for entry in entries)
    changed_settings = [
        name
        for name, changes in (("the power cap", sets_caps), ("the SM clock", locks_clocks))
        if changes
    ]
    changes = (
        f"{' and '.join(changed_settings)} of {boards}, set before each run and restored after it"
    )
    yield (
        "changes during the sweep: "
        f"{changes if changed_settings else 'none; the caps stay as found'}"
    )


def _list_standings(sweep: Sweep, plan: Plan) -> list[str]:
    """The standings of the runs. Some variants are open, and so are runs at a locked SM clock."""
    workload = workloads()[plan.workload]
    run_requests = [entry.apply(sweep.run_request) for entry in sweep.entries]
    plans = [
        replace(plan, variant=request.variant, **copy_optional(request)) for request in run_requests
    ]
    return sorted({find_standing(run_plan, workload) for run_plan in plans})


def find_remarks(sweep: Sweep, limits: Mapping[str, Readback]) -> Iterator[str]:
    """Yield notes on what a sweep cannot show."""
    caps_w = {entry.cap_w for entry in sweep.entries}
    defaults_w = {
        readback.default_mw / 1e3 for readback in limits.values() if readback.default_mw is not None
    }
    needs_default = CAP.name in sweep.axis_names and CAP.name not in sweep.reference
    if needs_default and caps_w != {None} and len(defaults_w) == 1 and not defaults_w & caps_w:
        yield (
            f"note: the default cap, {defaults_w.pop():g} W, is not among the caps, so no cap will "
            "be compared with it"
        )
    # The fit of simulated work knows caps and clocks, and the precisions of control runs.
    modelled = {CAP.name, SM_CLOCK.name, GPUS.name}
    unmodelled = [axis for axis in sweep.axes if axis.name not in modelled]
    is_control = workloads()[sweep.run_request.workload].is_control
    if sweep.run_request.simulates_work and unmodelled and not is_control:
        names = " and ".join(axis.column for axis in unmodelled)
        yield (
            f"note: simulated throughput and power do not depend on {names}, so the sweep shows "
            "how runs are made and compared, and no effect"
        )
    yield from _describe_variants(sweep)


def _describe_variants(sweep: Sweep) -> Iterator[str]:
    """Yield which variants a sweep over variants or precisions runs, and what differs between
    them."""
    workload = workloads()[sweep.run_request.workload]
    variants = sorted({entry.apply(sweep.run_request).variant for entry in sweep.entries})
    if len(variants) < 2:
        return
    batch = "" if sweep.run_request.batch is None else f", all with batch {sweep.run_request.batch}"
    labels = ", ".join(f"{name} ({workload.variants[name]})" for name in variants)
    yield f"variants: {labels}{batch}"
    if {*variants} <= {*workload.precision_variants}:
        yield "these variants differ in precision only"
        return
    names = sorted({name for variant in variants for name in workload.fixed.get(variant, ())})
    if differing_names := [
        name
        for name in names
        if len({workload.fixed.get(variant, {}).get(name) for variant in variants}) > 1
    ]:
        yield f"note: these variants differ in {', '.join(differing_names)}"
