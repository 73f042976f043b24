"""The simulated accelerators against the published figures that they are fitted to."""

import importlib.util
import json
from pathlib import Path

import pytest
from support.simulated_bench import Bench, S

from harness.errors import MeterError
from harness.simulation.boards import Boards
from harness.simulation.throughput_model import SCALED_BOARDS, Curve, find_curve, load_fit
from rules.boards import find_board
from rules.metrics.sweeps.peaks import find_measured_peak
from rules.metrics.sweeps.points import Point
from rules.protocol import CURRENT
from rules.workloads import workloads

ROOT = Path(__file__).parents[3]
ROWS = json.loads((ROOT / "submissions/published/mayr2026.json").read_text())["rows"]
CURVES = sorted({(row["accelerator"], row["workload"]) for row in ROWS})
STATED_PEAKS_W = {  # Mayr et al. 2026, section 5: six named, four "for most workloads" (H200)
    ("H100", "resnet50-train"): 300,
    ("H100", "sd2-train"): 300,
    ("H100", "llama3-8b-serve"): 300,
    ("H100", "vitl16-train"): 400,
    ("H100", "llama3-8b-pretrain"): 400,
    ("H200", "llama3-8b-pretrain"): 500,
    ("H200", "resnet50-train"): 400,
    ("H200", "vitl16-train"): 400,
    ("H200", "sd2-train"): 400,
    ("H200", "llama3-8b-serve"): 400,
}


def select_rows(curve: tuple[str, str]) -> list[dict]:
    return [row for row in ROWS if (row["accelerator"], row["workload"]) == curve]


def measure_points(curve: tuple[str, str]) -> list[Point]:
    """A sweep of simulated boards over the published caps."""
    bench, points_found = Bench(curve[0].lower()), []
    for row in select_rows(curve):
        items_per_s, power_w = bench.measure_settled(curve[1], row["cap_w"])
        enforced = power_w <= row["cap_w"] * CURRENT.cap_tolerance
        points_found.append(Point(row["cap_w"], items_per_s, power_w / items_per_s, enforced))
    return points_found


def test_there_are_95_rows_and_a_curve_for_each():
    fitted = {
        (board, name)
        for board, name in load_fit().curves
        if board not in SCALED_BOARDS
        and not name.startswith("burn")
        and not workloads()[name].full.target
    }
    assert len(ROWS) == 95 and fitted == set(CURVES)


@pytest.mark.parametrize("board", SCALED_BOARDS)
def test_a_board_without_published_figures_has_those_of_the_h200_by_peak_and_cap(board):
    base, scaled = find_board("H200"), find_board(board)
    rate = scaled.peak_tflops["bf16"] / base.peak_tflops["bf16"]
    bench = Bench(board.lower())
    for workload in ("resnet50-train", "llama3-8b-serve", "xception-transfer"):
        for share in (0.5, 1.0):
            items_per_s, power_w = bench.measure_settled(workload, share * scaled.max_power_w)
            usual = find_curve("H200", workload).compute_items_per_s(share * base.max_power_w)
            assert items_per_s == pytest.approx(rate * usual, rel=1e-6)
            assert power_w == pytest.approx(share * scaled.max_power_w, rel=0.02)


@pytest.mark.parametrize("curve", CURVES, ids="-".join)
def test_every_published_throughput_comes_out_within_4_percent_and_caps_hold_where_they_did(curve):
    for row, point in zip(select_rows(curve), measure_points(curve), strict=True):
        assert point.items_per_s == pytest.approx(row["items_per_s_per_accelerator"], rel=0.04)
        assert point.enforced == row["cap_enforced"]


@pytest.mark.parametrize("curve", STATED_PEAKS_W, ids="-".join)
def test_every_stated_efficiency_peak_comes_out_and_not_narrowly(curve):
    parameters = measure_points(curve)
    peak = find_measured_peak(parameters)
    assert peak.cap_w == STATED_PEAKS_W[curve]
    assert all(
        p.items_per_joule < 0.985 * peak.items_per_joule.mean
        for p in parameters
        if p.cap_w != peak.cap_w
    )


def test_no_peak_of_the_mi300x_is_at_a_cap_that_it_does_not_enforce():
    assert all(
        find_measured_peak(measure_points(curve)).cap_w >= 400
        for curve in CURVES
        if curve[0] == "MI300X"
    )


def test_the_clock_falls_with_the_cap():
    bench = Bench("h200")
    clocks = []
    for cap_w in (200, 300, 500, 700):
        bench.measure_settled("resnet50-train", cap_w)
        clocks.append(bench.boards.read(bench.uuid, bench.now_ns)["sm_mhz"])
    assert clocks == sorted(set(clocks)) and clocks[-1] <= 1980


def test_throughput_power_and_clock_follow_a_locked_clock():
    bench, points = Bench("h200"), []
    for locked_mhz in (600, 900, 1200, 1500):
        bench.boards.lock_sm_clock(bench.uuid, locked_mhz)
        points.append(bench.measure_settled("resnet50-train", 700))
        reading = bench.boards.read(bench.uuid, bench.now_ns)
        assert (reading["sm_mhz"], reading["slowdown"]) == (locked_mhz, 0)
    assert points == sorted(points) and points[-1][1] < 500
    bench.boards.reset_sm_clock(bench.uuid)
    assert bench.measure_settled("resnet50-train", 700) > (points[-1][0], 600)


def test_a_cap_lowers_the_clock_below_its_lock_and_is_the_reason():
    bench = Bench("h200")
    bench.boards.lock_sm_clock(bench.uuid, 1500)
    items_per_s, power_w = bench.measure_settled("resnet50-train", 300)
    reading = bench.boards.read(bench.uuid, bench.now_ns)
    assert reading["sm_mhz"] < 1470 and reading["slowdown"] == 4
    bench.boards.reset_sm_clock(bench.uuid)
    assert bench.measure_settled("resnet50-train", 300) == pytest.approx((items_per_s, power_w))


def test_a_board_is_locked_at_one_of_its_clocks_or_not_at_all():
    bench = Bench("h200")
    with pytest.raises(MeterError, match="the SM clock cannot be locked at 1203 MHz"):
        bench.boards.lock_sm_clock(bench.uuid, 1203)
    assert bench.boards.list_sm_clocks(bench.uuid) == list(range(345, 1981, 15))
    assert Bench("mi300x").boards.list_sm_clocks("SIM-MI300X-0") == []


@pytest.mark.parametrize(("argument", "state"), [("h200", "P2"), ("mi300x", "low")])
def test_a_slower_state_is_slower_and_draws_less(argument, state):
    bench = Bench(argument)
    items_per_s, power_w = bench.measure_settled("sd2-train", 500)
    bench.boards.set_state(bench.uuid, state)
    slower, less_w = bench.measure_settled("sd2-train", 500)
    assert slower == pytest.approx(0.6 * items_per_s) and less_w < 0.8 * power_w


def test_a_reading_is_of_the_instant_when_it_was_asked_for_though_the_answer_is_late():
    bench = Bench("h200")
    bench.measure_settled("sd2-train", 500)
    begin_ns = bench.now_ns
    bench.now_ns += S // 20
    first, second = (
        bench.boards.read(bench.uuid, begin_ns + after_ns) for after_ns in (S // 10, S // 10 * 3)
    )
    assert second["energy_mj"] - first["energy_mj"] == pytest.approx(500e3 * 0.2, rel=0.01)
    assert (
        bench.boards.read(bench.uuid, begin_ns)["energy_mj"] == second["energy_mj"]
    )  # no board goes back in time


def test_a_fault_of_some_readings_is_spread_evenly():
    bench = Bench("h200,drop=25,sentinel=50")
    bench.boards.work(bench.uuid, "sd2-train")
    readings = [bench.boards.read(bench.uuid, bench.now_ns) for _ in range(40)]
    assert [r["status"] != "ok" for r in readings] == [False, False, False, True] * 10
    assert sum(r["power_avg_mw"] == 65_535_000 for r in readings) == 15


def load_fitting_script():
    spec = importlib.util.spec_from_file_location("fit_boards", ROOT / "benchmarks/fit_boards.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_parameters_are_those_that_the_script_finds_and_the_page_shows_their_errors():
    script = load_fitting_script()
    stored = json.loads(script.PATH.read_text())["curves"]
    page = (ROOT / "docs/simulated.md").read_text()
    assert script.format_table(stored, {curve: select_rows(curve) for curve in CURVES}) in page
    stored_one, (key, rows) = stored[4], (CURVES[4], select_rows(CURVES[4]))
    assert (
        (stored_one.pop("accelerator"), stored_one.pop("workload"))
        == key
        == ("H100", "vitl16-train")
    )
    parameters = {
        name: value
        for name, value in script.fit_curve(key, rows).items()
        if name not in ("accelerator", "workload")
    }
    for cap_w in (200, 400, 700):
        assert Curve(**parameters).compute_items_per_s(cap_w) == pytest.approx(
            Curve(**stored_one).compute_items_per_s(cap_w), rel=0.003
        )
        assert Curve(**parameters).compute_power_w(cap_w) == Curve(**stored_one).compute_power_w(
            cap_w
        )


def test_above_its_full_draw_a_board_draws_a_share_of_each_watt_of_cap():
    curve = Curve(900.0, 400.0, 1.3, 10.0, full_draw_w=500.0, draw_share=0.4)
    assert [curve.compute_power_w(cap_w) for cap_w in (450, 500, 600)] == [450, 500, 540]


def test_the_node_has_the_true_power_and_energy_of_all_boards():
    now_ns = [0]
    boards = Boards("h200", load=lambda: 0.0, clock=lambda: now_ns[0])
    assert boards.node(0) == {"power_w": 8 * 78, "energy_j": 0, "elapsed_s": 0}
    boards.work("SIM-H200-0", "resnet50-train")
    later = boards.node(100_000_000_000)
    power_w = boards.read("SIM-H200-0", 100_000_000_000)["power_mw"] / 1e3
    assert later["power_w"] == pytest.approx(7 * 78 + power_w, rel=0.02)
    # The board reaches its power within a fraction of a second.
    assert later["energy_j"] == pytest.approx(100 * later["power_w"], rel=0.01)
    assert later["elapsed_s"] == 100
    now_ns[0] = 200_000_000_000
    boards.set_cap("SIM-H200-0", 200_000)  # lowers no power of the past
    assert boards.node(now_ns[0])["energy_j"] == pytest.approx(200 * later["power_w"], rel=0.01)
