"""Points of sweeps, for the tests of the arithmetic over several runs."""

from collections.abc import Sequence

from hypothesis import strategies as st

from rules.metrics.sweeps.points import Point

positive_floats = st.floats(1e-3, 1e6)


def make_sweep(
    *items_per_joule: float, caps_w: Sequence[float] = (200, 300, 400, 500, 600)
) -> list[Point]:
    """Enforced points of so many items/J, at the first of `caps_w`."""
    return [
        Point(cap, 1.0, 1 / value, True)
        for cap, value in zip(caps_w, items_per_joule, strict=False)
    ]
