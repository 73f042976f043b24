"""The ladder of batch sizes and the order of a study."""

from dataclasses import dataclass, replace

import pytest

from rules.studies.ladder import LadderLimits, LadderStep, choose_long_batches, choose_next_batch
from rules.studies.order import order_work

LIMITS = LadderLimits(max_batch=8192, early_stop_sizes=3, early_stop_share=0.03, full=False)


def make_steps(*energies_j: float | None) -> list[LadderStep]:
    return [LadderStep(2**i, energy_j) for i, energy_j in enumerate(energies_j)]


@pytest.mark.parametrize(
    ("steps", "limits", "batch"),
    [
        (make_steps(), LIMITS, 1),
        (make_steps(9.0, 5.0), LIMITS, 4),
        (make_steps(5.0, 6.0, 6.0), LIMITS, 8),
        (make_steps(5.0, 6.0, 6.0, 6.0), LIMITS, None),
        (make_steps(5.0, 6.0, 6.0, 6.0), replace(LIMITS, full=True), 16),
        (make_steps(5.0, 6.0, 5.1, 6.0), LIMITS, 16),
        (make_steps(9.0, None), LIMITS, None),
        (make_steps(9.0, 8.0, 7.0), replace(LIMITS, max_batch=4), None),
    ],
)
def test_ladder_doubles_until_its_end(
    steps: list[LadderStep], limits: LadderLimits, batch: int | None
) -> None:
    assert choose_next_batch(steps, limits) == batch


def test_long_windows_are_at_the_two_least_energies() -> None:
    assert choose_long_batches(make_steps(9.0, 4.0, 5.0, None)) == (2, 4)
    assert choose_long_batches(make_steps(9.0, None)) == (1,)
    assert choose_long_batches(make_steps(None)) == ()


@dataclass(frozen=True)
class Entry:
    architecture: str
    size: int = 224
    engine: str = "eager"
    precision: str = "fp32"


def test_order_follows_from_the_seed_and_holds_for_a_part() -> None:
    entries = [Entry(f"model{number}") for number in range(40)]
    order = order_work(entries, 7)
    assert order == order_work(reversed(entries), 7)
    assert order != entries
    assert order != order_work(entries, 8)
    assert order_work(entries[:20], 7) == [entry for entry in order if entry in entries[:20]]
