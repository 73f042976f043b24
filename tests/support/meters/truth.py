"""The power that the servers of the tests give as the truth."""


def power_w(now_s: float) -> float:
    """Power in W at an instant of the monotonic clock: between 1 200 and 2 800 W, and never twice
    the same in neighbouring seconds."""
    second = int(now_s)
    return 1200.0 + second * 379 % 1601
