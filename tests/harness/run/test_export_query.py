"""The query of docs/monitoring.md for J per item, on the scrapes of a run of one minute."""

import re
from itertools import pairwise
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs/monitoring.md"
SETUP_S, EPOCH_S, EPOCHS = 4.0, 5.0, 11
SETUP_W, BUSY_W = 350.0, 690.0
ITEMS_PER_EPOCH = 100.0
TRUTH_J = BUSY_W * EPOCH_S / ITEMS_PER_EPOCH


def scrape(time_s: float) -> tuple[float, float]:
    """The energy counter in J and the items of ended epochs."""
    busy_s = max(time_s - SETUP_S, 0.0)
    energy_j = SETUP_W * min(time_s, SETUP_S) + BUSY_W * busy_s
    return energy_j, ITEMS_PER_EPOCH * min(busy_s // EPOCH_S, EPOCHS)


def divide_increases(samples: list[tuple[float, float]]) -> float:
    """The quotient of `increase` of energy and items: both extrapolate by the same factor."""
    (first_j, first_items), (last_j, last_items) = samples[0], samples[-1]
    return (last_j - first_j) / (last_items - first_items)


def test_query_for_joules_per_item_counts_whole_epochs_only() -> None:
    (query,) = re.findall(r"J per item over the last epochs \| `(.*)`", PAGE.read_text())
    scrape_s = 1.0
    samples = [scrape(0.4 + scrape_s * k) for k in range(60)]
    assert divide_increases(samples) > 1.04 * TRUTH_J, "the plain quotient"
    assert query.count("wattmark_items_total > wattmark_items_total offset 5s)[3m:5s]") == 2
    just_ended = [now for before, now in pairwise(samples) if now[1] > before[1]]
    assert abs(divide_increases(just_ended) / TRUTH_J - 1) < scrape_s / (EPOCHS * EPOCH_S)
