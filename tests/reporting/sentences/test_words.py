"""Numbers and lists in sentences."""

import pytest

from reporting.results_model import Figure
from reporting.sentences.words import (
    count_nouns,
    format_amount,
    format_percent,
    format_percent_range,
    format_range,
    join_words,
)


@pytest.mark.parametrize(
    ("percent", "text"),
    [(24.4, "24"), (-24.6, "25"), (9.96, "10"), (9.94, "9.9"), (0.04, "0.0")],
)
def test_percent_has_no_sign_and_two_digits(percent: float, text: str) -> None:
    assert format_percent(percent) == f"{text}\u202f%"


def test_range_of_percents_goes_from_the_smallest_change_to_the_largest() -> None:
    assert format_percent_range([-52.0, -24.0]) == "24\u202f% to 52\u202f%"
    assert format_percent_range([24.0, 52.0]) == "24\u202f% to 52\u202f%"
    assert format_percent_range([24.1, 24.2]) == "24\u202f%"


def test_range_has_one_value_if_both_look_equal() -> None:
    assert format_range([300, 400.0], "W") == "300\u2013400\u202fW"
    assert format_range([700, 700], "W") == "700\u202fW"
    assert format_range([-1.5, 2.0], "%") == "\u22121.500 to 2\u202f%"


def test_amount_names_what_its_interval_is_over() -> None:
    figure = Figure(0.09445, "measured", 4, (0.09, 0.099))
    over_runs, within_run = (format_amount(figure, "J/image", runs) for runs in (4, 1))
    assert (over_runs.text_with_interval, over_runs.basis) == (
        "0.09445\u202f±\u202f0.00450\u202fJ/image",
        "4 runs",
    )
    assert within_run.basis == "4 epochs of one run"
    assert (
        format_amount(Figure(2.5, "assumed"), "J/image", None).text == "≈\u202f2.500\u202fJ/image"
    )


def test_nouns_and_lists() -> None:
    assert [count_nouns(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert [join_words(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a and b",
        "a, b and c",
    ]
