"""Energy series of Slurm: the HDF5 files of its profiles, and the CSV that sh5util extracts.

The files have the layout that acct_gather_profile_hdf5.c writes and sh5util.c merges: tables of
unsigned 64 bit numbers in chunks of ten rows, `/NODE/Energy` in the file of a step on a node, and
`/Steps/STEP/Nodes/NODE/Energy` in that of a job. The powers are named as acct_gather_energy/rapl,
ipmi, gpu and xcc name them.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from support.harness.power_logs import START_S, read_lines

from checker.extras import advise_extra
from harness.cli import main
from harness.power_logs.read import read_log
from harness.power_logs.summary import summarise
from harness.power_logs.text import open_lines
from rules.power_logs import slurm_profile
from rules.power_logs.read import LogRequest
from rules.power_logs.records import PowerLogError

h5py = pytest.importorskip("h5py")

Rows = Sequence[tuple[int, ...]]


def make_rows(*powers: int, count: int = 9, step_s: int = 1) -> Rows:
    """Elapsed time, time, and each power plus the number of the row."""
    return [
        (i * step_s, START_S + i * step_s, *(power + i for power in powers)) for i in range(count)
    ]


def write_profile(
    path: Path, tables: Mapping[str, Rows], powers: Sequence[str] = ("Power",)
) -> Path:
    """A file with tables of these rows, by the group of the node."""
    columns = ("ElapsedTime", "EpochTime", *powers)
    record = np.dtype([(column, "<u8") for column in columns])
    with h5py.File(path, "w") as file:
        for group, rows in tables.items():
            values = np.array(rows, record)
            file.create_group(group).attrs["Node Name"] = group.rpartition("/")[2]
            file[group].create_dataset("Energy", data=values, chunks=(10,), maxshape=(None,))
    return path


def read(path: Path, **options: str):
    return read_log(LogRequest(path, **options))


def test_file_of_a_job_is_read_by_node_and_summed(tmp_path):
    tables = {f"Steps/0/Nodes/n{i}": make_rows(100 * i) for i in (1, 2)}
    log = read(write_profile(tmp_path / "job_7.h5", tables))
    assert log.format == "slurm-profile" and log.feeds == ["n1", "n2"] and log.adds
    assert log.time_zone == "UTC" and log.start_ns == START_S * 10**9
    total = summarise(log).total
    assert total.mean_w == pytest.approx(308) and total.energy_j == pytest.approx(308 * 8)


def test_file_of_a_step_on_a_node_is_read(tmp_path):
    log = read(write_profile(tmp_path / "7_0_n1.h5", {"n1": make_rows(200)}, ["NodePower"]))
    assert log.feeds == ["n1"] and summarise(log).total.mean_w == pytest.approx(204)


def test_hdf5_and_extracted_csv_are_the_same_log(tmp_path):
    path = write_profile(tmp_path / "job_7.h5", {"Steps/batch/Nodes/n1": make_rows(200)})
    with open_lines(path) as numbered:
        lines = [line for _, line in numbered]
    assert lines[:2] == ["Step,Node,ElapsedTime,EpochTime,Power", f"batch,n1,0,{START_S},200"]
    extracted, direct = read_lines(tmp_path, lines), read(path)
    assert summarise(extracted).to_json() == summarise(direct).to_json()


def test_steps_that_share_a_node_are_feeds_that_are_not_added(tmp_path):
    tables = {
        "Steps/0/Nodes/n1": make_rows(300),
        "Steps/batch/Nodes/n1": make_rows(200, count=20),
        "Steps/0/Nodes/n2": make_rows(500),
    }
    log = read(write_profile(tmp_path / "job_7.h5", tables))
    assert log.feeds == ["0/n1", "0/n2", "batch/n1"] and not log.adds
    means = [summarise(log).feeds[feed].mean_w for feed in log.feeds]
    assert means == pytest.approx([304, 504, 209.5])


def test_boards_of_the_gpu_plugin_are_feeds(tmp_path):
    powers = ["GPU0Power", "GPU1Power", "GPU1PowerCap"]
    path = write_profile(tmp_path / "7_0_n1.h5", {"n1": make_rows(100, 300, 700)}, powers)
    log = read(path)
    assert log.feeds == ["n1/GPU0", "n1/GPU1"] and log.adds
    assert summarise(log).total.mean_w == pytest.approx(408)


def test_energy_of_the_xcc_plugin_is_no_power(tmp_path):
    path = write_profile(tmp_path / "7_0_n1.h5", {"n1": make_rows(9, 300)}, ["Energy", "CurrPower"])
    assert summarise(read(path)).total.mean_w == pytest.approx(304)


def test_readings_that_slurm_writes_again_count_once(tmp_path):
    """The IPMI plugin writes the last reading of the BMC until there is a new one."""
    rows = [row for row in make_rows(200, step_s=3) for _ in range(3)]
    log = read(write_profile(tmp_path / "7_0_n1.h5", {"n1": rows}))
    assert len(log) == 9 and not log.problems.count("duplicate")


def test_rows_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.power_logs.hdf5._ROWS_AT_ONCE", 4)
    assert len(read(write_profile(tmp_path / "7_0_n1.h5", {"n1": make_rows(200)}))) == 9


def test_log_is_limited_in_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.power_logs.text.MAX_UNPACKED_BYTES", 200)
    with pytest.raises(PowerLogError, match="cut it to the time of the run"):
        read(write_profile(tmp_path / "7_0_n1.h5", {"n1": make_rows(200)}))


def test_powers_of_parts_alone_are_refused(tmp_path):
    path = write_profile(tmp_path / "7_0_n1.h5", {"n1": make_rows(90)}, ["Socket1Power"])
    with pytest.raises(PowerLogError, match=r"EpochTime, Socket1Power, and no power of a node"):
        read(path)


def test_nodes_with_other_columns_are_refused(tmp_path):
    path = write_profile(tmp_path / "job_7.h5", {"Steps/0/Nodes/n1": make_rows(200)})
    with h5py.File(path, "a") as file:
        values = np.array(make_rows(1), [(name, "<u8") for name in ("a", "EpochTime", "GPU0Power")])
        file.create_dataset("Steps/0/Nodes/n2/Energy", data=values)
    with pytest.raises(PowerLogError, match="/Steps/0/Nodes/n2/Energy: the columns are a,"):
        read(path)


def test_profile_without_energy_is_refused(tmp_path):
    with h5py.File(tmp_path / "job_7.h5", "w") as file:
        file.create_group("Steps/0/Nodes/n1/Task")
    with pytest.raises(PowerLogError, match=r"has Steps, and no energy series .*--profile=energy"):
        read(tmp_path / "job_7.h5")
    with h5py.File(tmp_path / "weather.h5", "w") as file:
        file.create_dataset("rain", data=[1.0])
    with pytest.raises(PowerLogError, match="has rain, and no energy series"):
        read(tmp_path / "weather.h5")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.95])
def test_cut_file_is_refused_in_one_line(tmp_path, share):
    path = write_profile(tmp_path / "7_0_n1.h5", {"n1": make_rows(200, count=900)})
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    result = CliRunner().invoke(main, ["power-log", str(path)])
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {path}: the HDF5 file cannot be read")
    assert "copy it again from its source" in result.output


@pytest.mark.parametrize("seed", range(60))
def test_damage_anywhere_in_a_profile_never_ends_in_a_traceback(tmp_path, seed):
    path = write_profile(tmp_path / "7_0_n1.h5", {"n1": make_rows(200, count=40)})
    content = bytearray(path.read_bytes())
    chance = np.random.default_rng(seed)
    for place in chance.integers(8, len(content), 20):
        content[place] = chance.integers(256)
    path.write_bytes(bytes(content))
    try:
        read(path)
    except PowerLogError as error:
        assert str(path) in str(error)


def test_without_h5py_the_message_names_extra_and_command(tmp_path, monkeypatch):
    path = write_profile(tmp_path / "7_0_n1.h5", {"n1": make_rows(200)})
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(PowerLogError) as refused:
        read(path)
    assert f"{advise_extra('hdf5')}, or write" in str(refused.value)
    assert "sh5util -j JOB --extract --series=Energy --level=Node:TimeSeries" in str(refused.value)


def test_torn_rows_of_an_extracted_profile_are_named(tmp_path):
    lines = [",".join((*slurm_profile.COLUMNS, "Power"))]
    lines += [f"0,n1,{i},{START_S + i},{300 + i}" for i in range(20)]
    lines[5], lines[9] = "0,n1,4", "0,n1,8,yesterday,300"
    log = read_lines(tmp_path, lines)
    torn = [problem for problem in log.problems.list_all() if problem.kind == "torn-line"]
    assert [problem.line for problem in torn] == [6, 10] and len(log) == 18
