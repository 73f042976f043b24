"""What the terminal says of a finished run: three lines, and its details with `--verbose`."""

from collections.abc import Iterator
from dataclasses import replace

from harness.run.plan import SIMULATED_WORK
from rules.bundle_format.records import Json
from rules.declarations.run import RunDeclaration
from rules.finding import format_count
from rules.metrics.figures import Percentiles, RunFigures
from rules.metrics.figures_json import figures_from_json, idle_from_json
from rules.metrics.idle import IdleSummary, summarize_idle
from rules.metrics.imbalance import compute_imbalance
from rules.metrics.uncertainty.systematic import compute_sensor_term
from rules.metrics.uncertainty.within_run import describe_epochs
from rules.workloads import pluralize_item, workloads

SIMULATED_METER = "simulated:"
"""The beginning of the name of a meter that reads simulated boards."""


def summarize_results(result: Json) -> Iterator[str]:
    """Yield the two lines that describe result.json to whoever sees a run for the first time:
    throughput, with its interval within the run, and energy, with the mean power and the cap."""
    declaration = RunDeclaration.from_document(result)
    workload, size = workloads()[declaration.workload], declaration.size
    figures = figures_from_json(result)
    headline = describe_epochs(figures).headline
    is_shared = declaration.settings.accelerators > 1
    rate = f"throughput: {headline.items_per_s.mean:.6g} {workload.rate_unit(size)}"
    if is_shared:
        rate += f" ({headline.items_per_s_per_accelerator.mean:.6g} per accelerator)"
    if is_computed_by_cpu(declaration):
        yield f"{rate}, computed by the CPU"
        yield "energy: none, because the power is that of simulated boards"
        return
    if headline.items_per_s.ci95 is not None and headline.items_per_s.mean > 0:
        width = 100 * headline.items_per_s.half_width / headline.items_per_s.mean
        rate += f" \u00b1 {width:.2g} % within this run (95 %)"
    if figures.serving:
        rate += f", median latency {figures.serving.latency_s.p50:.4g} s"
    yield rate
    item, joules, items = workload.item_of(size), headline.joules_per_item, headline.items_per_joule
    energy = "" if joules is None else f"{joules.mean:.4g} J/{item}, "
    energy += "" if items is None else f"{items.mean:.4g} {pluralize_item(item)}/J, "
    cap_w = declaration.power.cap_w
    cap = "without a cap" if cap_w is None else f"at a cap of {cap_w:g} W"
    board = " per accelerator" if is_shared else ""
    yield (
        f"energy: {energy}mean power {headline.mean_power_w_per_accelerator.mean:.1f} W{board} "
        f"{cap}"
    )


def is_computed_by_cpu(declaration: RunDeclaration) -> bool:
    """Whether a CPU ran the code beside simulated boards. Then only the throughput means
    something."""
    is_simulated = declaration.sampling.meter.startswith(SIMULATED_METER)
    return is_simulated and declaration.implementation.name != SIMULATED_WORK


def describe_results(result: Json) -> Iterator[str]:
    """Yield the lines that describe result.json of a finished run in detail: throughput and energy,
    differences between accelerators, and the latencies of a server."""
    declaration = RunDeclaration.from_document(result)
    workload, size = workloads()[declaration.workload], declaration.size
    figures = figures_from_json(result)
    headline = figures.headline
    is_simulated = declaration.sampling.meter.startswith(SIMULATED_METER)
    per_accelerator, unit = "", "W"
    if declaration.settings.accelerators > 1:
        rate_per_s = headline.items_per_s_per_accelerator.mean
        per_accelerator, unit = f" ({rate_per_s:.6g} per accelerator)", "W per accelerator"
    rate = f"{headline.items_per_s.mean:.6g} {workload.rate_unit(size)}"
    if is_computed_by_cpu(declaration):
        yield f"{rate}{per_accelerator}, computed by the CPU; the power is that of simulated boards"
        return
    energy = f"{headline.mean_power_w_per_accelerator.mean:.1f} {unit}"
    if headline.joules_per_item is not None:
        energy += f", {headline.joules_per_item.mean:.4g} J/{workload.item_of(size)}"
    # Simulated work takes the time of the full workload, and counts the FLOPs of the small one.
    stated_mfu = None if is_simulated else headline.mfu
    mfu = "" if stated_mfu is None else f", MFU {100 * stated_mfu.mean:.1f} %"
    yield f"{rate}{per_accelerator}, {energy}{mfu}"
    yield from _describe_epochs(figures, declaration.settings.accelerators)
    if imbalance := compute_imbalance(figures.epochs):
        differences = (
            ("active time", imbalance.active_time),
            ("power", imbalance.mean_power),
            ("SM clock", imbalance.mean_sm_clock),
        )
        yield "differences between accelerators: " + ", ".join(
            f"{name} {100 * share:.2f} %" for name, share in differences if share is not None
        )
    if idle := idle_from_json(result):
        summary = summarize_idle(idle, headline)
        yield _describe_idle(replace(summary, unused_boards=0) if is_simulated else summary)
    if serving := figures.serving:
        yield f"time to first token: {_format_percentiles(serving.ttft_s, 's')}"
        yield f"per output token: {_format_percentiles(serving.tpot_s, 'ms', 1000)}"
        yield f"latency: {_format_percentiles(serving.latency_s, 's')}"
        yield f"{serving.input_tokens_per_s:.6g} input tokens/s over {serving.requests} requests"


def _describe_epochs(figures: RunFigures, accelerators: int) -> Iterator[str]:
    """Yield a line on what one run tells: intervals within it, the sensor term of its energy, and
    its drift."""
    within_run = describe_epochs(figures)
    term = compute_sensor_term(figures.headline)
    sensor = "" if term is None else f", sensor term {100 * term:.2g} %"
    described = (
        ("throughput", within_run.headline.items_per_s, "", within_run.items_per_s),
        (
            "energy per item",
            within_run.headline.joules_per_item,
            sensor,
            within_run.joules_per_item,
        ),
    )
    parts = []
    for name, estimate, systematic, series in described:
        if estimate is None or estimate.ci95 is None or not estimate.mean > 0 or series is None:
            continue
        drift = "" if series.drift is None else f", drift {series.drift}"
        width = f"{100 * estimate.half_width / estimate.mean:.2g} %"
        parts.append(f"{name} \u00b1 {width}{systematic}{drift}")
    if parts:
        boards = format_count(accelerators, "board")
        yield (
            f"within this run (95 %): {'; '.join(parts)}. One run on {boards} does not show how "
            "far other runs or boards are from it"
        )


def _describe_idle(idle: IdleSummary) -> str:
    unused = ""
    if idle.unused_boards:
        power = "" if idle.unused_w is None else f", {idle.unused_w:.0f} W"
        busy = f", {idle.busy_boards} busy with other work" if idle.busy_boards else ""
        unused = f"; unused boards: {idle.unused_boards}{power}{busy}"
    return (
        f"idle {idle.bare_w:.1f} W, with the model {idle.resident_w:.1f} W per accelerator "
        f"({100 * idle.idle_share:.1f} % of load); {idle.preparation_s:.0f} s and "
        f"{idle.preparation_j / 1e3:.4g} kJ before the first scored epoch{unused}"
    )


def _format_percentiles(times_s: Percentiles, unit: str, units_per_s: int = 1) -> str:
    return ", ".join(
        f"{name} {time_s * units_per_s:.4g} {unit}" for name, time_s in vars(times_s).items()
    )
