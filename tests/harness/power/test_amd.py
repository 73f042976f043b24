"""Readings and settings of AMD GPUs on a fake that has each documented quirk of AMD SMI
(tests/support/fakes/fake_amdsmi.py)."""

import os

import pytest
from support.fakes.fake_amdsmi import (
    BUSY,
    NO_PERMISSION,
    NOT_SUPPORTED,
    A,
    FakeAmdSmi,
)
from support.harness.amd_boards import gpu as gpu
from support.harness.amd_boards import kernel as kernel
from support.harness.amd_boards import meter as meter

from harness.errors import MeterError, NotAllowedError
from harness.power import rocm_slowdown
from harness.power.sources.amd import AmdSource
from harness.run import preflight
from harness.run.board_settings import determine_cap


def test_an_mi300x_is_read_in_the_units_of_a_reading(meter):
    reading = meter.read(A)
    assert (reading.power_mw, reading.power_avg_mw, reading.cap_mw) == (717_000, None, 600_000)
    assert (
        reading.energy_mj == 72_688_714 and type(reading.energy_mj) is int
    )  # 4 750 896 266 of 15.3 uJ
    assert (reading.mem_mhz, reading.temp_c, reading.mem_temp_c, reading.util_pct) == (
        1300,
        66,
        48,
        98,
    )
    assert (reading.power_state, reading.status) == ("auto", "ok")


def test_the_clock_is_the_mean_of_the_compute_dies_and_of_the_one_where_there_are_none(gpu, meter):
    gpu.metrics["current_gfxclks"] = [1400, 1100, "N/A", "N/A"]
    assert meter.read(A).sm_mhz == 1250
    gpu.metrics |= {"current_gfxclks": ["N/A"] * 8, "current_gfxclk": 1700}
    assert meter.read(A).sm_mhz == 1700


def test_an_mi200_has_averaged_power_only(gpu, meter):
    gpu.power |= {"current_socket_power": "N/A", "average_socket_power": 94}
    reading = meter.read(A)
    assert (reading.power_mw, reading.power_avg_mw, reading.status) == (None, 94_000, "ok")


@pytest.mark.parametrize("mark", ["N/A", 0xFFFF, 0xFFFF_FFFF, 0])
def test_a_mark_for_no_power_is_not_taken_for_power(gpu, meter, mark):
    gpu.power["current_socket_power"] = mark
    reading = meter.read(A)
    assert (reading.power_mw, reading.power_avg_mw) == (None, None)
    assert reading.status.startswith("power: none reported")


def test_a_second_die_is_refused_before_a_run(gpu, meter):
    gpu.power["current_socket_power"] = 0
    (objection,) = preflight.find_objections(meter, meter.devices())
    assert "first die or partition" in objection


def test_power_that_was_there_and_is_gone_is_a_failed_reading(gpu, meter):
    meter.read(A)
    gpu.power["current_socket_power"] = 0xFFFF
    reading = meter.read(A)
    assert (reading.power_mw, reading.status) == (None, "power_mw: not available this time")
    assert reading.energy_mj is not None


def test_the_counter_is_found_under_its_older_name(gpu, meter):
    before = meter.read(A).energy_mj
    gpu.energy["power"] = gpu.energy.pop("energy_accumulator")
    assert meter.read(A).energy_mj == before


def test_caps_are_read_from_microwatts_and_the_least_is_told_as_it_is(meter):
    state = meter.readback(A, frozenset())
    assert (state.min_mw, state.max_mw, state.default_mw, state.enforced_mw) == (
        0,
        750_000,
        750_000,
        600_000,
    )
    assert meter.devices()[0].max_power_w == 750.0
    assert determine_cap(meter, meter.devices(), 600.0) == (600.0, None)


def test_a_limit_is_set_in_microwatts_and_read_back_in_watts(gpu, meter):
    meter.set_cap(A, 400_000)
    assert gpu.caps["power_cap"] == 400_000_000
    assert meter.readback(A, frozenset()).enforced_mw == meter.read(A).cap_mw == 400_000
    with pytest.raises(
        MeterError, match=rf"{A}: a power limit of 751 W was refused by AMD SMI \(Error code: 1 "
    ):
        meter.set_cap(A, 751_000)


def test_with_a_least_limit_of_zero_any_lower_cap_is_taken(gpu, meter):
    """Whether the board enforces it is for the load to show: rule C102."""
    assert determine_cap(meter, meter.devices(), 200.0) == (200.0, {A: 600_000})
    meter.set_cap(A, 200_000)
    assert meter.readback(A, frozenset()).enforced_mw == 200_000


@pytest.mark.parametrize("level", ["auto", "high", "stable_peak"])
def test_a_performance_level_is_set_by_its_name(gpu, meter, level):
    meter.set_state(A, level)
    assert meter.read(A).power_state == level


def test_a_performance_level_that_does_not_exist_is_refused(meter):
    with pytest.raises(MeterError, match=f"{A}: the performance level turbo was refused"):
        meter.set_state(A, "turbo")


def test_setting_without_the_right_to_is_told_apart_from_other_refusals(gpu, meter):
    gpu.errors = dict.fromkeys(("amdsmi_set_power_cap", "amdsmi_set_gpu_perf_level"), NO_PERMISSION)
    for change in (lambda: meter.set_cap(A, 400_000), lambda: meter.set_state(A, "auto")):
        with pytest.raises(NotAllowedError, match=r"refused by AMD SMI \(Error code: 10 "):
            change()
    gpu.errors = {"amdsmi_set_power_cap": BUSY}
    with pytest.raises(MeterError) as caught:
        meter.set_cap(A, 400_000)
    assert not isinstance(caught.value, NotAllowedError)


@pytest.mark.parametrize("level", ["MANUAL", "DETERMINISM"])
def test_a_level_whose_clocks_could_not_be_restored_is_refused_before_a_run(gpu, meter, level):
    gpu.level = f"AMDSMI_DEV_PERF_LEVEL_{level}"
    (objection,) = preflight.find_objections(meter, meter.devices())
    assert f"performance level is {level.lower()}" in objection and "--perf-level auto" in objection


def test_limits_that_a_guest_does_not_have_are_no_limits(gpu, meter):
    gpu.caps |= {"min_power_cap": 2**64 - 1, "max_power_cap": 2**64 - 1}
    state = meter.readback(A, frozenset())
    assert (state.min_mw, state.max_mw, state.enforced_mw) == (None, None, 600_000)
    assert meter.devices()[0].max_power_w is None


def test_slowdown_is_what_grew_since_the_last_reading(gpu, meter):
    assert meter.read(A).slowdown is None  # nothing to compare with
    gpu.metrics["ppt_residency_acc"] += 90
    assert meter.read(A).slowdown == rocm_slowdown.PACKAGE_POWER
    assert meter.read(A).slowdown == 0
    for slowdown_bit, name in rocm_slowdown.RESIDENCY_COUNTERS.items():
        gpu.metrics[name] += 1
        assert meter.read(A).slowdown == slowdown_bit
    gpu.metrics |= {"prochot_residency_acc": 9, "hbm_thm_residency_acc": 9}
    assert meter.read(A).slowdown == rocm_slowdown.PROCESSOR_HOT | rocm_slowdown.MEMORY_THERMAL


def test_throttling_during_a_failed_reading_shows_in_the_next_and_a_counter_begun_anew_is_none(
    gpu, meter
):
    meter.read(A)
    gpu.errors["amdsmi_get_gpu_metrics_info"] = BUSY
    gpu.metrics["vr_thm_residency_acc"] += 1
    assert meter.read(A).slowdown is None
    gpu.errors.clear()
    assert meter.read(A).slowdown == rocm_slowdown.REGULATOR_THERMAL
    gpu.metrics["ppt_residency_acc"] = 1
    assert meter.read(A).slowdown == 0


def test_an_older_board_has_no_residencies_and_is_not_at_fault(gpu, meter):
    gpu.metrics |= dict.fromkeys(rocm_slowdown.RESIDENCY_COUNTERS.values(), "N/A")
    meter.read(A)
    reading = meter.read(A)
    assert (reading.slowdown, reading.status) == (None, "ok")


def test_no_reading_waits_for_a_violation_status(gpu):
    smi = FakeAmdSmi(gpu)
    meter = AmdSource(smi, {})
    for _ in range(3):
        meter.read(A)
    meter.readback(A, frozenset())
    assert smi.blocked_ms == 0


@pytest.mark.parametrize(
    ("level", "state"),
    [
        ("AMDSMI_DEV_PERF_LEVEL_STABLE_PEAK", "stable_peak"),
        ("AMDSMI_DEV_PERF_LEVEL_MANUAL", "manual"),
    ],
)
def test_the_performance_level_is_the_power_state(gpu, meter, level, state):
    gpu.level = level
    assert meter.read(A).power_state == state


def test_a_level_that_the_binding_does_not_know_is_a_failed_reading(gpu, meter):
    gpu.level = KeyError(77)
    reading = meter.read(A)
    assert (reading.power_state, reading.power_mw, reading.status) == (None, 717_000, "level: 77")


def test_an_error_is_told_in_one_line_and_costs_its_quantities_only(gpu, meter):
    gpu.errors["amdsmi_get_energy_count"] = BUSY
    reading = meter.read(A)
    assert reading.status == "energy: Error code: 30 | AMDSMI_STATUS_SOMETHING - what it means"
    assert (reading.power_mw, reading.energy_mj, reading.temp_c) == (717_000, None, 66)


def test_what_a_board_or_a_version_lacks_is_no_failure(gpu):
    smi = FakeAmdSmi(gpu)
    smi.lacks = {"amdsmi_get_gpu_metrics_info", "amdsmi_get_gpu_compute_partition"}
    gpu.errors["amdsmi_get_energy_count"] = NOT_SUPPORTED
    meter = AmdSource(smi, {})
    reading = meter.read(A)
    assert (reading.energy_mj, reading.sm_mhz, reading.status) == (None, None, "ok")
    assert meter.readback(A, frozenset()).mig is False


def test_a_board_that_vanishes_is_survived(gpu, meter):
    meter.read(A)
    gpu.errors = dict.fromkeys(
        (
            "amdsmi_get_power_info",
            "amdsmi_get_energy_count",
            "amdsmi_get_power_cap_info",
            "amdsmi_get_gpu_perf_level",
        ),
        BUSY,
    )
    reading = meter.read(A)
    assert (reading.power_mw, reading.energy_mj, reading.cap_mw, reading.power_state) == (
        None,
        None,
        None,
        None,
    )
    assert reading.status.startswith("power: Error code: 30")
    assert meter.readback(A, frozenset()).enforced_mw is None


@pytest.mark.parametrize(
    ("partition", "mig"), [("SPX", False), ("CPX", True), ("DPX", True), ("N/A", False)]
)
def test_a_partitioned_gpu_counts_as_one_in_slices(gpu, meter, partition, mig):
    gpu.partition = partition
    assert meter.readback(A, frozenset()).mig is mig


def test_a_later_partition_counts_as_one_though_it_does_not_tell_the_mode(gpu, meter):
    gpu.errors["amdsmi_get_gpu_compute_partition"] = NOT_SUPPORTED
    assert meter.readback(A, frozenset()).mig is False
    gpu.partition_id = 1
    assert meter.readback(A, frozenset()).mig is True


def test_only_the_processes_of_others_are_foreign(gpu, meter):
    gpu.pids = [10, 11, os.getpid()]
    assert meter.readback(A, frozenset({11})).foreign_processes == 1
    gpu.errors["amdsmi_get_gpu_process_list"] = NO_PERMISSION
    assert meter.readback(A, frozenset()).foreign_processes is None


def test_ecc_counts_are_read(gpu, meter):
    gpu.ecc["uncorrectable_count"] = 2
    state = meter.readback(A, frozenset())
    assert (state.ecc_uncorrected, state.ecc_corrected) == (2, 3)
