"""The energy that a source states, beside the energy that follows from its samples."""

import math

from rules.audit.row import DEFAULT_TOLERANCE, RAW, Row, Topic


def find_recomputed_energy_j(row: Row) -> float | None:
    """The energy that follows from samples or counters of the source; None without these."""
    return row.energy_j.value if row.energy_j and row.energy_j.basis in RAW else None


def find_stated_energy_j(row: Row) -> float | None:
    """The energy that the source states for what the row is of; None if it states none."""
    recomputed_j = find_recomputed_energy_j(row)
    if row.energy_j is None or recomputed_j is None:
        return row.energy_j.value if row.energy_j else None
    checks = [
        check
        for check in row.checks
        # A tolerance of its own has a check of two recomputed energies.
        if check.topic == Topic.ENERGY_OF_SAMPLES and check.tolerance == DEFAULT_TOLERANCE
    ]
    whole = [c.stated for c in checks if math.isclose(c.computed, recomputed_j, rel_tol=1e-9)]
    if whole:
        return whole[0]
    # Some sources state the energy of each board and no sum.
    computed_j = math.fsum(check.computed for check in checks)
    if checks and math.isclose(computed_j, recomputed_j, rel_tol=1e-9):
        return math.fsum(check.stated for check in checks)
    return None


def compute_deviation(row: Row) -> float | None:
    """The share by which the stated energy differs from the recomputed one; None without both."""
    stated_j, recomputed_j = find_stated_energy_j(row), find_recomputed_energy_j(row)
    return None if stated_j is None or not recomputed_j else stated_j / recomputed_j - 1


def find_power_w(row: Row) -> float | None:
    """The mean power of everything in the scope: that of the row, or its energy over its time."""
    if row.mean_power_w is not None or not row.energy_j or not row.duration_s:
        return row.mean_power_w
    return row.energy_j.value / row.duration_s


def find_rate(row: Row) -> float | None:
    """The items per second: those of the row, or its items over its time."""
    if row.items_per_s is not None or not row.items or not row.duration_s:
        return row.items_per_s
    return row.items.value / row.duration_s
