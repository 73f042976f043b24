"""The part on energy of the technical documentation that the EU asks of providers of
general-purpose models, in Markdown.

Source: Regulation (EU) 2024/1689, Annex XI, section 1, point 2 (d) computational resources and (e)
known or estimated energy consumption.
"""

from harness.exports.run import ExportedRun
from rules.metrics.figures import Estimate

UNITS_J = (("GWh", 3.6e12), ("MWh", 3.6e9), ("kWh", 3.6e6), ("Wh", 3.6e3))
SOURCES = {
    "counter": "energy counters of the boards",
    "trapezoid": "trapezoid over power samples of the boards",
}


def export(run: ExportedRun, items: float | None = None) -> str:
    """The part as Markdown, with an estimate for a number of items (tokens, images) if given."""
    declaration, workload = run.bundle.declaration, run.bundle.workload
    rate, joules = run.figures.headline.items_per_s, run.joules_per_item
    active_s = sum(epoch.active_s for epoch in run.figures.scored_epochs)
    size = run.bundle.size
    rows = [
        ("workload", f"{workload.title if workload else declaration.workload}, {_describe(run)}"),
        ("run", f"{declaration.run_id}, {declaration.started_at} to {declaration.ended_at}"),
        ("accelerators", f"{run.boards}, {_describe_cap(run)}"),
        ("work measured", f"{run.items:,} {run.item}s in {active_s:,.0f} s".replace(",", " ")),
    ]
    # The operations of a whole training depend on its steps.
    if size is not None and size.target is None:
        operations = run.items * size.flops_per_item
        rows.append(("floating point operations of this work", f"{operations:.4g}"))
    rows += [
        ("throughput", f"{_format(rate)} {run.item}s/s"),
        ("energy of this work, measured", _format_energy(run.energy_j)),
        (f"energy per {run.item}", f"{_format(joules)} J"),
    ]
    if items is not None:
        rows.append((f"energy of {items:.4g} {run.item}s, estimated", _estimate(joules, items)))
    rows += [
        ("method", f"{SOURCES[run.figures.energy_of_record]}, {_METHOD}"),
        ("scope", _SCOPE),
        ("uncertainty", _UNCERTAINTY),
        ("evidence", f"SHA-256 of the manifest {run.manifest_sha256}, {_describe_signature(run)}"),
    ]
    lines = [f"| {name} | {value} |" for name, value in rows]
    return "\n".join([_TITLE, "", "| | |", "|---|---|", *lines, "", _NOTE])


_TITLE = (
    "## Computational resources and energy (Regulation (EU) 2024/1689, Annex XI, section 1, "
    "point 2 (d) and (e))"
)
_METHOD = (
    "over the scored epochs, after a discarded epoch, recomputed from the samples of the bundle"
)
_SCOPE = "accelerators alone; host, network, storage and cooling are not in it"
_UNCERTAINTY = (
    "95 % interval within this run, without the error of the power sensor and the difference "
    "between boards and runs"
)
_NOTE = (
    "The run is a benchmark of the workload, and not the training of a model that is placed on the "
    "market: state what else that training did, such as trials, restarts and evaluation."
)


def _describe(run: ExportedRun) -> str:
    return f"variant {run.bundle.variant}, {run.bundle.precision}, batch {run.bundle.batch_size}"


def _describe_cap(run: ExportedRun) -> str:
    return "no power cap" if run.bundle.cap_w is None else f"power cap {run.bundle.cap_w:g} W"


def _describe_signature(run: ExportedRun) -> str:
    return "signed" if run.is_signed else "not signed"


def _format(estimate: Estimate) -> str:
    """A mean with half of its 95 % interval, if it has one."""
    spread = f" ± {estimate.half_width:.2g}" if estimate.ci95 else ""
    return f"{estimate.mean:.5g}{spread}"


def _estimate(joules: Estimate, items: float) -> str:
    """The energy of a number of items, with its interval."""
    low, high = joules.ci95 or (joules.mean, joules.mean)
    mean, low_text, high_text = (_format_energy(j * items) for j in (joules.mean, low, high))
    return f"{mean} [{low_text}, {high_text}]"


def _format_energy(energy_j: float) -> str:
    unit, unit_j = next((u for u in UNITS_J if energy_j >= u[1]), UNITS_J[-1])
    return f"{energy_j / unit_j:.4g} {unit}"
