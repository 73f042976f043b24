"""Each result against the result of its line at the default cap."""

from dataclasses import replace

import pytest
from support.report.sentence_rows import make_printed_row

from reporting.sections.sweeps.relative import make_relative_cells


def test_published_caps_are_compared_with_the_default_cap_of_the_board() -> None:
    rows = [make_printed_row(400, 800), make_printed_row(700, 1000)]
    at_400, at_default = make_relative_cells(rows)
    # 0.5 J in place of 0.7 J, and 1/800 s in place of 1/1000 s.
    assert at_400 == pytest.approx(
        {
            "relative_rate_percent": 80,
            "relative_efficiency_percent": 140,
            "energy_gain_percent": 100 * (1 - 0.5 / 0.7),
            "extra_time_percent": 25,
            "edp_gain_percent": 100 * (1 - 0.5 / 0.7 * 1.25),
            # EDS = (k - 1) / k E / E_default + t / t_default / k
            "eds_gain_k15_percent": 100 * (1 - (0.5 / 0.7) / 3 - 1.25 / 1.5),
            "eds_gain_k2_percent": 100 * (1 - (0.5 / 0.7) / 2 - 1.25 / 2),
        }
    )
    assert at_default["relative_rate_percent"] == 100 and at_default["energy_gain_percent"] == 0


def test_line_without_a_comparable_default_cap_has_no_relative_figures() -> None:
    at_400, at_default = make_printed_row(400, 800), make_printed_row(700, 1000)
    assert make_relative_cells([at_400, make_printed_row(500, 900)]) == [{}, {}]
    assert make_relative_cells([at_400, replace(at_default, cap_enforced=False)]) == [{}, {}]
    assert make_relative_cells([at_400, replace(at_default, system="another paper")]) == [{}, {}]
