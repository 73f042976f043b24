"""Formats that known programs write, read without a map."""

import gzip
import json
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.harness.power_logs import START_S, list_kinds, read_lines

from harness.cli import main
from harness.power_logs.read import read_log
from harness.power_logs.summary import format_summary, summarise
from rules.power_logs.formats import load_formats
from rules.power_logs.read import LogRequest
from rules.power_logs.records import PowerLogError

DATA = Path(__file__).parent / "data"


def repeat(row: str, count: int = 5) -> list[str]:
    """Lines with `{i}` for the number of the reading and `{t}` for its time."""
    return [
        line.format(i=i, t=START_S + i, p=300 + i) for i in range(count) for line in row.split("\n")
    ]


PTD_LOG = [
    "Selected power meter 'Yokogawa WT210' from yokowt210.cpp",
    "SPEC PTDaemon Tool",
    "Version 1.10.0",
    *["03-04-2026 09:59:00.100: ERROR: Can't evaluate uncertainty of this sample!"] * 1500,
    *repeat("Time,03-04-2026 10:00:0{i}.096,Watts,{p}.000000,Volts,230.0,Amps,-1.0,PF,-1.0"),
]
SMI_HEADER = "timestamp, index, power.draw [W], temperature.gpu"
LIKWID_HEADER = (
    "# GID|MetricsCount|CpuCount|Total runtime [s]|Runtime (RDTSC) [s]|Energy [J]|Power [W]|"
    "Power PP0 [W]|Power DRAM [W]"
)
DCMI = """\
    Instantaneous power reading:                   {p} Watts
    Minimum during sampling period:                 18 Watts
    IPMI timestamp:                           Wed Mar  4 10:00:0{i} 2026
    Power reading state is:                   activated
"""
SENSORS = """\
2026-03-04T10:00:0{i}+00:00
PS1 Input Power  | 200.000    | Watts      | ok    | na
PS2 Input Power  | 10{i}.000    | Watts      | ok    | na
Inlet Temp       | 22.000     | degrees C  | ok    | na"""


def make_prometheus(metric: str = "DCGM_FI_DEV_POWER_USAGE") -> list[str]:
    result = [
        {
            "metric": {"__name__": metric, "gpu": str(gpu), "UUID": f"GPU-{gpu}", "Hostname": "n"},
            "values": [[START_S + i, str(150 + i / 2)] for i in range(5)],
        }
        for gpu in range(2)
    ]
    return [json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})]


def make_redfish() -> list[str]:
    values = [
        {
            "MetricId": "SystemPowerConsumption",
            "MetricValue": str(300 + i),
            "Timestamp": f"2026-03-04T10:00:0{i}Z",
            "MetricProperty": "/redfish/v1/Chassis/1/Power#/PowerControl/0/PowerConsumedWatts",
        }
        for i in range(5)
    ]
    values.append({"MetricId": "Inlet", "MetricValue": "22", "Timestamp": "2026-03-04T10:00:00Z"})
    return json.dumps({"Id": "Power", "MetricValues": values}, indent=2).splitlines()


ROCM = '{{"card0": {{"Average Graphics Package Power (W)": "{p}.0"}}, "system": {{"Driver": "6"}}}}'
AMD = '[{{"gpu": 0, "timestamp": {t}, "power": {{"socket_power": {{"value": {p}, "unit": "W"}}}}}}]'
AIPERF = (
    '{{"gpu_index": 0, "hostname": "n", "timestamp_ns": {t}000000000, '
    '"telemetry_data": {{"nvidia_power_usage": {p}.0}}}}'
)
LOGS: dict[str, list[str]] = {
    "ptd": PTD_LOG,
    "mlperf-training": repeat(
        '0: :::MLLOG {{"key": "interconnect_power_est", "value": {p}, "time_ms": {t}000}}'
    ),
    "nvidia-smi": [SMI_HEADER, *repeat("2026/03/04 10:00:0{i}.356, 0, {p}.00 W, 37")],
    "nvidia-smi-dmon": [
        "#Date       Time        gpu    pwr  gtemp",
        "#YYYYMMDD   HH:MM:SS    Idx      W      C",
        *repeat(" 20260304   10:00:0{i}      0    {p}     48"),
    ],
    "amd-smi": [
        "'CTRL' + 'C' to stop watching output:",
        "timestamp,gpu,socket_power,gfx_voltage",
        *repeat("{t},0,{p},N/A"),
    ],
    "rocm-smi": [
        "timestamp,device,Average Graphics Package Power (W)",
        *repeat("{t},card0,{p}.0"),
    ],
    "jpwr": [",timestamps,pynvml:0,pynvml:1", *repeat("{i},{t}.5,200.0,10{i}.0")],
    "zeus-power": ["time,power0,power1", *repeat("{t}.5,200.0,10{i}.0")],
    "srt-slurm": [
        "schema_version,timestamp_unix,scrape_seq,hostname,gpu_index,gpu_uuid,power_w",
        *repeat("2,{t}.25,{i},n,0,1,{p}"),
    ],
    # Source: sh5util.c and acct_gather_profile_hdf5.c of Slurm, which name the columns.
    "slurm-profile": [
        "Step,Node,ElapsedTime,EpochTime,Power",
        *repeat("0,n1,{i},{t},200\n0,n2,{i},{t},10{i}"),
    ],
    "pm-counters": repeat(
        "/sys/cray/pm_counters/power:{p} W {t}123456 us\n/sys/cray/pm_counters/power_cap:0 W"
    ),
    "ipmitool-dcmi": repeat(DCMI),
    "ipmitool-sensor": repeat(SENSORS),
    "prometheus": make_prometheus(),
    "redfish-telemetry": make_redfish(),
    "aiperf": repeat(AIPERF),
    "zeus-timeline": [
        json.dumps(
            {
                "0": [[START_S, 200.0], [START_S + 4, 80.0]],
                "1": [[START_S, 100.0], [START_S + 2, 104.0], [START_S + 4, 180.0]],
            }
        )
    ],
    "amd-smi-json": repeat(AMD),
}


@pytest.mark.parametrize("name", LOGS)
def test_log_of_a_known_program_is_read_by_what_it_shows(tmp_path, name):
    log = read_lines(tmp_path, LOGS[name])
    total = summarise(log).total
    assert log.format == name and log.has_local_times == (
        name in ("ptd", "nvidia-smi", "nvidia-smi-dmon", "ipmitool-dcmi")
    )
    # Of a log of changes, the mean of the readings means nothing.
    mean_w = total.mean_over_time_w if name == "zeus-timeline" else total.mean_w
    assert mean_w == pytest.approx(302)
    assert total.duration_s == 4
    assert {kind for kind, _ in list_kinds(log)} <= {
        "grid",
        "meter-message",
        "conversion-unstated",
        "repeats",
    }


ELAPSED_LOGS = {
    "perf-stat": [
        "# started on Wed Mar  4 10:00:00 2026",
        "",
        *(f"     {i}.0,{250 + i}.00,Joules,power/energy-pkg/,2002406532,100.00,," for i in (1, 2)),
        *(f"     {i}.0,{250 + i}.00,Joules,power/energy-pkg/,2002406532,100.00,," for i in (3, 4)),
    ],
    "likwid": [
        "CPU name: Intel",
        LIKWID_HEADER,
        *(f"1 5 2 {i}.0 1.0 1.0 {200 + i} 0 {200 + i} 0 90 0 50 0" for i in range(1, 5)),
    ],
}


@pytest.mark.parametrize("name", ELAPSED_LOGS)
def test_energy_of_intervals_counts_from_the_start_of_the_program(tmp_path, name):
    log = read_lines(tmp_path, ELAPSED_LOGS[name])
    total = summarise(log).total
    assert log.format == name and log.elapsed and list_kinds(log) == []
    assert (total.energy_j, total.duration_s) == (251 + 252 + 253 + 254, 4.0)


def test_human_output_of_perf_and_its_parts_are_read(tmp_path):
    lines = [
        f"     {i}.000000000 {part}  4  {19 + i},5 Joules power/energy-{domain}/   (100%)"
        for i in range(1, 5)
        for part in ("S0", "S1")
        for domain in ("pkg", "ram", "cores")
    ]
    log = read_lines(tmp_path, lines)
    assert len(log.feeds) == 6 and not log.adds  # cores are a part of pkg
    assert read_lines(tmp_path, [line for line in lines if "cores" not in line]).adds


NO_TIMES = {
    "nvidia-smi-dmon": [
        "# gpu    pwr  gtemp",
        "# Idx      W      C",
        *repeat("    0    {p}     48\n    1    40     48"),
    ],
    "dcgmi-dmon": [
        "#Entity   POWER    TOTEC",
        "ID        W        mJ",
        *repeat("GPU 0     {p}.5    1234\nGPU 1     40.0    1234", 3),
        "#Entity   POWER    TOTEC",
        "ID        W        mJ",
        *repeat("GPU 0     {p}.5    1234\nGPU 1     40.0    1234", 2),
    ],
    "rocm-smi": repeat("device,Average Graphics Package Power (W)\ncard0,{p}.0\ncard1,40.0\n"),
    "rocm-smi-json": repeat(ROCM),
}


@pytest.mark.parametrize("name", NO_TIMES)
def test_log_without_times_is_read_with_a_stated_interval(tmp_path, name):
    with pytest.raises(PowerLogError, match=r"have no times; state the .* with --every"):
        read_lines(tmp_path, NO_TIMES[name])
    log = read_lines(tmp_path, NO_TIMES[name], every_s=2.0)
    assert log.format == name and summarise(log).total.duration_s == 8
    assert len(log.feeds) == (1 if name == "rocm-smi-json" else 2)
    start = read_lines(tmp_path, NO_TIMES[name], every_s=2.0, start="2026-03-04T10:00:00Z")
    assert summarise(start).end == "2026-03-04T10:00:08.000Z"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            ["timestamp,project_name,duration,emissions,gpu_power", "2026-03-04T10:30:00,a,9,1,3"],
            "each row is the total of a run so far",
        ),
        (
            ["start_time,window_name,elapsed_time,gpu0_energy", f"{START_S}.5,a,2.0,800.0"],
            "each row is the energy of a window",
        ),
        (["JobID|Elapsed|ConsumedEnergyRaw", "1|00:01|5"], "each row is the total of a job step"),
        (make_prometheus("node_energy_joules_total"), "is an energy; query its rate in W"),
    ],
)
def test_log_without_readings_is_refused_with_the_reason(tmp_path, lines, reason):
    with pytest.raises(PowerLogError, match=re.escape(reason)):
        read_lines(tmp_path, lines)


def test_rows_of_totals_are_listed_with_energy_duration_and_mean(tmp_path):
    sacct = ["JobID|Start|End|ElapsedRaw|ConsumedEnergyRaw"]
    sacct += ["7|a|b|600|300000", "7.batch|a|b|600|", "7.extern|a|b|600|0", "7.0|a|b|90|45000"]
    sacct += ["8|a|b|9|18446744073709551614"]
    with pytest.raises(PowerLogError) as refused:
        read_lines(tmp_path, sacct)
    _, *rows = str(refused.value).split("\n")
    assert rows == [
        "  7: 300000.0 J in 600 s, mean 500.000 W",
        "  7.0: 45000.0 J in 90 s, mean 500.000 W",
    ]


@pytest.mark.parametrize(
    ("lines", "row"),
    [
        (["JobID|Elapsed|ConsumedEnergyRaw|", "7|1-00:00:10|864100|"], "864100.0 J in 86410 s"),
        (["JobID|Elapsed|ConsumedEnergyRaw", "7|02:30|15000"], "in 150 s, mean 100.000 W"),
        (["JobID|ConsumedEnergyRaw", "7|15000"], "  7: 15000.0 J"),
        (
            ["project_name,run_id,duration,emissions,energy_consumed", "p,r,3600,0.1,0.25"],
            "  r: 900000.0 J in 3600 s, mean 250.000 W",
        ),
        (
            ["start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy", "1,epoch,2.5,600,400"],
            "  epoch: 1000.0 J in 2.5 s, mean 400.000 W",
        ),
    ],
)
def test_totals_of_each_program_are_in_joules(tmp_path, lines, row):
    with pytest.raises(PowerLogError) as refused:
        read_lines(tmp_path, lines)
    assert row in str(refused.value) and str(refused.value).count("\n") == 1


def test_many_totals_are_counted(tmp_path):
    lines = ["JobID|ElapsedRaw|ConsumedEnergyRaw", *(f"{i}|9|900" for i in range(25))]
    with pytest.raises(PowerLogError) as refused:
        read_lines(tmp_path, lines)
    rows = str(refused.value).split("\n")[1:]
    assert rows[-2:] == ["  19: 900.0 J in 9 s, mean 100.000 W", "  and 5 more rows"]
    assert len(rows) == 21


def test_map_does_not_make_runs_readings(tmp_path):
    rows = ["timestamp,project_name,duration,emissions,gpu_power"]
    rows += [f"2026-03-04T10:{i}0:00Z,a,9,1,310" for i in range(5)]
    csv_map = (
        'interval = "instant"\n[time]\ncolumn = "timestamp"\nformat = "iso"\n'
        '[power]\ncolumn = "gpu_power"\nunit = "W"'
    )
    with pytest.raises(PowerLogError, match="each row is the total of a run so far"):
        read_lines(tmp_path, rows, csv_map)


def test_boards_of_a_query_are_feeds_of_which_a_missing_value_is_left_out(tmp_path):
    lines = ["timestamp, index, power.draw [W]"]
    lines += [
        f"2026/03/04 10:00:{i:02}.{300 + g}, {g}, {'[N/A]' if (i, g) == (3, 1) else 300.5 + g} W"
        for i in range(20)
        for g in range(4)
    ]
    log = read_lines(tmp_path, [line.replace("[N/A] W", "[N/A]") for line in lines])
    assert log.feeds == ["0", "1", "2", "3"]
    assert ("no-value", 15) in list_kinds(log) and len(log) == 79
    assert summarise(log).total.mean_w == pytest.approx(1208)


def test_query_of_boards_without_a_column_that_tells_them_apart_is_refused(tmp_path):
    lines = ["timestamp, power.draw [W]"]
    lines += [
        f"2026/03/04 10:00:{i:02}.{300 + g}, {300.5 + g} W" for i in range(20) for g in range(4)
    ]
    with pytest.raises(PowerLogError, match="the rows come in groups of 4"):
        read_lines(tmp_path, lines)


def test_stamps_of_another_unit_are_found_by_their_size(tmp_path):
    lines = ["timestamp,gpu,socket_power", *repeat("{t}250,0,{p}")]
    log = read_lines(tmp_path, lines)
    assert log.series[0].times_ns[0] == START_S * 10**9 + 250_000_000
    iso = ["timestamp,gpu,socket_power", *repeat("2026-03-04T10:00:0{i},0,{p}")]
    assert read_lines(tmp_path, iso).has_local_times


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32), name=st.sampled_from([*LOGS, *ELAPSED_LOGS, *NO_TIMES]))
def test_damage_anywhere_never_ends_in_a_traceback(tmp_path, seed, name):
    lines = {**LOGS, **ELAPSED_LOGS, **NO_TIMES}[name][-40:]
    content = bytearray("\n".join(lines).encode())
    chance = random.Random(seed)
    for _ in range(chance.randrange(1, 6)):
        begin = chance.randrange(len(content))
        pieces = [chance.randbytes(9), b"nan", b"-1", b"1e308", b"9" * 25, b"", b"\n", b",,", b"0"]
        content[begin : begin + chance.randrange(40)] = chance.choice(pieces)
    path = tmp_path / "log"
    path.write_bytes(content)
    try:
        summary = summarise(read_log(LogRequest(path, every_s=1.0, rating_w=500.0)), 500.0)
    except PowerLogError as error:
        assert str(path) in str(error) or "format " in str(error)
    else:
        json.dumps(summary.to_json(), allow_nan=False)
        assert list(format_summary(summary))


INTERRUPTED = (
    "Time,07-28-2025 08:58:{i:02}.506,Watts,{p}.000000,Volts,210.0,Amps,5.5,PF,0.98740007-28-2025 "
    "08:59:03.222: Response to client sent: ,Watts,{p}.000000,Volts,210.0,Amps,5.5,PF,0.985000"
)


def test_log_of_a_daemon_that_interrupts_itself_is_read(tmp_path):
    """One reading of seven, in the daemon's own logs of MLPerf inference v4.1 and v5.1."""
    whole = INTERRUPTED.replace("07-28-2025 08:59:03.222: Response to client sent: ", "")
    lines = ["SPEC PTDaemon Tool"]
    for i in range(56):
        line = INTERRUPTED if i % 7 == 3 else whole
        lines.append(line.format(i=i, p=3000 + i))
    log = read_lines(tmp_path, lines)
    assert log.problems.count("torn-line") == 8 and len(log) == 48
    # Each is missing between two others, which bounds its energy.
    assert 0 < summarise(log).energy_bound_j < 8 * 2 * 56


def test_daemon_log_without_readings_names_the_file_that_has_them(tmp_path):
    with pytest.raises(PowerLogError, match=r"without readings; take spl\.txt of the same run"):
        read_lines(tmp_path, PTD_LOG[:100])


NAME = re.compile(r"`([\w-]+)`")


def test_every_format_is_listed_and_can_be_named(tmp_path):
    output = CliRunner().invoke(main, ["power-log", "--list"]).output
    for name in load_formats():
        assert re.search(rf"^{name}\s", output, re.MULTILINE)
    assert {*LOGS, *ELAPSED_LOGS, *NO_TIMES} <= {*load_formats()}
    page = (Path(__file__).parents[3] / "docs/node-power.md").read_text()
    table = page.partition("### Formats")[2].partition("### Figures")[0]
    rows = [row for row in table.splitlines() if row.startswith("| `")]
    named = {name for row in rows for name in NAME.findall(row.split(" | ")[0])}
    assert named == {*load_formats()}
    for name in ("ptd", "jpwr", "likwid"):
        lines = {**LOGS, **ELAPSED_LOGS}[name]
        assert read_lines(tmp_path, lines, format=name).format == name
    with pytest.raises(PowerLogError, match="--format smi: unknown; expected auto or ptd"):
        read_lines(tmp_path, PTD_LOG, format="smi")


def test_training_log_states_what_the_summary_of_mlperf_gives():
    """Figures of Lenovo's Stable Diffusion of v5.0 by MLPerf's own formula, for `time_to_train`."""
    summary = summarise(read_log(LogRequest(DATA / "training_node_0.txt.gz")))
    assert summary.window is not None
    text = gzip.decompress((DATA / "training_node_0.txt.gz").read_bytes()).decode()
    events = [json.loads(line.split(":::MLLOG ")[1]) for line in text.splitlines()]
    bounds = [e["time_ms"] for e in events if e["key"].startswith("power_measurement")]
    energy, last = 0.0, bounds[0]
    for e in events:
        if e["key"] == "power_reading":
            energy, last = energy + e["value"] * (e["time_ms"] - last), e["time_ms"]
    assert summary.window.mlperf_mean_w == pytest.approx(0.94 * energy / (bounds[1] - bounds[0]))


def make_events(keys: list[tuple[str, int, object]]) -> list[str]:
    return [
        f":::MLLOG {json.dumps({'key': key, 'time_ms': (START_S + t) * 1000, 'value': value})}"
        for key, t, value in keys
    ]


def test_readings_outside_the_measurement_are_left_out(tmp_path):
    keys: list[tuple[str, int, object]] = [("power_reading", t, 1000 + 100 * t) for t in range(10)]
    keys = [("power_measurement_start", 3, None), *keys, ("power_measurement_stop", 9, "null")]
    keys.remove(("power_reading", 9, 1900))
    log = read_lines(tmp_path, make_events(keys))
    assert ("outside-measurement", 0) in list_kinds(log)
    summary = summarise(log)
    assert summary.total.energy_j == 1400 + 1500 + 1600 + 1700 + 1800
    assert summary.window.after_last_reading_s == 1
    assert summary.window.mlperf_mean_w == pytest.approx(8000 / 6)


def test_measurement_that_does_not_enclose_the_readings_is_a_problem(tmp_path):
    keys: list[tuple[str, int, object]] = [("power_reading", t, 1000 + t) for t in range(5)]
    keys += [("power_measurement_start", 100, None), ("power_measurement_stop", 100, None)]
    log = read_lines(tmp_path, make_events(keys))
    assert ("window-contradicted", 0) in list_kinds(log) and len(log) == 5
