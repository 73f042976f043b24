"""Parts of the harness of studies: the shared list, the samples of a bundle, and the settings."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from harness.errors import PlanError
from harness.run.plan import RunRequest
from harness.studies.boards.work_queue import WorkQueue, count_within_budget
from harness.studies.plan import StudyEntry
from harness.studies.planning import (
    LADDER_SIZES,
    StudyRequest,
    choose_models,
    estimate_entry_s,
    list_entries,
    make_settings,
    read_table,
)
from harness.studies.progress import StudyView, describe_entry
from harness.studies.records import EntryRecord, MeasuredPoint, PartWindow
from harness.studies.samples import read_samples, select_near
from rules.bundle_format.records import SAMPLE_COLUMNS
from rules.bundle_format.study_records import LADDER, LONG
from rules.protocol import STUDY_V1_0
from rules.studies.declaration import MEASURED, SKIPPED
from rules.studies.ladder import LadderLimits

ENTRIES = [StudyEntry(f"resnet{number}", 224, "cudagraph", "bf16") for number in range(5)]
MS = 1_000_000


def test_boards_share_the_list_in_its_order() -> None:
    work = WorkQueue(ENTRIES, None, 60.0, 10.0)
    assert [work.take() for _ in range(6)] == [*ENTRIES, None]


def test_budget_begins_no_entry_that_would_end_after_it() -> None:
    assert WorkQueue(ENTRIES, 84.0, 60.0, 10.0).take() is None
    work = WorkQueue(ENTRIES, 90.0, 60.0, 10.0)
    assert work.take() == ENTRIES[0]
    # Measured entries tell more than the first estimate.
    work.finish(ENTRIES[0], 80.0)
    assert work.take() is None
    assert work.estimate_left_s(boards=2) == pytest.approx(90.0, abs=1)


def test_time_left_is_shared_by_the_boards() -> None:
    assert WorkQueue(ENTRIES, None, 60.0, 10.0).estimate_left_s(boards=2) == 150.0
    assert WorkQueue(ENTRIES, 0.0, 60.0, 10.0).estimate_left_s(boards=2) == 0.0


def test_time_left_contains_the_entries_in_work_until_the_last_is_measured() -> None:
    work = WorkQueue(ENTRIES[:3], None, 60.0, 10.0)
    first, second = work.take(), work.take()
    assert first and second
    assert work.estimate_left_s(boards=2) == pytest.approx(90.0, abs=1)
    third = work.take()
    work.finish(first, 60.0)
    work.finish(second, 60.0)
    # One board works, the other has no entry any more.
    assert third and work.estimate_left_s(boards=2) == pytest.approx(60.0, abs=1)
    work.finish(third, 60.0)
    assert work.estimate_left_s(boards=2) is None


def test_time_left_after_the_budget_is_that_of_the_entries_in_work() -> None:
    work = WorkQueue(ENTRIES, 90.0, 60.0, 10.0)
    first, second = work.take(), work.take()
    assert first and second
    work.finish(first, 500.0)
    # The budget ends before the entry in work does.
    assert work.take() is None
    assert work.estimate_left_s(boards=2) == pytest.approx(500.0, abs=1)


def test_line_of_an_entry_has_the_time_left_until_the_last_one(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=200)
    skipped = EntryRecord(
        *(ENTRIES[0], SKIPPED, "no", 0, "GPU-1", False, None, (), {}, 0, 60 * 10**9, "")
    )
    with StudyView(console, tmp_path / "log", 0, 2) as view:
        view.show_entry(skipped, 60.0)
        view.show_entry(skipped, None)
    first, last = (tmp_path / "log").read_text().splitlines()
    assert first.endswith("skipped: no; about 60 s left")
    assert last.endswith("skipped: no")


def test_entries_within_a_budget_follow_the_boards() -> None:
    def count(budget_s: float, boards: int = 1, entries: int = 100) -> int:
        return count_within_budget(entries, budget_s, 50.0, 60.0, 10.0, boards)

    # An entry begins if the budget holds 1.25 times its time and the last anchor.
    assert [count(budget_s) for budget_s in (134.0, 135.0, 194.0, 195.0)] == [0, 1, 1, 2]
    assert (count(195.0, boards=4), count(195.0, boards=4, entries=3)) == (8, 3)


def test_expected_time_of_an_entry_follows_the_length_of_its_ladder() -> None:
    usual, full = (make_settings(make_request(full=value)) for value in (False, True))
    # Up to 8192 there are 14 batch sizes.
    assert estimate_entry_s(full) - estimate_entry_s(usual) == pytest.approx(
        (14 - LADDER_SIZES) * 2.5 * usual.ladder_s
    )
    assert estimate_entry_s(replace(usual, max_batch=4)) == estimate_entry_s(
        replace(full, max_batch=4)
    )


def test_samples_between_windows_are_left_out() -> None:
    read_ns = np.arange(0, 20_000, 100) * MS
    windows = [(9_000 * MS, 10_000 * MS), (3_000 * MS, 4_000 * MS), (4_200 * MS, 5_000 * MS)]
    kept_ms = (read_ns[select_near(read_ns, windows)] // MS).tolist()
    # All until the end of the first window, because they show idle power and burn-in.
    assert kept_ms == [*range(0, 5_501, 100), *range(8_500, 10_501, 100)]
    assert select_near(read_ns, []).all()


def test_samples_next_to_a_window_are_kept_after_missed_ticks() -> None:
    read_ns = np.array([0, 100, 1_200, 1_300, 2_000, 4_000, 5_100, 7_000]) * MS
    kept_ms = (
        read_ns[select_near(read_ns, [(0, 200 * MS), (4_600 * MS, 5_200 * MS)])] // MS
    ).tolist()
    assert kept_ms == [0, 100, 1_200, 4_000, 5_100, 7_000]
    assert select_near(read_ns, [(6_000 * MS, 9_000 * MS)]).all()


def test_samples_cut_by_a_power_cut_are_read_up_to_the_cut(tmp_path: Path) -> None:
    def write_row(slot: int) -> str:
        cells = {"scheduled_ns": slot * 100 * MS, "read_ns": slot * 100 * MS + 1}
        texts = {"node": "session0", "accelerator": "GPU-1", "power_mw": 1000, "status": "ok"}
        return ",".join(str({**cells, **texts}.get(name, "")) for name in SAMPLE_COLUMNS)

    path = tmp_path / "samples.csv"
    rows = [",".join(SAMPLE_COLUMNS), *map(write_row, (0, 1, 4, 5))]
    path.write_text("\n".join(rows) + "\n" + write_row(6)[:20])
    samples = read_samples(path, [], 100 * MS)
    assert (len(samples.kept), samples.ticks, samples.missed) == (4, 4, 2)


def make_request(**options: object) -> StudyRequest:
    return StudyRequest(RunRequest("image-inference"), **options)


def test_settings_are_those_of_the_method_and_presets_change_some() -> None:
    settings = make_settings(make_request())
    assert (settings.engines, settings.precisions) == (("cudagraph",), ("bf16",))
    for name in ("ladder_s", "long_s", "long_batches", "parts", "burn_in_s"):
        assert getattr(settings, name) == getattr(STUDY_V1_0, name)
    limits = LadderLimits(max_batch=8192, early_stop_sizes=3, early_stop_share=0.03, full=False)
    assert settings.ladder_limits == limits
    preset = make_settings(make_request(like="yang-pt"))
    assert (preset.engines, preset.precisions) == (("eager",), ("tf32-conv",))
    assert preset.autograd and not preset.channels_last


def test_short_windows_shorten_the_others_in_proportion() -> None:
    settings = make_settings(make_request(long_s=5.0))
    assert (settings.ladder_s, settings.burn_in_s) == (0.5, 15.0)
    # Longer ones do not lengthen them.
    assert make_settings(make_request(long_s=20.0)).burn_in_s == 30.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engines": "eager,jit"}, "--engine eager,jit: there is no 'jit'"),
        ({"precisions": "fp8"}, "--precision fp8: there is no 'fp8'"),
        ({"engines": ""}, "--engine : there is no ''"),
        ({"precisions": ""}, "--precision : there is no ''"),
        ({"like": "yang-trt", "precisions": "fp16"}, "leave out --precision"),
        ({"long_s": float("nan")}, "--long-seconds nan: give a number of seconds"),
    ],
)
def test_settings_that_do_not_exist_are_refused(options: dict, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        make_settings(make_request(**options))


def test_empty_list_of_models_is_not_the_default() -> None:
    assert choose_models(make_request()) == "curated"
    assert choose_models(make_request(models="")) == ""


def test_list_that_no_bundle_holds_is_refused_before_the_study() -> None:
    table = read_table(None)
    settings = make_settings(make_request(engines="eager,cudagraph"))
    assert len(list_entries("all", settings, table, seed=1)) == 2 * 1193
    settings = replace(settings, precisions=("bf16", "fp32"))
    with pytest.raises(PlanError, match="at most 2400; measure the setups in several studies"):
        list_entries("all", settings, table, seed=1)


@pytest.mark.parametrize(
    ("images", "text"), [(1_234_567, "123457 images/s"), (7_566, "756.6 images/s")]
)
def test_line_of_an_entry_has_throughput_without_exponent(images: int, text: str) -> None:
    parts = (PartWindow(images - 5, 0, 9 * 10**9), PartWindow(5, 9 * 10**9, 10 * 10**9))
    point = MeasuredPoint(LADDER, 1, "ok", 0, 10 * 10**9, parts=parts, joules_per_image=0.01)
    points = (point, replace(point, kind=LONG))
    record = EntryRecord(
        *(ENTRIES[0], MEASURED, None, 0, "GPU-1", False, None, points, {}, 0, 60 * 10**9, "")
    )
    assert text in describe_entry(record)
