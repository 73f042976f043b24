"""What `bench-submit sweep` shows of finished runs: tables, peaks, spreads and scaling."""

import copy
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.good_documents import CAP_MW
from support.sweep_runs import FakeRuns, save_sweep, write_bundle

from harness.run import command
from harness.sweep import run as sweep
from harness.sweep.comparison import GAINS
from rules.metrics.figures_json import sweep_run_from_json
from rules.metrics.sweeps.best_settings import SHOWN_EDS_K, find_best_settings
from rules.metrics.sweeps.gains import compare
from rules.metrics.sweeps.points import Point, average_settings, make_point


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRuns]:
    fake = FakeRuns()
    monkeypatch.setattr(command, "run", fake)
    yield fake


def test_narrow_terminal_gets_the_distinct_beginnings_of_run_ids(
    tmp_path: Path,
    runs: FakeRuns,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made, path = save_sweep(tmp_path, 300.0, 500.0)
    assert sweep.carry_out(made, path)
    outcomes = sweep.find_finished_results(made, tmp_path, made.entries)
    for place, start in enumerate(("20261130T210000Z", "20261130T210500Z"), 1):
        outcomes[place]["run_id"] = f"{start}-resnet50-train-tuned-x1-300W-d67e7b"
    run_ids = [outcomes[place]["run_id"] for place in (1, 2)]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for columns, ends in (("200", run_ids), ("80", [name[:16] for name in run_ids])):
        monkeypatch.setenv("COLUMNS", columns)
        capsys.readouterr()
        sweep.sweep_table.print_tables(made, outcomes, frozenset())
        rows = capsys.readouterr().out.splitlines()[1:3]
        assert sorted(row.split()[-1] for row in rows) == ends


def test_cap_that_was_not_enforced_is_in_parentheses_and_no_peak(
    tmp_path: Path, runs: FakeRuns, capsys: pytest.CaptureFixture
) -> None:
    made, path = save_sweep(tmp_path, 300.0, 500.0, 700.0, repeats=2)
    assert sweep.carry_out(made, path)
    capsys.readouterr()
    outcomes = sweep.find_finished_results(made, tmp_path, made.entries)
    for entry in made.entries:
        if entry.cap_w == 300 and entry.repeat == 1:
            outcomes[entry.place]["observed"][0]["cap_enforced"] = False
    sweep.sweep_table.print_tables(made, outcomes, frozenset())
    told = capsys.readouterr().out
    lines = [line.split() for line in told.splitlines()]
    of_runs = lines[
        : next(i for i, line in enumerate(lines) if line[:2] in (["2", "GPUs:"], ["over", "the"]))
    ]
    assert [line[:3] for line in of_runs if line[:1] == ["2"]] == [
        ["2", cap, repeat]
        for cap, repeat in (
            ("(300)", "1"),
            ("300", "2"),
            ("500", "1"),
            ("500", "2"),
            ("700", "1"),
            ("700", "2"),
        )
    ]
    assert "most efficient at 500 W" in told and ["(300)", "2"] in [line[:2] for line in lines]
    default = next(line for line in lines if line[:2] == ["700", "2"])
    assert default[3:] == ["0.0"] * 6
    assert lines[-1] == ["(cap):", "not", "enforced"] and ["2", "(300)", "2"] in [
        line[:3] for line in lines
    ]


def test_best_setting_of_whole_nodes_stands_beside_that_of_the_accelerators(
    tmp_path: Path, runs: FakeRuns, capsys: pytest.CaptureFixture
) -> None:
    made, path = save_sweep(tmp_path, 300.0, 500.0, 700.0)
    assert sweep.carry_out(made, path)
    outcomes = sweep.find_finished_results(made, tmp_path, made.entries)
    capsys.readouterr()
    sweep.sweep_table.print_tables(made, outcomes, frozenset())
    alone = capsys.readouterr().out
    assert "whole nodes" not in alone and "2 GPUs: most efficient at 300 W" in alone
    joules = {300.0: 0.31, 500.0: 0.25, 700.0: 0.28}
    for entry in made.entries:
        assert entry.cap_w is not None
        outcomes[entry.place]["node"] = {
            name: {"mean": mean, "sd": 0.0, "n": 10, "ci95": [0.99 * mean, 1.01 * mean]}
            for name, mean in (("joules_per_item", joules[entry.cap_w]), ("mean_power_w", 900.0))
        }
    sweep.sweep_table.print_tables(made, outcomes, frozenset())
    text = capsys.readouterr().out
    assert "2 GPUs (accelerators alone): most efficient at 300 W" in text
    assert "2 GPUs (whole nodes): least energy at 500 W (0.25 J/image)" in text
    begin = text.index("2 GPUs, whole nodes, against the default cap of 700 W:")
    assert "2 GPUs, accelerators alone, against the default cap of 700 W:" in text[:begin]
    cells = [line.split() for line in text[begin:].splitlines()]
    assert next(c for c in cells if c[:1] == ["500"])[2:4] == ["4", f"{100 * (1 - 25 / 28):.1f}"]
    assert ["energy", "500", "W"] in [c[:3] for c in cells]
    del outcomes[made.entries[0].place]["node"]
    sweep.sweep_table.print_tables(made, outcomes, frozenset())
    assert "; 1 without figures of nodes)" in capsys.readouterr().out


def test_gain_that_is_not_told_apart_from_the_reference_has_a_mark(
    tmp_path: Path, runs: FakeRuns, capsys: pytest.CaptureFixture
) -> None:
    made, path = save_sweep(tmp_path, 500.0, 700.0, repeats=2)
    assert sweep.carry_out(made, path)
    capsys.readouterr()
    outcomes = sweep.find_finished_results(made, tmp_path, made.entries)
    for entry in made.entries:
        headline = outcomes[entry.place]["headline"]
        headline["joules_per_item"]["mean"] = 5.0 if entry.cap_w == 700 else 4.9
        headline["joules_per_item"]["mean"] += 0.2 * entry.repeat
    sweep.sweep_table.print_tables(made, outcomes, frozenset())
    told = capsys.readouterr().out
    (at_500,) = [line.split() for line in told.splitlines() if line.split()[:2] == ["500", "2"]]
    assert at_500[3] == "~1.9"
    assert "~: not told apart from the reference" in told
    for entry in made.entries:
        outcomes[entry.place]["headline"]["joules_per_item"]["mean"] -= 0.1999 * entry.repeat
    sweep.sweep_table.print_tables(made, outcomes, frozenset())
    told = capsys.readouterr().out
    (at_500,) = [line.split() for line in told.splitlines() if line.split()[:2] == ["500", "2"]]
    assert at_500[3] == "2.0"


def test_gains_have_the_widths_of_their_intervals_and_a_best_setting_by_each_metric(
    tmp_path: Path, runs: FakeRuns, capsys: pytest.CaptureFixture
) -> None:
    made, path = save_sweep(tmp_path, 400.0, 500.0, 700.0, repeats=2)
    assert sweep.carry_out(made, path)
    outcomes = sweep.find_finished_results(made, tmp_path, made.entries)
    joules = {400.0: 4.0, 500.0: 4.02, 700.0: 5.0}
    rates = {400.0: 700.0, 500.0: 900.0, 700.0: 1000.0}
    by_cap: dict[float, list[Point]] = {cap_w: [] for cap_w in joules}
    for entry in made.entries:
        assert entry.cap_w is not None
        headline = outcomes[entry.place]["headline"]
        headline["joules_per_item"]["mean"] = joules[entry.cap_w] + 0.01 * entry.repeat
        headline["items_per_s"]["mean"] = rates[entry.cap_w]
        by_cap[entry.cap_w].append(make_point(sweep_run_from_json(outcomes[entry.place])))
    capsys.readouterr()
    sweep.sweep_table.print_tables(made, outcomes, frozenset())
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    points = dict(zip(by_cap, average_settings(list(by_cap.values())), strict=True))
    reference = points[700.0]
    row = next(n for n, line in enumerate(lines) if line[:2] == ["500", "2"])
    gains = [get_gain(compare(points[500.0], reference)) for get_gain in GAINS.values()]
    assert lines[row][3:] == [f"{gain.mean:.1f}" for gain in gains]
    widths = [gain.half_width for gain in gains]
    assert lines[row + 1] == [f"±{w:.1f}" if w >= 0.05 else f"±{w:.1g}" for w in widths]
    at_reference = next(n for n, line in enumerate(lines) if line[:2] == ["700", "2"])
    assert lines[at_reference + 1][0] == "±:", "the reference has no interval"
    assert " ".join(lines[at_reference + 1]) == "±: 95 % interval, between repeated runs"
    best_settings = find_best_settings(list(points.values()), reference, SHOWN_EDS_K)
    start = next(n for n, line in enumerate(lines) if line[:2] == ["best", "by"]) + 1
    shown = [" ".join(line) for line in lines[start : start + len(best_settings)]]
    for text, best in zip(shown, best_settings, strict=True):
        assert text.startswith(f"{best.metric.label} {best.point.cap_w:g} W ")
    energy, *_, k_5 = shown
    # 400 and 500 W differ by half of their interval in energy. 400 W takes longer.
    assert energy.startswith("energy 400 W 19.9 ±") and energy.endswith(" 500 W")
    assert k_5.startswith("EDS, k = 5 500 W") and k_5.endswith("no other setting")


def test_repeats_have_a_mean_and_a_spread(
    tmp_path: Path, runs: FakeRuns, capsys: pytest.CaptureFixture
) -> None:
    made, path = save_sweep(tmp_path, None, repeats=3)
    assert sweep.carry_out(made, path)
    outcomes = sweep.find_finished_results(made, tmp_path, made.entries)
    for place, outcome in outcomes.items():
        for name, mean in (
            ("items_per_s", 1000),
            ("mean_power_w_per_accelerator", 600),
            ("joules_per_item", 2),
        ):
            outcome["headline"][name]["mean"] = mean * (1 + (place - 2) / 10)
    capsys.readouterr()
    sweep.sweep_table.print_tables(made, outcomes, frozenset())
    *_, title, head, row = capsys.readouterr().out.splitlines()
    assert title == "over the repeats, mean and standard deviation:"
    assert head.split() == [
        *("GPUs", "cap,", "W", "runs", "images/s", "sd", "W", "per", "GPU", "sd"),
        *("J/image", "sd"),
    ]
    assert row.split() == ["2", "700", "3", "1000", "100", "600", "60", "2", "0.2"]
    outcomes[1]["headline"]["joules_per_item"] = None
    sweep.sweep_table.print_tables(made, outcomes, frozenset())
    assert capsys.readouterr().out.splitlines()[-1].split() == [
        *("2", "700", "3", "1000", "100", "600", "60")
    ]
    del outcomes[1], outcomes[2]
    sweep.sweep_table.print_tables(made, outcomes, frozenset())
    assert "over the repeats" not in capsys.readouterr().out


def test_cap_that_changes_nothing_is_in_parentheses_and_no_peak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    made, path = save_sweep(tmp_path, 680.0, 700.0)
    monkeypatch.setattr(
        command, "run", lambda run_request, out: write_bundle(run_request, out, power_at_mw=CAP_MW)
    )
    assert sweep.carry_out(made, path)
    told = capsys.readouterr().out
    assert ["2", "(680)", "1"] in [line.split()[:3] for line in told.splitlines()]
    assert "no efficiency peak: no other cap than 700 W is known to have held" in told


def test_sweep_without_the_default_cap_says_that_nothing_is_compared_with_it(
    tmp_path: Path, runs: FakeRuns, capsys: pytest.CaptureFixture
) -> None:
    made, path = save_sweep(tmp_path, 300.0, 500.0)
    assert sweep.carry_out(made, path)
    told = " ".join(capsys.readouterr().out.split())
    assert "the edge of the sweep" in told and "no run at the default cap of 700 W" in told


def test_run_without_figures_does_not_keep_the_tables_from_being_shown(
    tmp_path: Path, runs: FakeRuns, capsys: pytest.CaptureFixture
) -> None:
    made, path = save_sweep(tmp_path, 700.0)
    assert sweep.carry_out(made, path)
    outcomes = sweep.find_finished_results(made, tmp_path, made.entries)
    outcomes[1]["headline"]["joules_per_item"] = None
    capsys.readouterr()
    sweep.sweep_table.print_tables(made, outcomes, frozenset())
    told = " ".join(capsys.readouterr().out.split())
    assert "run-001-1" in told and "has no energy" in told


def test_several_gpus_are_compared_with_one_at_the_same_cap(
    tmp_path: Path, runs: FakeRuns, capsys: pytest.CaptureFixture
) -> None:
    made, path = save_sweep(tmp_path, 500.0, 700.0)
    assert sweep.carry_out(made, path)
    of_two = sweep.find_finished_results(made, tmp_path, made.entries)
    entries, outcomes = list(made.entries), dict(of_two)
    for (
        entry
    ) in made.entries:  # on one: 0.6 of the throughput, half as much energy again for an item
        if entry.cap_w == 700:
            one = copy.deepcopy(of_two[entry.place])
            one["headline"]["items_per_s"]["mean"] *= 0.6
            one["headline"]["joules_per_item"]["mean"] *= 1.5
            entries.append(replace(entry, place=entry.place + 2, gpus=1))
            outcomes[entry.place + 2] = one
    capsys.readouterr()
    sweep.sweep_table.print_tables(replace(made, entries=tuple(entries)), outcomes, frozenset())
    *_, title, head, row, widths = capsys.readouterr().out.splitlines()
    assert title == "several GPUs against one at the same cap:"
    assert head.split("  ") == [
        *("cap, W", "GPUs", "speed-up", "efficiency, %", "energy per item, ratio")
    ]
    assert row.split() == ["700", "2", "1.67", "83.3", "0.667"]
    assert [text[0] for text in widths.split()] == ["±"] * 3
    disobeyed = frozenset({outcomes[entries[-1].place]["run_id"]})
    sweep.sweep_table.print_tables(replace(made, entries=tuple(entries)), outcomes, disobeyed)
    *_, row, _, legend = capsys.readouterr().out.splitlines()
    assert row.split()[0] == "(700)" and legend == "(cap): not enforced"
    sweep.sweep_table.print_tables(made, of_two, frozenset())
    assert "speed-up" not in capsys.readouterr().out
