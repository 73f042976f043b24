"""The figures of a run as result.json states them: written, read back, and compared."""

import math
from collections.abc import Iterator
from typing import Any

from rules.bundle_format.records import Json
from rules.declarations.run import RunDeclaration
from rules.json_record import from_json, to_json
from rules.metrics.energy import MetricsError
from rules.metrics.figures import FIGURES, Estimate, IdleFigures, RunFigures
from rules.metrics.sweeps.points import SweepRun
from rules.protocol import PROTOCOLS

_ALWAYS_KNOWN = (
    "items_per_s_per_accelerator",
    "items_per_s",
    "mean_power_w_per_accelerator",
    "energy_j_trapezoid",
)
"""The schema allows null for every figure, but these can be computed wherever there are batches."""


def figures_to_json(figures: RunFigures) -> Json:
    """The keys of result.json that hold figures: `epochs`, `headline`, `energy_of_record`,
    `observed` and, of a run that served, `serving`."""
    document: Json = to_json(figures)
    for epoch in document["epochs"]:
        epoch["figures"] = {name: epoch.pop(name) for name in FIGURES}
        epoch["accelerators"] = epoch.pop("accelerators")
    if figures.serving is None:
        del document["serving"]
    return document


def figures_from_json(result: Json) -> RunFigures:
    """The figures that a result.json states; extensions are left out.

    Raises MetricsError where a figure that every run has is null.
    """
    for name in _ALWAYS_KNOWN:
        if result["headline"][name] is None:
            raise MetricsError(f"the run {result['run_id']} states no {name}")
    epochs = [{**epoch, **epoch["figures"]} for epoch in result["epochs"]]
    document = {"serving": None, **result, "epochs": epochs}
    return from_json(RunFigures, document, is_validated=True)


def idle_to_json(idle: IdleFigures) -> Json:
    """The keys `idle` and `phases` of result.json."""
    return {"idle": to_json(idle.boards), "phases": to_json(idle.phases)}


def idle_from_json(result: Json) -> IdleFigures | None:
    """The idle figures that a result.json states; None if it states none."""
    if "idle" not in result or "phases" not in result:
        return None
    return from_json(IdleFigures, {**result, "boards": result["idle"]}, is_validated=True)


def sweep_run_from_json(result: Json) -> SweepRun:
    """What a comparison with other runs needs of a result.json. Raises MetricsError as
    `figures_from_json` does."""
    run = RunDeclaration.from_document(result)
    node = result.get("node") or {}
    joules_per_item, mean_power_w = (
        from_json(Estimate, node[name], is_validated=True) if node.get(name) else None
        for name in ("joules_per_item", "mean_power_w")
    )
    return SweepRun(
        run_id=run.run_id,
        cap_w=run.power.cap_w,
        default_caps_w=run.default_caps_w,
        max_peak_share=PROTOCOLS[run.protocol].max_peak_share,
        figures=figures_from_json(result),
        node_joules_per_item=joules_per_item,
        node_mean_power_w=mean_power_w,
    )


def find_differences(
    pointer: str, stated: Any, computed: Any, tolerance: float, absolute: float = 0.0
) -> Iterator[tuple[str, Any, Any]]:
    """Pointer, stated and computed value of every leaf that differs. Keys that only `stated` has
    are extensions of the format and are skipped. Numbers may differ by the share `tolerance`,
    or by `absolute`."""
    if stated == computed:
        return
    if isinstance(stated, dict) and isinstance(computed, dict):
        # The schema requires the mandatory keys. Older harnesses did not write the others.
        for key in filter(stated.__contains__, computed):
            yield from find_differences(
                f"{pointer}/{key}", stated[key], computed[key], tolerance, absolute
            )
    elif isinstance(stated, list) and isinstance(computed, list) and len(stated) == len(computed):
        for i, (stated_item, computed_item) in enumerate(zip(stated, computed, strict=True)):
            yield from find_differences(
                f"{pointer}/{i}", stated_item, computed_item, tolerance, absolute
            )
    elif isinstance(stated, (int, float)) and isinstance(computed, (int, float)):
        # Libraries sum in different orders, so the last digits may differ.
        if not math.isclose(stated, computed, rel_tol=tolerance, abs_tol=absolute):
            yield pointer, stated, computed
    elif stated != computed:
        yield pointer, _abbreviate(stated), _abbreviate(computed)


def _abbreviate(value: Any) -> Any:
    return f"{len(value)} entries" if isinstance(value, (dict, list)) else value
