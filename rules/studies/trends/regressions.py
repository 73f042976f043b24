"""Straight lines through logarithms over time, as Desislavov et al. fit them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from rules.bundle_format.records import Json
from rules.studies.metrics.estimates import Interval
from rules.studies.metrics.fits import Coefficient, make_coefficient

START = date(2010, 1, 1)
"""Where the time axis of the publication begins."""
_DAYS_PER_YEAR = 365.25


def count_years(when: date) -> float:
    """Years since `START`."""
    return (when - START).days / _DAYS_PER_YEAR


@dataclass(frozen=True)
class TrendLine:
    """log10(quantity) = intercept + slope x years since `START`, by least squares over n values.

    The standard errors are the usual ones of least squares: values are taken as independent.
    """

    id: str
    name: str
    quantity: str
    unit: str
    n: int
    intercept: Coefficient
    slope: Coefficient
    r2: float
    residual_sd: float
    """Standard deviation of the residuals of log10(quantity)."""

    @property
    def yearly_factor(self) -> float:
        """By what the quantity multiplies in a year."""
        return float(10**self.slope.value)

    @property
    def yearly_factor_ci95(self) -> Interval:
        """The 95 % interval of `yearly_factor`."""
        low, high = self.slope.ci95
        return 10**low, 10**high

    @property
    def is_trend(self) -> bool:
        """Whether the 95 % interval of the slope leaves out zero."""
        low, high = self.slope.ci95
        return low > 0 or high < 0

    def compute_value(self, when: date) -> float:
        """The quantity on the line at a date."""
        return float(10 ** (self.intercept.value + self.slope.value * count_years(when)))

    def find_year(self, value: float) -> float:
        """The calendar year, with decimals, in which the line has a value. Raises
        ZeroDivisionError for a line without slope."""
        return START.year + (math.log10(value) - self.intercept.value) / self.slope.value

    def describe(self) -> Json:
        """The line for JSON, with the names that the fields have here."""
        return {
            "id": self.id,
            "name": self.name,
            "quantity": self.quantity,
            "unit": self.unit,
            "model": "log10(quantity) = intercept + slope x years since 2010-01-01",
            "n": self.n,
            "intercept": _describe_coefficient(self.intercept),
            "slope": _describe_coefficient(self.slope),
            "r2": self.r2,
            "residual_sd": self.residual_sd,
            "yearly_factor": self.yearly_factor,
            "yearly_factor_ci95": list(self.yearly_factor_ci95),
            "is_trend": self.is_trend,
        }


def _describe_coefficient(coefficient: Coefficient) -> Json:
    return {
        "value": coefficient.value,
        "standard_error": coefficient.standard_error,
        "ci95": list(coefficient.ci95),
    }


def fit_line(
    id: str, name: str, quantity: str, unit: str, points: Sequence[tuple[date, float]]
) -> TrendLine | None:
    """Fit a line through dated positive values. Returns None for fewer than three values, for
    values of one date, and for values that are all equal."""
    if len(points) < 3:
        return None
    years = np.array([count_years(when) for when, _ in points])
    logs = np.log10(np.array([value for _, value in points], dtype=np.float64))
    mean_year, mean_log = float(years.mean()), float(logs.mean())
    years_squares = float(((years - mean_year) ** 2).sum())
    total = float(((logs - mean_log) ** 2).sum())
    if years_squares == 0 or total == 0:
        return None
    slope = float(((years - mean_year) * (logs - mean_log)).sum()) / years_squares
    intercept = mean_log - slope * mean_year
    squares = float(((logs - intercept - slope * years) ** 2).sum())
    degrees = len(points) - 2
    residual_sd = math.sqrt(squares / degrees)
    intercept_error = residual_sd * math.sqrt(1 / len(points) + mean_year**2 / years_squares)
    return TrendLine(
        id=id,
        name=name,
        quantity=quantity,
        unit=unit,
        n=len(points),
        intercept=make_coefficient(intercept, intercept_error, degrees),
        slope=make_coefficient(slope, residual_sd / math.sqrt(years_squares), degrees),
        r2=1 - squares / total,
        residual_sd=residual_sd,
    )
