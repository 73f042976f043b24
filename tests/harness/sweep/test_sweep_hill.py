"""The chart of efficiency that `bench-submit sweep` prints at its end."""

import io
from collections.abc import Sequence

import pytest
from rich.console import Console

from harness.sweep.axis import BATCH, CAP, SM_CLOCK, Axis
from harness.sweep.hill import print_hills
from harness.sweep.plan import Entry
from rules.metrics.sweeps.points import Point

ITEMS_PER_JOULE = {200: 3.242, 300: 3.767, 400: 4.024, 500: 3.881, 600: 3.475, 700: 3.053}


def make_points(caps_w: Sequence[float], *unenforced_w: float) -> dict[Entry, Point]:
    return {
        Entry(0, 0, cap_w=cap_w): Point(
            cap_w, 1000, 1 / ITEMS_PER_JOULE[int(cap_w)], cap_w not in unenforced_w
        )
        for cap_w in caps_w
    }


def draw(
    points: dict[Entry, Point],
    axes: Sequence[Axis] = (CAP,),
    encoding: str = "utf-8",
    terminal: bool = True,
    columns: int = 200,
) -> list[str]:
    """The lines of the chart on a terminal or in a file, as it is written in `encoding`."""
    written = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(
        file=written,
        force_terminal=terminal,
        width=columns,
        color_system="standard" if terminal else None,
        highlight=False,
    )
    print_hills(axes, points, "1 GPU", "image", console)
    written.seek(0)
    return written.read().splitlines()


def test_longest_bar_is_the_most_efficient_cap_and_marked() -> None:
    title, *bars = draw(make_points([200, 300, 400, 500, 600, 700]), terminal=False)
    assert title == "1 GPU, images/J:"
    assert [line.split()[:2] for line in bars] == [[f"{cap}", "W"] for cap in ITEMS_PER_JOULE]
    lengths = [line.count("#") for line in bars]
    assert max(lengths) == lengths[2] and sorted(lengths[:3]) == lengths[:3]
    assert sorted(lengths[2:], reverse=True) == lengths[2:]
    assert [line.endswith("max") for line in bars] == [False, False, True, False, False, False]
    # Bars begin at zero, so their lengths have the ratio of the efficiencies.
    assert lengths[5] == pytest.approx(lengths[2] * 3.053 / 4.024, abs=1)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_chart_has_at_most_80_columns_and_no_more_than_the_terminal(columns: int) -> None:
    points = make_points([200, 300, 400])
    lines = draw(points, terminal=False, columns=columns)
    assert max(map(len, lines)) == min(columns, 80)


def test_chart_is_plain_when_piped_or_without_utf8() -> None:
    points = make_points([200, 300, 400])
    piped = "\n".join(draw(points, terminal=False))
    assert piped.isascii() and "\x1b" not in piped and "#" in piped
    latin = "\n".join(draw(points, encoding="latin-1"))
    assert latin.isascii() and "\x1b" in latin and "#" in latin
    terminal = "\n".join(draw(points))
    assert "█" in terminal and "\x1b" in terminal and "#" not in terminal


def test_fewer_than_three_points_draw_nothing() -> None:
    assert draw(make_points([200, 300])) == []
    assert draw(make_points([200, 300, 400])) != []


def test_cap_that_was_not_enforced_has_another_bar_and_is_no_maximum() -> None:
    _, *bars = draw(make_points([300, 400, 700], 400), terminal=False)
    assert bars[1].startswith("(400 W)") and "." * 20 in bars[1] and "#" not in bars[1]
    assert bars[0].endswith("max") and not bars[1].endswith("max")


def test_single_cap_that_held_is_no_maximum() -> None:
    assert "max" not in "".join(draw(make_points([300, 400, 700], 300, 400), terminal=False))


def test_two_axes_draw_a_chart_for_each_value_of_the_second() -> None:
    points = {
        Entry(0, 0, sm_clock_mhz=clock, batch=batch): Point(700, 1000, 1e-3 * (clock + batch), None)
        for clock in (990, 1500, 1980)
        for batch in (64, 128)
    }
    lines = draw(points, (SM_CLOCK, BATCH), terminal=False)
    titles = [line for line in lines if line.endswith(":")]
    assert titles == ["1 GPU, batch 64, images/J:", "1 GPU, batch 128, images/J:"]
    labels = [line.split("  ")[0] for line in lines[1:4]]
    assert labels[0].strip() == "SM clock 990 MHz" and labels[2] == "SM clock 1980 MHz"
    assert sum(line.endswith("max") for line in lines) == 2
