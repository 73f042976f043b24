"""The figures of a run as result.json states them: written, read back, and compared."""

import math
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from rules.bundle_format.records import Json
from rules.declarations.run import RunDeclaration
from rules.metrics.energy import MetricsError
from rules.metrics.figures import (
    FIGURES,
    AcceleratorFigures,
    BoardIdle,
    EpochFigures,
    Estimate,
    Headline,
    IdleFigures,
    ObservedPower,
    Percentiles,
    PhaseFigures,
    RunFigures,
    ServingFigures,
)
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
    # `vars` and not `dataclasses.asdict`: the checker does this for every bundle, and asdict copies
    # value by value.
    document: Json = {
        "epochs": [_epoch_to_json(epoch) for epoch in figures.epochs],
        "headline": headline_to_json(figures.headline),
        "energy_of_record": figures.energy_of_record,
        "observed": [dict(vars(observed)) for observed in figures.observed],
    }
    if figures.serving is not None:
        document["serving"] = {
            name: dict(vars(value)) if isinstance(value, Percentiles) else value
            for name, value in vars(figures.serving).items()
        }
    return document


def headline_to_json(headline: Headline) -> Json:
    """The key `headline` of result.json."""
    return {
        name: None if estimate is None else _estimate_to_json(estimate)
        for name, estimate in vars(headline).items()
    }


def _epoch_to_json(epoch: EpochFigures) -> Json:
    values = vars(epoch)
    return {
        **{name: values[name] for name in ("epoch", "scored", "items", "active_s")},
        "figures": {name: values[name] for name in FIGURES},
        "accelerators": [dict(vars(accelerator)) for accelerator in epoch.accelerators],
    }


def _estimate_to_json(estimate: Estimate) -> Json:
    return {**vars(estimate), "ci95": None if estimate.ci95 is None else list(estimate.ci95)}


def figures_from_json(result: Json) -> RunFigures:
    """The figures that a result.json states; extensions are left out.

    Raises MetricsError where a figure that every run has is null.
    """
    # By the known names, because a bundle may hold extensions (`x-…`).
    headline = {name: result["headline"][name] for name in FIGURES}
    for name in _ALWAYS_KNOWN:
        if headline[name] is None:
            raise MetricsError(f"the run {result['run_id']} states no {name}")
    serving = result.get("serving")
    return RunFigures(
        epochs=tuple(_epoch_from_json(epoch) for epoch in result["epochs"]),
        headline=Headline(
            **{name: stated and _estimate_from_json(stated) for name, stated in headline.items()}
        ),
        energy_of_record=result["energy_of_record"],
        observed=tuple(
            ObservedPower(**_known(stated, ObservedPower)) for stated in result["observed"]
        ),
        serving=None if serving is None else _serving_from_json(serving),
    )


def _epoch_from_json(epoch: Json) -> EpochFigures:
    return EpochFigures(
        epoch=epoch["epoch"],
        scored=epoch["scored"],
        items=epoch["items"],
        active_s=epoch["active_s"],
        **{name: epoch["figures"][name] for name in FIGURES},
        accelerators=tuple(
            AcceleratorFigures(**_known(stated, AcceleratorFigures))
            for stated in epoch["accelerators"]
        ),
    )


def _estimate_from_json(stated: Json) -> Estimate:
    ci95 = stated["ci95"]
    return Estimate(stated["mean"], stated["n"], stated["sd"], ci95 and (ci95[0], ci95[1]))


def _serving_from_json(stated: Json) -> ServingFigures:
    return ServingFigures(
        stated["requests"],
        stated["input_tokens_per_s"],
        *(
            Percentiles(**_known(stated[name], Percentiles))
            for name in ("ttft_s", "tpot_s", "latency_s")
        ),
    )


def idle_to_json(idle: IdleFigures) -> Json:
    """The keys `idle` and `phases` of result.json."""
    return {
        "idle": [dict(vars(board)) for board in idle.boards],
        "phases": [dict(vars(phase)) for phase in idle.phases],
    }


def idle_from_json(result: Json) -> IdleFigures | None:
    """The idle figures that a result.json states; None if it states none."""
    if "idle" not in result or "phases" not in result:
        return None
    return IdleFigures(
        tuple(BoardIdle(**_known(stated, BoardIdle)) for stated in result["idle"]),
        tuple(PhaseFigures(**_known(stated, PhaseFigures)) for stated in result["phases"]),
    )


def _known(stated: Json, record: type) -> Json:
    """Those keys of a JSON object that are fields of the record."""
    return {field.name: stated[field.name] for field in fields(record)}


def sweep_run_from_json(result: Json) -> SweepRun:
    """What a comparison with other runs needs of a result.json. Raises MetricsError as
    `figures_from_json` does."""
    run = RunDeclaration.from_document(result)
    return SweepRun(
        run_id=run.run_id,
        cap_w=run.power.cap_w,
        default_caps_w=run.default_caps_w,
        max_peak_share=PROTOCOLS[run.protocol].max_peak_share,
        figures=figures_from_json(result),
        node_joules_per_item=((result.get("node") or {}).get("joules_per_item") or {}).get("mean"),
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
