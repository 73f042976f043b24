"""The three meters: NVML's quirks on a fake, RAPL on a made-up powercap tree, the simulated boards
against their physics."""

import statistics
from pathlib import Path

import pytest
from support.fakes import fake_nvml
from support.fakes.fake_nvml import NVML_ERROR_NOT_SUPPORTED, FakeNvml

from harness.errors import MeterError, NotAllowedError, PlanError
from harness.power.cuda_devices import visible_devices
from harness.power.source import cap_control, find_unused_boards, read_back
from harness.power.sources import open_source, source_names
from harness.power.sources.nvidia import NvidiaSource
from harness.power.sources.rapl import RaplSource
from harness.power.sources.simulated import SimulatedSource
from harness.run.board_settings import determine_cap
from harness.simulation.board_models import MODELS
from harness.simulation.board_state import Activity
from harness.simulation.boards import RESIDENT_W, Boards
from harness.simulation.cpu_load import BusyShare
from harness.simulation.server import VARIABLE

A, B = "GPU-aaaa0000-0000-0000-0000-000000000000", "GPU-bbbb0000-0000-0000-0000-000000000000"
MS = 1_000_000


def test_every_meter_is_found_and_an_unknown_one_is_refused():
    assert source_names() == ["amd", "nvidia", "rapl", "simulated"]
    with pytest.raises(
        MeterError, match="no meter called 'wattson'; there are amd, nvidia, rapl, simulated"
    ):
        open_source("wattson")


def test_nvidia_takes_instantaneous_power_from_its_field_and_the_average_from_power_usage():
    reading = NvidiaSource(FakeNvml(A), None).read(A)
    assert (reading.power_mw, reading.power_avg_mw, reading.energy_mj) == (
        690_000,
        650_000,
        123_456_789,
    )
    assert (reading.sm_mhz, reading.mem_mhz, reading.power_state, reading.slowdown) == (
        1755,
        3201,
        "P0",
        4,
    )
    assert (reading.temp_c, reading.mem_temp_c, reading.util_pct, reading.cap_mw) == (
        55,
        61,
        99,
        700_000,
    )
    assert reading.status == "ok"


def test_nvidia_heeds_the_return_code_of_a_field_instead_of_its_value():
    nvml = FakeNvml(A)
    nvml.field_errors[186] = NVML_ERROR_NOT_SUPPORTED
    reading = NvidiaSource(nvml, None).read(A)
    assert reading.power_mw is None
    assert reading.status == "ok"  # this board has no such quantity, which is no failure


def test_nvidia_says_which_quantity_failed_and_keeps_the_others():
    nvml = FakeNvml(A)
    meter = NvidiaSource(nvml, None)
    nvml.field_errors[186] = 999
    reading = meter.read(A)
    assert (reading.power_mw, reading.power_avg_mw) == (None, 650_000)
    assert reading.status == "power_mw: error 999"


def test_nvidia_survives_a_board_that_vanishes():
    nvml = FakeNvml(A)
    meter = NvidiaSource(nvml, None)
    nvml.lost = True
    reading = meter.read(A)
    assert reading.power_mw is None and reading.energy_mj is None
    assert reading.status.startswith("power_mw: ")
    assert meter.readback(A, frozenset()).enforced_mw is None


def test_nvidia_needs_only_the_boards_that_are_named():
    nvml = FakeNvml(A, B)
    nvml.forbidden = {A}
    assert [d.uuid for d in NvidiaSource(nvml, B).devices()] == [B]
    assert [d.uuid for d in NvidiaSource(nvml, None).devices()] == [B]
    with pytest.raises(MeterError, match=r"NVML gives no access to GPU 0 \(error 4\)"):
        NvidiaSource(nvml, "1,0")


def test_nvidia_counts_only_the_processes_of_others_as_foreign():
    nvml = FakeNvml(A)
    nvml.pids = [10, 11, 12]
    assert NvidiaSource(nvml, None).readback(A, frozenset({11})).foreign_processes == 2


def test_nvidia_reads_limits_and_mig():
    nvml = FakeNvml(A)
    nvml.fields[190] = 500_000
    state = NvidiaSource(nvml, None).readback(A, frozenset())
    assert (state.min_mw, state.max_mw, state.default_mw) == (200_000, 700_000, 700_000)
    assert (state.enforced_mw, state.requested_mw, state.mig) == (500_000, 700_000, False)
    nvml.mig = 1
    assert NvidiaSource(nvml, None).readback(A, frozenset()).mig is True


def test_nvidia_sets_a_limit_in_milliwatts_and_the_board_has_it():
    meter = NvidiaSource(FakeNvml(A, B), None)
    meter.set_cap(A, 400_000)
    assert [meter.readback(u, frozenset()).enforced_mw for u in (A, B)] == [400_000, 700_000]
    assert meter.readback(A, frozenset()).requested_mw == meter.read(A).cap_mw == 400_000


@pytest.mark.parametrize(
    ("cap_mw", "root", "kind"), [(199_000, True, MeterError), (400_000, False, NotAllowedError)]
)
def test_nvidia_says_what_nvml_refused(cap_mw, root, kind):
    """The second version of the call would return success for both."""
    nvml = FakeNvml(A)
    nvml.boards["root"] = root
    with pytest.raises(
        MeterError,
        match=rf"{A}: a power limit of {cap_mw / 1e3:g} W was refused by NVML \(error \d\)",
    ) as caught:
        NvidiaSource(nvml, None).set_cap(A, cap_mw)
    assert type(caught.value) is kind
    assert NvidiaSource(nvml, None).readback(A, frozenset()).enforced_mw == 700_000


def test_nvidia_has_no_state_to_set():
    with pytest.raises(MeterError, match="a board enters P0 when it computes"):
        NvidiaSource(FakeNvml(A), None).set_state(A, "P0")


def test_nvidia_reads_application_clocks_and_their_defaults_where_a_board_has_them(monkeypatch):
    nvml = FakeNvml(A)
    nvml.clocks[fake_nvml.NVML_CLOCK_SM] = 1500

    def clocks():
        state = NvidiaSource(nvml, None).readback(A, frozenset())
        return (state.sm_set_mhz, state.sm_default_mhz, state.mem_set_mhz, state.mem_default_mhz)

    assert clocks() == (1500, 1980, 3201, 3201)
    nvml.clocks.clear()
    assert clocks() == (None, 1980, None, 3201)
    monkeypatch.delattr(FakeNvml, "nvmlDeviceGetDefaultApplicationsClock")  # as CUDA 14 is to do
    assert clocks() == (None, None, None, None)


def test_limits_of_cpu_packages_are_read_and_not_set(tmp_path):
    write_rapl_tree(tmp_path)
    source = RaplSource.open(str(tmp_path))
    assert read_back(source, "RAPL-0").enforced_mw == 125_000
    with pytest.raises(MeterError, match="cannot set power caps"):
        cap_control(source)
    with pytest.raises(PlanError, match="--cap 100: the meter cannot set power caps"):
        determine_cap(source, source.devices(), 100.0)
    assert determine_cap(source, source.devices(), None) == determine_cap(
        source, source.devices(), 125.0
    )


@pytest.mark.parametrize(
    ("visible", "chosen"),
    [
        (None, [0, 1]),
        ("", []),
        ("1", [1]),
        ("1,0", [1, 0]),
        (A, [0]),
        ("GPU-bbbb", [1]),
        ("0,7,1", [0]),
        ("-1", []),
        ("GPU-cccc,0", []),
    ],
)
def test_nvidia_applies_the_choice_that_nvml_ignores(visible, chosen):
    assert visible_devices([A, B], visible) == chosen


def write_rapl_tree(root: Path, energy_uj: int = 0, name: str = "package-0") -> Path:
    package = root / "intel-rapl:0"
    package.mkdir(parents=True)
    contents = {
        "name": name,
        "energy_uj": energy_uj,
        "max_energy_range_uj": 999_999,
        "constraint_0_power_limit_uw": 125_000_000,
    }
    for file, content in contents.items():
        (package / file).write_text(f"{content}\n")
    return package


def test_rapl_derives_average_power_and_unwraps_the_counter(tmp_path):
    package = write_rapl_tree(tmp_path, 900_000)
    now_ns = 0
    meter = RaplSource([package], clock=lambda: now_ns)
    (package / "energy_uj").write_text(
        "400000\n"
    )  # over the edge: 99 999 left, one for the step, 400 000 more
    now_ns = 100 * MS
    reading = meter.read("RAPL-0")
    assert reading.energy_mj == 500
    assert reading.power_avg_mw == 5000
    assert reading.power_mw is None  # RAPL has no instantaneous power
    assert reading.cap_mw == 125_000


def test_rapl_says_what_is_missing(tmp_path):
    with pytest.raises(MeterError, match="no RAPL package domains there"):
        RaplSource.open(str(tmp_path))
    write_rapl_tree(tmp_path / "dram", name="dram")
    with pytest.raises(MeterError, match="no RAPL package"):
        RaplSource.open(str(tmp_path / "dram"))


def test_rapl_reports_a_failed_read_as_failed(tmp_path):
    package = write_rapl_tree(tmp_path)
    meter = RaplSource.open(str(tmp_path))
    (package / "energy_uj").write_text("garbage\n")
    assert meter.read("RAPL-0").status.startswith("energy_uj: ")


class Bench:
    """A simulated board under a load and a clock that a test sets."""

    def __init__(
        self, load: float, cap_w: float = 700, activity: Activity = Activity.COMPUTING
    ) -> None:
        self.now_ns, self.load = 0, load
        boards = Boards("h200", lambda: self.load, lambda: self.now_ns)
        boards.set_activity("SIM-H200-0", activity)
        self.meter = SimulatedSource(
            lambda do, **arguments: boards.answer(do, arguments), clock=lambda: self.now_ns
        )
        self.meter.set_cap("SIM-H200-0", round(1e3 * cap_w))

    def readings(self, count: int, step_ns: int = 100 * MS):
        readings_list = []
        for _ in range(count):
            self.now_ns += step_ns
            readings_list.append(self.meter.read("SIM-H200-0"))
        return readings_list


def test_simulated_power_stays_below_the_cap_under_load():
    capped = [r.power_mw / 1e3 for r in Bench(1.0, cap_w=400).readings(200)][20:]
    assert statistics.mean(capped) == pytest.approx(398, rel=0.005)
    assert statistics.stdev(capped) > 0.5


@pytest.mark.parametrize(
    ("load", "activity", "extra_w"),
    [
        (1.0, Activity.IDLE, 0),
        (1.0, Activity.RESIDENT, RESIDENT_W),
        (0.0, Activity.COMPUTING, RESIDENT_W),
    ],
)
def test_simulated_boards_that_do_not_compute_ignore_the_load_of_the_cpus(load, activity, extra_w):
    readings = Bench(load, activity=activity).readings(200)[20:]
    mean_w = statistics.mean(reading.power_mw for reading in readings) / 1e3
    assert mean_w == pytest.approx(MODELS["h200"].idle_w + extra_w, rel=0.005)


def test_simulated_clock_falls_with_the_cap_and_the_reason_is_the_cap():
    free, capped = Bench(0.5).readings(50)[-1], Bench(1.0, cap_w=300).readings(50)[-1]
    assert (free.sm_mhz, free.slowdown) == (1980, 0)
    assert capped.sm_mhz < 1600 and capped.slowdown == 4


def test_simulated_counter_integrates_the_power_and_shows_it_every_100_ms():
    bench = Bench(1.0, cap_w=500)
    readings = bench.readings(1000, 10 * MS)
    energies_mj = [r.energy_mj for r in readings]
    assert 95 <= len(set(energies_mj)) <= 115
    steady = [r.power_mw / 1e3 for r in readings[100:]]
    assert (energies_mj[-1] - energies_mj[100]) / 1e3 == pytest.approx(
        statistics.mean(steady) * 9.0, rel=0.02
    )


def test_simulated_average_lags_behind():
    bench = Bench(0.0)
    bench.readings(20)
    bench.load = 1.0
    first, *_, last = bench.readings(60)
    assert first.power_avg_mw < first.power_mw * 0.5
    assert last.power_avg_mw == pytest.approx(last.power_mw, rel=0.03)


def test_simulated_refuses_an_unknown_model(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(
        MeterError,
        match="no simulated accelerator 'b300'; there are h100, h200, b200, gb200, mi300x",
    ):
        open_source("simulated:b300")


def test_busy_share_comes_from_the_ticks_between_two_looks(tmp_path):
    stat = tmp_path / "stat"
    stat.write_text("cpu 100 0 0 100 0 0 0 0 0 0\n")
    share = BusyShare(stat)
    stat.write_text("cpu 130 0 0 110 0 0 0 0 0 0\n")
    assert share() == pytest.approx(0.75)
    stat.write_text("cpu 131 0 0 110 0 0 0 0 0 0\n")
    assert share() == pytest.approx(0.75)  # too few ticks to tell
    assert BusyShare(tmp_path / "none")() == 1.0


def test_gpus_that_a_variable_hides_are_installed_and_can_be_read():
    nvml = FakeNvml("GPU-a", "GPU-b", "GPU-c", "GPU-d")
    nvml.forbidden.add("GPU-c")

    def get_uuid(handle: str) -> str:
        if handle == "GPU-d":
            raise nvml.NVMLError(fake_nvml.NVML_ERROR_GPU_IS_LOST)
        return handle

    nvml.nvmlDeviceGetUUID = get_uuid
    meter = NvidiaSource(nvml, "1")
    assert [device.uuid for device in meter.devices()] == ["GPU-b"]
    # NVML counts the GPUs that it gives no access to or that are lost; they cannot be read.
    assert (meter.hidden(), meter.count_installed()) == (["GPU-a"], 4)
    assert meter.read("GPU-a") == meter.read("GPU-b")
    assert find_unused_boards(meter, ["GPU-b"]) == ("GPU-a",)
    assert find_unused_boards(NvidiaSource(nvml, None), ["GPU-a"]) == ("GPU-b",)


def write_dies(root: Path, energies_uj: dict[str, int]) -> list[Path]:
    packages = []
    for number, (name, energy_uj) in enumerate(energies_uj.items()):
        package = root / f"intel-rapl:{number}"
        package.mkdir()
        for file, content in (
            ("name", name),
            ("energy_uj", energy_uj),
            ("max_energy_range_uj", 10**12),
        ):
            (package / file).write_text(f"{content}\n")
        packages.append(package)
    return packages


@pytest.mark.parametrize(
    ("energies_uj", "meters"),
    [
        ({"package-0-die-0": 500, "package-0-die-1": 500}, ["RAPL-0"]),
        ({"package-1-die-0": 7, "package-0-die-0": 5, "package-1-die-1": 7}, ["RAPL-0", "RAPL-1"]),
        ({"package-0-die-0": 500, "package-0-die-1": 501}, ["RAPL-0", "RAPL-1"]),
        ({"package-0": 500, "package-1": 500}, ["RAPL-0", "RAPL-1"]),
    ],
)
def test_dies_that_give_one_counter_are_one_meter(tmp_path, energies_uj, meters):
    write_dies(tmp_path, energies_uj)
    source = RaplSource.open(str(tmp_path))
    assert [device.uuid for device in source.devices()] == meters


def test_a_package_without_the_range_of_its_counter_is_refused_with_a_remedy(tmp_path):
    package = write_rapl_tree(tmp_path)
    (package / "max_energy_range_uj").unlink()
    with pytest.raises(
        MeterError,
        match=r"intel-rapl:0/max_energy_range_uj cannot be read \(No such file or directory\), so "
        "nobody can tell when the counter wraps; give the run the whole powercap tree",
    ):
        open_source(f"rapl:{tmp_path}")
