"""The power that the servers of the tests measure."""

STEP_S = 5.0
STEPS_W = (
    *(1500.25, 2710.5, 1320.75, 2468.5, 1790.25, 2210.25),
    *(1650.5, 2349.75, 1999.5, 2600.75, 1400.25, 2000.25),
)


def power_w(now_s: float) -> float:
    """Power in W at an instant of the monotonic clock."""
    return STEPS_W[int(now_s // STEP_S) % len(STEPS_W)]
