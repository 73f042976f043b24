"""The arithmetic on series of power and energy: integrals, counters and unions of windows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rules.figure_parts import make_batches, make_parts, make_result, make_samples

from rules.bundle_format.table import Floats
from rules.metrics.energy import counter_energies, trapezoid_energies
from rules.metrics.intervals import are_inside, join_intervals
from rules.metrics.run import MetricsError


def make_array(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


# Energy of known curves


@pytest.mark.parametrize(
    ("start", "end"), [(2.0, 8.0), (0.0, 10.0), (0.033, 9.957), (4.01, 4.03), (3.05, 3.15)]
)
def test_trapezoid_of_a_constant_is_power_times_time(start: float, end: float) -> None:
    times = np.arange(0, 10.05, 0.1)
    energy = trapezoid_energies(
        times, np.full(len(times), 700.0), make_array(start), make_array(end)
    ).sum()
    assert energy == pytest.approx(700 * (end - start), rel=1e-12)


@pytest.mark.parametrize(("start", "end"), [(2.0, 8.0), (0.033, 9.957), (4.01, 4.03), (3.05, 3.15)])
def test_trapezoid_of_a_ramp_is_its_integral_also_between_samples(start: float, end: float) -> None:
    times = np.arange(0, 10.05, 0.1)
    energy = trapezoid_energies(times, 100 + 50 * times, make_array(start), make_array(end)).sum()
    assert energy == pytest.approx(100 * (end - start) + 25 * (end**2 - start**2), rel=1e-12)


def test_trapezoid_of_a_square_wave_with_samples_at_its_edges() -> None:
    times = make_array(0, 1, 1.000001, 2, 2.000001, 3)
    power = make_array(100, 100, 600, 600, 100, 100)
    energy = trapezoid_energies(times, power, make_array(0.5), make_array(2.5)).sum()
    assert energy == pytest.approx(0.5 * 100 + 1 * 600 + 0.5 * 100, rel=1e-5)


def test_trapezoid_over_uneven_samples() -> None:
    times, power = make_array(0, 1, 4, 4.5), make_array(100, 300, 0, 200)
    assert trapezoid_energies(
        times, power, make_array(0.5), make_array(2.5)
    ).sum() == pytest.approx(0.5 * (200 + 300) / 2 + 1.5 * (300 + 150) / 2)


def test_energy_up_to_a_sample_is_the_sum_of_the_steps_before_it() -> None:
    """Bit for bit: at a sample nothing is interpolated."""
    random = np.random.default_rng(3)
    times, power = np.cumsum(random.uniform(0.05, 0.2, 200)), random.uniform(100, 700, 200)
    steps_j = (times[1:] - times[:-1]) * (power[1:] + power[:-1]) / 2
    ends = times[1:]
    energies = trapezoid_energies(times, power, np.full(len(ends), times[0]), ends)
    assert energies.tolist() == np.cumsum(steps_j).tolist()


def test_counter_is_interpolated_at_the_edges() -> None:
    times, counter = make_array(0, 1, 2, 3), make_array(10, 110, 310, 310)
    assert counter_energies(
        times, counter, make_array(0.25), make_array(2.5)
    ).sum() == pytest.approx(310 - 35)
    assert counter_energies(
        times, counter, make_array(0.0, 2.0), make_array(0.5, 3.0)
    ).sum() == pytest.approx(50)


def test_no_counter_is_none_and_windows_outside_are_refused() -> None:
    assert counter_energies(make_array(), make_array(), make_array(0.0), make_array(1.0)) is None
    assert (
        counter_energies(make_array(0.0), make_array(5.0), make_array(0.0), make_array(0.0)) is None
    )
    for start, end in ((-0.001, 1.0), (0.0, 2.001)):
        with pytest.raises(MetricsError, match="outside the samples"):
            trapezoid_energies(
                make_array(0, 2), make_array(1, 1), make_array(start), make_array(end)
            )
        with pytest.raises(MetricsError, match="outside the samples"):
            counter_energies(
                make_array(0, 2), make_array(1, 1), make_array(start), make_array(end)
            ).sum()


# Unions of windows


@pytest.mark.parametrize(
    ("windows", "joined"),
    [
        ([(1, 2)], [(1, 2)]),
        ([(1, 2), (2, 3)], [(1, 3)]),
        ([(1, 3), (2, 4)], [(1, 4)]),
        ([(1, 9), (2, 3), (4, 5)], [(1, 9)]),
        ([(1, 9), (2, 3), (8, 10), (11, 12)], [(1, 10), (11, 12)]),
        ([(5, 6), (1, 2), (3, 4)], [(1, 2), (3, 4), (5, 6)]),
        ([(1, 2), (1, 2), (1, 3)], [(1, 3)]),
    ],
)
def test_union(windows: list[tuple[float, float]], joined: list[tuple[float, float]]) -> None:
    starts, ends = join_intervals(*(make_array(*side) for side in zip(*windows, strict=True)))
    assert list(zip(starts, ends, strict=True)) == joined


def test_inside_has_closed_edges() -> None:
    mask = are_inside(make_array(0, 1, 1.5, 2, 2.5, 3, 4, 5), make_array(1, 3), make_array(2, 4))
    assert mask.tolist() == [False, True, True, True, False, True, True, False]


times = st.floats(0, 100, allow_nan=False)
windows = st.lists(st.tuples(times, times).map(lambda w: (min(w), max(w))), min_size=1, max_size=20)


@given(windows)
def test_union_covers_the_same_times_without_overlap(intervals: list[tuple[float, float]]) -> None:
    starts, ends = join_intervals(*(make_array(*side) for side in zip(*intervals, strict=True)))
    assert np.all(starts[1:] > ends[:-1])
    probes = np.array([t for w in intervals for t in (*w, sum(w) / 2)])
    assert are_inside(probes, starts, ends).all()
    edges = {t for w in intervals for t in w}
    assert set(starts) | set(ends) <= edges


# Properties of energy

powers = st.lists(st.floats(0, 1000), min_size=3, max_size=60).map(np.array)
shares = st.floats(0, 1)


@given(powers, shares, shares, shares)
def test_energy_of_a_window_is_that_of_its_two_parts(
    power: Floats, a: float, b: float, c: float
) -> None:
    at = np.arange(len(power)) * 0.1
    start, middle, end = sorted(share * at[-1] for share in (a, b, c))
    whole = trapezoid_energies(at, power, make_array(start), make_array(end)).sum()
    halves = trapezoid_energies(at, power, make_array(start, middle), make_array(middle, end)).sum()
    assert whole == pytest.approx(halves, rel=1e-9, abs=1e-6)


@given(powers, shares, shares, st.floats(0.1, 10))
def test_energy_scales_with_power(power: Floats, a: float, b: float, factor: float) -> None:
    at = np.arange(len(power)) * 0.1
    edges = make_array(min(a, b) * at[-1]), make_array(max(a, b) * at[-1])
    energy_j, scaled_energy_j = (
        trapezoid_energies(at, p, *edges).sum() for p in (power, factor * power)
    )
    assert scaled_energy_j == pytest.approx(factor * energy_j, rel=1e-9, abs=1e-6)


@given(powers, st.integers(0, 2**62))
def test_figures_do_not_depend_on_the_clock(power: Floats, shift_ns: int) -> None:
    end_s = 0.1 * (len(power) - 1)
    table = make_batches((1, 0, 0, 0.25 * end_s, 0.75 * end_s, 10))
    part = make_parts(make_result("a"), make_samples("a", power), table)[0]
    table[["start_ns", "end_ns"]] += shift_ns
    shifted_part = make_parts(make_result("a"), make_samples("a", power, zero_ns=shift_ns), table)[
        0
    ]
    assert (
        shifted_part.energy_j_trapezoid,
        shifted_part.energy_j_counter,
        shifted_part.active_s,
    ) == (
        part.energy_j_trapezoid,
        part.energy_j_counter,
        part.active_s,
    )


@given(powers, shares, shares)
def test_counter_and_trapezoid_agree_at_the_samples(power: Floats, a: float, b: float) -> None:
    first, last = sorted(round(share * (len(power) - 1)) for share in (a, b))
    if first == last:
        return
    part = make_parts(
        make_result("a"),
        make_samples("a", power),
        make_batches((1, 0, 0, first / 10, last / 10, 1)),
    )[0]
    assert part.energy_j_counter == pytest.approx(part.energy_j_trapezoid, rel=1e-9, abs=1e-6)
