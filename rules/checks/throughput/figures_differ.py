"""Stated figures differ from the evidence

## What it does
Recomputes from samples and batches every figure of every epoch and accelerator, the headline
figures, the observed powers and the serving figures, and from node samples the figures of nodes,
and compares them with result.json. T103 compares spread and intervals. Under rule book 1.5.0 and
later, headline figures are ratios of sums over the scored epochs. Under earlier ones, they are
means of the epochs.

## Why it is bad
Readers cite the stated figures.

## What to do
Submit result.json and the tables as `bench-submit` wrote them. To write result.json yourself, use
`rules.metrics.run.compute_figures`.

## Source
Protocol, section "what counts"; `rules/metrics/run.py`.
"""

from collections.abc import Iterator
from typing import Any

from rules.bundle import Bundle
from rules.bundle_format.records import Json
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.json_record import to_json
from rules.metrics.figures import FIGURES
from rules.metrics.figures_json import figures_to_json, find_differences
from rules.metrics.node.figures import add_node_figures
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T102", Severity.ERROR, waivable=False)

NOT_FIGURES = ("scored", "loss", "losses")
"""Keys of an epoch that other rules compare."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.stated_figures is None:
        return
    result, computed = bundle.result, figures_to_json(bundle.stated_figures)
    if bundle.node_figures is not None:
        add_node_figures(computed, bundle.node_figures)
    computed_epochs = {epoch["epoch"]: epoch for epoch in computed["epochs"]}
    pairs: list[tuple[str, Any, Any]] = [
        (
            f"/epochs/{i}",
            {key: value for key, value in epoch.items() if key not in NOT_FIGURES},
            computed_epochs[epoch["epoch"]],
        )
        for i, epoch in enumerate(result["epochs"])
        # P101 reports epochs that the tables do not have.
        if epoch["epoch"] in computed_epochs
    ]
    # T103 compares n, spread and interval, which have a tolerance relative to the mean.
    pairs.append(("/headline", _take_means(result["headline"]), _take_means(computed["headline"])))
    pairs.append(("/observed", result["observed"], computed["observed"]))
    if "serving" in computed:
        pairs.append(("/serving", result.get("serving"), computed["serving"]))
    if "node" in result or bundle.node_figures is not None:
        pairs.append(("/node", _take_node_means(result.get("node")), _compute_node_means(bundle)))
    for pointer, stated_json, computed_json in pairs:
        differences = find_differences(
            pointer, stated_json, computed_json, bundle.protocol.recompute_tolerance
        )
        for leaf_pointer, stated, expected in differences:
            yield Violation(
                RESULT, leaf_pointer, str(stated), f"{expected}, recomputed from the tables"
            )


def _take_means(headline: Json) -> Json:
    figures = {name: headline[name] for name in FIGURES if name in headline}
    return {name: figure if figure is None else figure["mean"] for name, figure in figures.items()}


def _compute_node_means(bundle: Bundle) -> Json | None:
    if bundle.node_figures is None:
        return None
    return _take_node_means(to_json(bundle.node_figures.headline))


def _take_node_means(node: Json | None) -> Json | None:
    if node is None:
        return None
    return {
        name: figure["mean"] if isinstance(figure, dict) else figure
        for name, figure in node.items()
        # N112 compares the level.
        if name != "level"
    }
