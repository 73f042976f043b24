"""Numbers and lists in sentences."""

from typing import Any

import pytest
from support.report.result_rows import make_run_row

from reporting.results_model import Figure, ResultRow
from reporting.sections.cells import name_load, name_variant
from reporting.sentences.words import (
    count_nouns,
    format_amount,
    format_percent,
    format_percent_range,
    format_range,
    join_words,
    name_beside,
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


def test_amount_has_half_of_its_interval_with_the_decimals_of_its_value() -> None:
    amount = format_amount(Figure(0.09445, "measured", 4, (0.09, 0.099)), "J/image")
    assert amount.text_with_interval == "0.09445\u202f±\u202f0.00450\u202fJ/image"
    assert amount.text == "0.09445\u202fJ/image"
    # The interval of a setting does not depend on how many runs it is the mean of.
    assert format_amount(Figure(0.09445, "measured", None, (0.09, 0.099)), "J/image") == amount
    without = format_amount(Figure(2.5, "assumed"), "J/image")
    assert without.text_with_interval == "\u2248\u202f2.500\u202fJ/image"


def make_server(**fields: Any) -> ResultRow:
    return make_run_row(1000, "a", **{"workload": "llama3-8b-serve", "batch_size": 64} | fields)


def test_setting_is_named_by_what_tells_it_from_the_leader() -> None:
    leader = make_server()
    for fields, name in (
        ({"batch_size": 512}, "NVIDIA H200, tuned bf16, 512 requests in flight"),
        ({"cap_w": 400.0}, "NVIDIA H200, tuned bf16 at 400\u202fW"),
        ({"system": "other"}, "NVIDIA H200, tuned bf16 on other"),
        ({"variant": "fp8", "precision": "fp8"}, "NVIDIA H200, fp8"),
    ):
        assert name_beside(make_server(**fields), leader) == name


def test_load_is_a_batch_size_or_the_requests_in_flight() -> None:
    assert name_load(make_server()) == "64 requests in flight"
    assert name_load(make_run_row(1000, "a", batch_size=64)) == "batch size 64"
    assert name_load(make_server(batch_size=None)) == "batch size not stated"


def test_variant_is_named_with_its_words_and_its_clock() -> None:
    assert name_variant(make_run_row(1000, "a", variant="s2d")) == (
        "s2d (first convolution on 2 \u00d7 2 blocks)"
    )
    assert name_variant(make_server(variant="fp8-kv", settings={"sm_clock_mhz": 1500})) == (
        "fp8-kv at 1500\u202fMHz (FP8 weights and cache)"
    )
    # A variant that the rules do not name has no words.
    assert name_variant(make_run_row(1000, "a", variant="mine")) == "mine"


def test_nouns_and_lists() -> None:
    assert [count_nouns(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert [join_words(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a and b",
        "a, b and c",
    ]
