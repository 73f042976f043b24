"""The ladder of batch sizes: which size follows, where the ladder ends, and which two sizes get a
long window. The harness measures by these functions, and the rules judge by them."""

from collections.abc import Sequence
from dataclasses import dataclass

LONG_POINTS = 2
"""How many batch sizes of a model get a long window."""


@dataclass(frozen=True)
class LadderStep:
    """What a ladder measured at one batch size."""

    batch: int
    joules_per_image: float | None
    """None if the batch did not run."""


@dataclass(frozen=True)
class LadderLimits:
    """Where a ladder ends."""

    max_batch: int
    early_stop_sizes: int
    """The ladder ends after so many sizes in a row above the least energy."""
    early_stop_share: float
    """How far above the least energy such a size is, as a share of it."""
    full: bool
    """Whether the ladder goes on in spite of them."""


def choose_next_batch(steps: Sequence[LadderStep], limits: LadderLimits) -> int | None:
    """The batch size that follows the steps so far, None at the end of the ladder. Sizes double
    from 1."""
    if not steps:
        return 1
    batch = 2 * steps[-1].batch
    is_over = steps[-1].joules_per_image is None or batch > limits.max_batch
    return None if is_over or _stops_early(steps, limits) else batch


def choose_long_batches(steps: Sequence[LadderStep]) -> tuple[int, ...]:
    """The batch sizes with the least energy per image, least first: two, or as many as ran."""
    energies = [(s.joules_per_image, s.batch) for s in steps if s.joules_per_image is not None]
    return tuple(batch for _, batch in sorted(energies)[:LONG_POINTS])


def _stops_early(steps: Sequence[LadderStep], limits: LadderLimits) -> bool:
    energies = [s.joules_per_image for s in steps if s.joules_per_image is not None]
    last = energies[-limits.early_stop_sizes :]
    threshold = min(energies, default=0.0) * (1 + limits.early_stop_share)
    return (
        not limits.full
        and len(last) == limits.early_stop_sizes
        and all(energy > threshold for energy in last)
    )
