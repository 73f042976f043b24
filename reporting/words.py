"""Numbers and lists in sentences, formatted as in the tables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reporting.report_table import (
    NO_BREAK,
    Column,
    format_half_width,
    format_number,
    format_value,
)
from reporting.results_model import Figure
from rules.workloads import Workload, pluralize_item

_NUMBER = Column("value", "", form="number")
_MAX_SENTENCES = 6
"""Sentences of one kind in the answer to a question."""


@dataclass(frozen=True)
class Amount:
    """A figure of a setting as text."""

    value: str
    """As in the tables: with `≈` if it is assumed."""
    unit: str
    half_width: str
    """Half of the 95 % interval, in the unit and with the decimals of the value; empty without an
    interval."""

    @property
    def text(self) -> str:
        """Value and unit."""
        return join_unit(self.value, self.unit)

    @property
    def text_with_interval(self) -> str:
        if not self.half_width:
            return self.text
        return join_unit(f"{self.value}{NO_BREAK}±{NO_BREAK}{self.half_width}", self.unit)


def format_amount(figure: Figure, unit: str) -> Amount:
    """The figure of a setting."""
    value = format_value(_NUMBER, {"value": figure.value, "value_kind": figure.kind})
    if figure.ci95 is None:
        return Amount(value, unit, "")
    return Amount(value, unit, format_half_width(value, figure.ci95))


def format_value_with_unit(value: float, unit: str) -> str:
    """A measured or printed number with four significant digits and its unit."""
    return join_unit(format_number(value), unit)


def format_watts(power_w: float) -> str:
    """A cap or another power without decimals that it does not have: `700 W`."""
    return join_unit(f"{power_w:g}", "W")


def join_unit(number: str, unit: str) -> str:
    """A number with its unit, between which a line must not break."""
    return f"{number}{NO_BREAK}{unit}" if unit else number


def format_percent(percent: float) -> str:
    """The size of a change without its sign: `24 %`, `3.8 %`."""
    size = abs(percent)
    # 9.96 would otherwise become `10.0`.
    number = f"{size:.0f}" if round(size, 1) >= 10 else f"{size:.1f}"
    return join_unit(number, "%")


def format_change(percent: float) -> str:
    """A change with its sign: `+0.1 %`; `±0.0 %` if it rounds to zero."""
    sign = "\u00b1" if round(percent, 1) == 0 else "+" if percent > 0 else "\u2212"
    return f"{sign}{format_percent(percent)}"


def format_percent_range(percents: Sequence[float]) -> str:
    """The sizes of changes in one direction: `11 % to 25 %`; one value if both look equal."""
    sizes = [abs(percent) for percent in percents]
    low, high = format_percent(min(sizes)), format_percent(max(sizes))
    return low if low == high else f"{low} to {high}"


def format_range(values: Sequence[float], unit: str) -> str:
    """Lowest and highest value: `300 to 400 W` with a dash; one value if both look equal."""
    low, high = (_format_plain(value) for value in (min(values), max(values)))
    # Between numbers with a sign, a dash would look like a minus.
    dash = " to " if min(values) < 0 else "\u2013"
    return join_unit(low if low == high else f"{low}{dash}{high}", unit)


def _format_plain(value: float) -> str:
    """Caps and counts have no fraction, and then no decimals."""
    is_whole = math.isfinite(value) and float(value).is_integer()
    return format_number(value, 1 if is_whole else 4)


def format_cap(cap_w: float | None) -> str:
    return "without a cap" if cap_w is None else f"at {format_watts(cap_w)}"


def count_nouns(count: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count} {noun if count == 1 else f'{noun}s'}"


def join_words(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def limit_sentences(sentences: Sequence[str], noun: str) -> list[str]:
    """The first sentences, and how many more things of this kind the tables have."""
    if len(sentences) <= _MAX_SENTENCES:
        return list(sentences)
    excess = len(sentences) - _MAX_SENTENCES
    return [*sentences[:_MAX_SENTENCES], f"The tables have {count_nouns(excess, f'more {noun}')}."]


def capitalize(text: str) -> str:
    """The text with a capital first letter; the other letters stay."""
    return text[:1].upper() + text[1:]


def name_items(workload: Workload) -> str:
    """The items of a workload in the plural."""
    return pluralize_item(workload.item)
