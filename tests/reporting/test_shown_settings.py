"""Settings that only runs have: columns, data and names follow from the catalogue."""

from support.report.result_rows import make_run_row

from reporting.dataset.columns import build_frame
from reporting.dataset.results import SETTING_COLUMNS
from reporting.report_table import ReportTable
from reporting.results_model import name_submitted_line
from reporting.sections.cells import add_facet_columns, make_facet_cells, name_setting
from rules.settings import SHOWN_SETTINGS

PERMANENT = {"sm_clock_mhz"}


def test_column_without_any_value_is_there_only_if_it_is_permanent() -> None:
    plain = make_run_row(100.0, "a")
    stated = make_run_row(100.0, "a", settings={"cpu_threads": 8})
    shown = {setting.key for setting, _ in SHOWN_SETTINGS}
    for rows, keys in (([plain], PERMANENT), ([plain, stated], PERMANENT | {"cpu_threads"})):
        cells = tuple(make_facet_cells(row) for row in rows)
        table = ReportTable("id", "title", add_facet_columns(), cells)
        assert shown & {*table.keys} == keys
        assert shown & {*build_frame(SETTING_COLUMNS, rows).columns} == keys


def test_line_and_setting_name_the_threads() -> None:
    row = make_run_row(100.0, "a", settings={"sm_clock_mhz": 990, "cpu_threads": 8})
    assert name_submitted_line(row) == "node · tuned bf16 · 990 MHz · 8 threads"
    assert name_setting(row).endswith("tuned bf16 at 990\u202fMHz at 8\u202fthreads")
