"""Figures that evidence may not allow."""

from collections.abc import Callable
from typing import TypeVar

from rules.metrics.energy import MetricsError

Result = TypeVar("Result")


def compute_or_explain(compute: Callable[[], Result]) -> Result | str:
    """What `compute` returns, or the reason of its MetricsError."""
    try:
        return compute()
    except MetricsError as error:
        return str(error)
