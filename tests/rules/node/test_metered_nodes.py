"""The figures of several nodes, each with a clock of its own, and of meters with several feeds."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest
from support.rules.metered_nodes import ITEMS, MeteredNode, MeteredRun

from rules.metrics.energy import MetricsError
from rules.metrics.node.level import combine_accuracy

NODE = MeteredNode("a", {("pdu", "A"): 450.0, ("pdu", "B"): 350.0})
OTHER = MeteredNode(
    "b",
    {("pdu", "A"): 900.0, ("bmc", "in"): 100.0},
    edges_s=(7000, 7021, 7062, 7104),
    board_w=600.0,
)
NODES = (NODE, OTHER)


@pytest.mark.parametrize("nodes", [NODES[:1], NODES[1:], NODES])
def test_energies_of_nodes_add_up_and_their_times_are_averaged(
    nodes: Sequence[MeteredNode],
) -> None:
    """Each node counts over its own epochs, with its own feeds and boards."""
    figures = MeteredRun(nodes).compute()
    powers = [sum(node.feeds_w.values()) for node in nodes]
    energies_j, boards_j, spans_s = [], [], []
    for epoch in range(3):
        lengths = [list(pairwise(node.edges_s))[epoch] for node in nodes]
        seconds = [end_s - start_s for start_s, end_s in lengths]
        energies_j.append(sum(p * s for p, s in zip(powers, seconds, strict=True)))
        boards_j.append(sum(n.board_w * s for n, s in zip(nodes, seconds, strict=True)))
        spans_s.append(sum(seconds) / len(nodes))
        of_epoch = figures.epochs[epoch]
        assert of_epoch.energy_j == pytest.approx(energies_j[epoch])
        assert of_epoch.mean_power_w == pytest.approx(energies_j[epoch] / spans_s[epoch])
        assert of_epoch.over_accelerators == pytest.approx(energies_j[epoch] / boards_j[epoch])
        assert of_epoch.joules_per_item == pytest.approx(energies_j[epoch] / len(nodes) / ITEMS)
    headline, scored_j = figures.headline, sum(energies_j[1:])
    assert headline.mean_power_w.mean == pytest.approx(scored_j / sum(spans_s[1:]))
    assert headline.over_accelerators is not None
    assert headline.over_accelerators.mean == pytest.approx(scored_j / sum(boards_j[1:]))
    # The grid ends with the shortest node, before the power of any other time.
    assert headline.max_power_w == pytest.approx(sum(powers))
    assert headline.median_power_w == pytest.approx(sum(powers))


def test_node_without_a_meter_is_named() -> None:
    with pytest.raises(MetricsError, match="no meter measures the node b, which took part"):
        MeteredRun((NODE, replace(OTHER, feeds_w={}))).compute()


@pytest.mark.parametrize(("epoch_s", "by_epoch"), [(9, True), (8, False)])
def test_ten_readings_of_each_epoch_give_figures_by_epoch(epoch_s: int, by_epoch: bool) -> None:
    short = replace(OTHER, edges_s=(7000, 7040, 7080, 7080 + epoch_s))
    figures = MeteredRun((NODE, short)).compute()
    assert figures.headline.by_epoch is by_epoch
    assert figures.headline.mean_power_w.n == (2 if by_epoch else 1)


@pytest.mark.parametrize(("readings", "are_enough"), [(30, True), (29, False)])
def test_thirty_readings_of_each_feed_give_figures_of_the_run(
    readings: int, are_enough: bool
) -> None:
    """Scored epochs of few readings each, 10 s apart."""
    edges_s = (7000, 7010, 7020, 7010 + 10 * (readings - 1))
    rare = replace(OTHER, edges_s=edges_s, interval_s=10, lead_s=10, tail_s=10)
    run = MeteredRun((NODE, rare))
    if are_enough:
        assert not run.compute().headline.by_epoch
    else:
        with pytest.raises(MetricsError, match="feed A of meter pdu has 29 readings"):
            run.compute()


@pytest.mark.parametrize(("lead_s", "epochs"), [(0, [0, 1, 2]), (-1, [1, 2])])
def test_discarded_epoch_has_figures_where_the_readings_cover_it(
    lead_s: int, epochs: list[int]
) -> None:
    assert list(MeteredRun((NODE, replace(OTHER, lead_s=lead_s))).compute().epochs) == epochs


# The level of the measurement


@pytest.mark.parametrize(
    ("accuracies_percent", "combined_percent"),
    [
        ({"a": 1.4}, 1.4),
        ({"a": 1.4, "b": 1.4}, 1.4 / math.sqrt(2)),
        ({"a": 1.0, "b": 3.0}, 3.0 / math.sqrt(2)),
        ({"a": 0.5, "b": 3.1}, 3.1),
        ({"a": 1.0, "b": None}, None),
    ],
)
@pytest.mark.parametrize("feeds", [1, 2, 4])
def test_errors_of_meters_average_out_and_those_of_their_feeds_do_not(
    accuracies_percent: dict[str, float | None], combined_percent: float | None, feeds: int
) -> None:
    meters = [
        SimpleNamespace(id=id, accuracy_percent=percent)
        for id, percent in accuracies_percent.items()
        for _ in range(feeds)
    ]
    expected = combined_percent if combined_percent is None else pytest.approx(combined_percent)
    assert combine_accuracy(meters) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "accuracy_percent", "level"),
    [
        ({}, 1.0, 3),
        ({"counter": False}, 1.0, 2),
        ({}, 1.01, 2),
        ({}, 2.0, 2),
        ({}, 2.01, 1),
        ({}, 5.0, 1),
        ({}, 5.01, 0),
        # From the first scored batch to the last: 60 s and 59 s.
        ({"edges_s": (7000, 7020, 7050, 7080)}, 1.0, 3),
        ({"edges_s": (7000, 7020, 7050, 7079)}, 1.0, 0),
        # 5 s before the first scored batch, after a discarded epoch of 20 s.
        ({"edges_s": (7000, 7020, 7060, 7100), "lead_s": -15}, 1.0, 3),
        ({"edges_s": (7000, 7020, 7060, 7100), "lead_s": -16}, 1.0, 1),
        ({"tail_s": 5}, 1.0, 3),
        ({"tail_s": 4}, 1.0, 1),
        ({"interval_s": 2}, 1.0, 0),
    ],
)
def test_level_is_that_of_the_node_that_is_measured_worst(
    changes: dict[str, object], accuracy_percent: float, level: int
) -> None:
    nodes = (NODE, replace(OTHER, feeds_w={("pdu", "A"): 1000.0}, **changes))  # type: ignore[arg-type]
    figures = MeteredRun(nodes, {"pdu": accuracy_percent}).compute()
    assert figures.headline.level == level
