"""The arithmetic of the headline figures, on epochs of unequal length, and which rule book uses
which."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import copy_evidence
from support.bundles import rederive

from rules import VERSION
from rules.bundle import Bundle
from rules.metrics.figures import EpochFigures, RunFigures
from rules.metrics.figures_json import figures_from_json
from rules.metrics.headline import apply_rule_book, compute_headline
from rules.registry import rules_by_id
from rules.testing.frames import EvidenceFrames

ITEMS = (0, 100, 300, 100)
ACTIVE_S = (9.0, 10.0, 90.0, 20.0)
POWER_W = (700.0, 700.0, 300.0, 500.0)
"""Power of each of two accelerators."""


def make_epochs() -> tuple[EpochFigures, ...]:
    """Four epochs of very different lengths and rates; the first is not scored."""
    template = figures_from_json(copy_evidence().result).epochs[0]
    assert len(template.accelerators) == 2
    epochs = []
    for epoch, (items, active_s, power_w) in enumerate(zip(ITEMS, ACTIVE_S, POWER_W, strict=True)):
        energy_j = 2 * active_s * power_w
        epochs.append(
            replace(
                template,
                epoch=epoch,
                scored=epoch > 0,
                items=items,
                active_s=active_s,
                items_per_s=items / active_s,
                items_per_s_per_accelerator=items / active_s / 2,
                joules_per_item=energy_j / items if items else None,
                items_per_joule=items / energy_j,
                mean_power_w_per_accelerator=power_w,
                energy_j_counter=energy_j,
                energy_j_trapezoid=1.01 * energy_j,
                mfu=0.01 * items / active_s / 2,
            )
        )
    return tuple(epochs)


def make_figures() -> RunFigures:
    epochs = make_epochs()
    figures = figures_from_json(copy_evidence().result)
    return replace(figures, epochs=epochs, headline=compute_headline(epochs))


def test_headline_is_items_energy_and_time_of_the_run_over_each_other() -> None:
    headline = compute_headline(make_epochs())
    items, active_s = 500, 120.0
    energy_j = 2 * (10 * 700 + 90 * 300 + 20 * 500)
    assert headline.joules_per_item is not None and headline.items_per_joule is not None
    assert headline.mfu is not None and headline.energy_j_counter is not None
    assert headline.items_per_s.mean == pytest.approx(items / active_s)
    assert headline.items_per_s_per_accelerator.mean == pytest.approx(items / active_s / 2)
    assert headline.joules_per_item.mean == pytest.approx(energy_j / items)
    assert headline.items_per_joule.mean == pytest.approx(items / energy_j)
    assert headline.mean_power_w_per_accelerator.mean == pytest.approx(energy_j / active_s / 2)
    assert headline.mfu.mean == pytest.approx(0.01 * items / active_s / 2)
    # Energies have no denominator: they are means over the epochs.
    assert headline.energy_j_counter.mean == pytest.approx(energy_j / 3)
    assert headline.energy_j_trapezoid.mean == pytest.approx(1.01 * energy_j / 3)


def test_interval_is_that_of_a_ratio_of_sums() -> None:
    estimate = compute_headline(make_epochs()).items_per_s
    items, active_s = np.array(ITEMS[1:]), np.array(ACTIVE_S[1:])
    residuals = (items - estimate.mean * active_s) / active_s.mean()
    sd = float(np.sqrt(np.sum(residuals**2) / 2))
    half_width = 4.303 * sd / np.sqrt(3)
    assert (estimate.n, estimate.sd) == (3, pytest.approx(sd))
    assert estimate.ci95 == pytest.approx((estimate.mean - half_width, estimate.mean + half_width))


def test_interval_of_the_ratio_covers_the_true_rate() -> None:
    # 2 000 runs of ten epochs at 700 items/s whose lengths differ by 20 % and times by 2 %.
    random = np.random.default_rng(5)
    template = make_epochs()[1]
    covered = 0
    for _ in range(2000):
        lengths_s = random.normal(30, 6, 10)
        times_s = lengths_s * random.normal(1, 0.02, 10)
        epochs = [
            replace(template, items=round(700 * length_s), active_s=time_s)
            for length_s, time_s in zip(lengths_s, times_s, strict=True)
        ]
        low, high = compute_headline(epochs).items_per_s.ci95 or (0, 0)
        covered += low <= 700 <= high
    assert 0.93 <= covered / 2000 <= 0.97


def test_single_scored_epoch_is_its_own_headline_without_an_interval() -> None:
    epoch = make_epochs()[1]
    headline = compute_headline([epoch])
    for name, estimate in vars(headline).items():
        assert estimate.mean == pytest.approx(getattr(epoch, name))
        assert (estimate.n, estimate.sd, estimate.ci95) == (1, None, None)


def test_figure_that_an_epoch_lacks_is_no_headline() -> None:
    epochs = [replace(epoch, items=0, mfu=None, energy_j_counter=None) for epoch in make_epochs()]
    headline = compute_headline(epochs)
    assert (headline.joules_per_item, headline.mfu, headline.energy_j_counter) == (None,) * 3
    still = [replace(epoch, mean_power_w_per_accelerator=0.0) for epoch in make_epochs()]
    assert compute_headline(still).items_per_joule is None
    frugal = [replace(epoch, mean_power_w_per_accelerator=1e-3) for epoch in make_epochs()]
    assert compute_headline(frugal).items_per_joule is not None


@pytest.mark.parametrize("version", ["1.0.0", "1.4.0"])
def test_earlier_rule_books_average_the_epochs(version: str) -> None:
    headline = apply_rule_book(make_figures(), version).headline
    for name in vars(headline):
        scored = [getattr(epoch, name) for epoch in make_epochs()[1:]]
        assert getattr(headline, name).mean == pytest.approx(float(np.mean(scored)))
        assert getattr(headline, name).sd == pytest.approx(float(np.std(scored, ddof=1)))


def test_this_rule_book_divides_the_sums() -> None:
    figures = apply_rule_book(make_figures(), VERSION)
    assert figures.headline == compute_headline(make_epochs())


def find_rules(evidence: EvidenceFrames) -> set[str]:
    """Which of T102 and T103 object to the evidence."""
    bundle = Bundle(Path("example"), (), evidence.evidence())
    return {rule for rule in ("T102", "T103") if list(rules_by_id()[rule].run(bundle))}


@pytest.mark.parametrize(("version", "other"), [("1.4.0", VERSION), (VERSION, "1.4.0")])
def test_headline_of_another_rule_book_is_an_error(version: str, other: str) -> None:
    evidence = copy_evidence()
    # Longer batches in half of the epochs: the two arithmetics differ by 1 % and more.
    late = evidence.batches["epoch"] > 5
    evidence.batches.loc[late, "items"] *= 2
    evidence.result["rules_version"] = version
    rederive(evidence)
    assert find_rules(evidence) == set()
    evidence.result["rules_version"] = other
    assert find_rules(evidence) == {"T102", "T103"}
