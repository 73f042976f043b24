"""The runs on one accelerator that runs on several are compared with."""

from support.report.result_rows import make_run_row

from reporting.sections.sweeps.scaling import find_scaled_runs


def test_the_same_batch_size_is_preferred_to_a_faster_run() -> None:
    rows = [
        make_run_row(900, "a", "b", batch_size=512),
        make_run_row(1000, "a", batch_size=512),
        make_run_row(1100, "a", batch_size=1024),
    ]
    (scaled,) = find_scaled_runs(rows)
    assert scaled.reference_items_per_s == 1000


def test_another_batch_size_of_the_same_system_is_preferred_to_the_same_one_of_another() -> None:
    rows = [
        make_run_row(900, "a", "b", batch_size=512),
        make_run_row(1000, "c", batch_size=512, system="other"),
        make_run_row(1050, "a", batch_size=256),
        make_run_row(1100, "a", batch_size=1024),
    ]
    (scaled,) = find_scaled_runs(rows)
    assert scaled.reference_items_per_s == 1100
