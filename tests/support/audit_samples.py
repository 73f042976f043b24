"""Small evidence in the layouts of other programs, with figures that are easy to compute: made
here, by the public descriptions of the layouts."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from pathlib import Path
from typing import Any

START = datetime(2026, 3, 2, 10, 0, 0, tzinfo=UTC)
START_S = int(START.timestamp())
RUN_S = 60


def write_json(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(rows[0]), *(",".join(str(v) for v in row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def change_json(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def format_mllog(key: str, value: object, time_ms: float = 0.0, **metadata: object) -> str:
    entry = {"key": key, "value": value, "time_ms": time_ms, "metadata": metadata}
    return f":::MLLOG {json.dumps(entry)}"


def write_inference(folder: Path, power_w: float = 500.0) -> Path:
    """LoadGen's log of 60 s with 6000 samples, and PTDaemon's log of 100 s by two channels: 20 s at
    100 W before and after the window."""
    folder.mkdir(parents=True, exist_ok=True)
    begin = START + timedelta(seconds=20, milliseconds=500)
    end = begin + timedelta(seconds=RUN_S)
    values = {
        "effective_scenario": "Offline",
        "effective_samples_per_query": 5000,
        "generated_samples_per_query": 6000,
        "power_begin": f"{begin:%m-%d-%Y %H:%M:%S}.500",
        "power_end": f"{end:%m-%d-%Y %H:%M:%S}.500",
        "result_validity": "VALID",
        "result_query_count": 1,
        "result_samples_per_second": 100.0,
    }
    lines = [format_mllog(key, value) for key, value in values.items()]
    (folder / "mlperf_log_detail.txt").write_text("\n".join(lines) + "\n")
    rows = []
    for second in range(100):
        time = START + timedelta(seconds=second)
        watts = power_w if 20 < second <= 80 else 100.0
        cells = [f"Time,{time:%m-%d-%Y %H:%M:%S}.000"]
        for name, share, channels in (("Mark,run", 1.0, 2), ("Ch1", 0.4, 1), ("Ch2", 0.6, 1)):
            quantities = f"Watts,{share * watts},Volts,200.0,Amps,{share * watts / channels / 200}"
            cells += (
                [f"{quantities},PF,1.0", name] if channels > 1 else [name, f"{quantities},PF,1.0"]
            )
        rows.append(",".join(cells))
    power_log = folder / "spl.txt"
    power_log.write_text("\n".join(rows) + "\n")
    stated = sha1(power_log.read_bytes()).hexdigest()
    write_json(folder / "server.json", {"results": {"run_1/spl.txt": stated}})
    return folder


def write_training(folder: Path, nodes: int = 2, shift_s: int = 0) -> Path:
    """A run of 60 s with 640 samples and a power log of 1000 W for each node."""
    power = folder / "power" / "result_0"
    power.mkdir(parents=True, exist_ok=True)
    start_ms, stop_ms = 1000 * START_S, 1000 * (START_S + RUN_S)
    lines = [
        "+ echo starting",
        f"0: {format_mllog('submission_benchmark', 'made')}",
        f"0: {format_mllog('global_batch_size', 64)}",
        f"0: {format_mllog('run_start', None, start_ms)}",
        f"0: {format_mllog('eval_accuracy', 0.5, stop_ms + 60_000)}",
        f"0: {format_mllog('run_stop', None, stop_ms, status='success', step_num=10)}",
    ]
    (folder / "result_0.txt").write_text("\n".join(lines) + "\n")
    for node in range(nodes):
        first_ms = start_ms - 5000 + 1000 * shift_s
        readings = [
            format_mllog("power_reading", 1000.0, first_ms + 1000 * second)
            for second in range(RUN_S + 10)
        ]
        lines = [
            format_mllog("power_measurement_start", None, first_ms),
            format_mllog("conversion_eff", 0.9, first_ms, measurement_type="AC"),
            *readings,
            format_mllog("power_measurement_stop", None, first_ms + 1000 * (RUN_S + 9)),
        ]
        (power / f"node_{node}.txt").write_text("\n".join(lines) + "\n")
    return folder


def write_inferencex(folder: Path) -> Path:
    """An audit bundle: two boards at 500 W for 10 s, 2000 output tokens."""
    metrics = {
        "avg_power_w": 500.0,
        "avg_total_gpu_power_w": 1000.0,
        "total_gpu_energy_j": 10_000.0,
        "joules_per_output_token": 5.0,
    }
    aggregate = {
        "hw": "h100",
        "model": "maker/Model-8B",
        "precision": "fp8",
        "conc": 4,
        "disagg": False,
        "output_tput_per_gpu": 100.0,
        "power_metric_schema_version": 2,
        "power_valid": 1,
        **metrics,
    }
    write_json(folder / "agg_point.json", aggregate)
    validation = {
        "power_valid": True,
        "benchmark_window": {"start_time_unix": START_S, "end_time_unix": START_S + 10},
        "expected_gpu_count": 2,
        "per_gpu_energy_j": {"0": 5000.0, "1": 5000.0},
        "metrics": metrics,
    }
    write_json(folder / "power_validation.json", validation)
    rows = [
        {
            "timestamp": f"{START + timedelta(seconds=second):%Y/%m/%d %H:%M:%S}.000",
            "index": board,
            "power.draw [W]": "500.00 W",
        }
        for second in range(11)
        for board in range(2)
    ]
    write_csv(folder / "gpu_metrics.csv", rows)
    return folder


def write_ledger(path: Path) -> Path:
    record = {
        "row_id": "7",
        "hardware": "b200",
        "conc": 1,
        "gpu_count": 8,
        "window": {
            "start_time_unix": START_S,
            "end_time_unix": START_S + 10,
            "reported_duration_s": 10.0,
            "integration_duration_s": 10.0,
            "total_output_tokens": 4000,
        },
        "source_avg_power_w": 500.0,
        "source_power_valid": 1,
    }
    return write_json(path, {"records": [record]})


def write_aiperf(folder: Path) -> Path:
    """Two boards at 400 W for 10 s after a warm-up at 200 W, 1000 output tokens."""
    start_ns = START_S * 10**9
    export = {
        "benchmark_duration": {"unit": "sec", "avg": 10.0},
        "request_count": {"unit": "requests", "avg": 10.0},
        "output_sequence_length": {"unit": "tokens", "avg": 100.0},
        "total_osl": {"unit": "tokens", "avg": 1000.0},
        "output_token_throughput": {"unit": "tokens/sec", "avg": 100.0},
        "nvidia_total_gpu_energy": {"unit": "J", "avg": 8000.0},
        "nvidia_average_gpu_power": {"unit": "W", "avg": 800.0},
        "nvidia_energy_per_output_token": {"unit": "mJ/token", "avg": 8000.0},
        "was_cancelled": False,
        "error_summary": [],
        "telemetry_data": {
            "endpoints": {
                "node:9400": {
                    "gpus": {
                        f"gpu_{board}": {
                            "gpu_name": "NVIDIA H100 80GB HBM3",
                            "metrics": {"nvidia_power_usage": {"unit": "W", "avg": 400.0}},
                        }
                        for board in range(2)
                    }
                }
            }
        },
    }
    write_json(folder / "profile_export_aiperf.json", export)
    phases = [
        {"phase_kind": "warmup", "start_ns": start_ns - 5 * 10**9, "end_ns": start_ns},
        {"phase_kind": "profiling", "start_ns": start_ns, "end_ns": start_ns + 10**10},
    ]
    write_json(folder / "phase_manifest.json", {"phases": phases})
    samples = []
    for tenth in range(-50, 151):
        for board in range(2):
            energy_j = 4000.0 + (400.0 if tenth > 0 else 200.0) * tenth / 10
            data = {
                "nvidia_power_usage": 400.0 if tenth >= 0 else 200.0,
                "nvidia_energy_consumption": energy_j / 1e6,
            }
            sample = {
                "gpu_index": board,
                "gpu_uuid": f"GPU-{board}",
                "timestamp_ns": start_ns + tenth * 10**8,
                "telemetry_data": data,
            }
            samples.append(json.dumps(sample))
    (folder / "gpu_telemetry_export.jsonl").write_text("\n".join(samples) + "\n")
    return folder


def write_aiperf_records(folder: Path, requests: int = 10) -> Path:
    """Records of a warm-up, of a failed request and of requests with 100 output tokens each."""

    def make(phase: str, error: object = None) -> str:
        lengths = {"output_sequence_length": {"value": 100, "unit": "tokens"}}
        record = {"metadata": {"benchmark_phase": phase}, "metrics": lengths, "error": error}
        return json.dumps(record)

    lines = [make("warmup"), make("profiling", {"code": 500}), *[make("profiling")] * requests]
    (folder / "profile_export.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def write_srt_slurm(folder: Path, with_window: bool = True) -> Path:
    """Two boards at 300 W for 20 s. The window has 10 s of them and 500 tokens."""
    rows = [
        {
            "schema_version": 1,
            "timestamp_unix": START_S + second,
            "scrape_seq": second,
            "hostname": "node-a",
            "gpu_index": board,
            "gpu_uuid": f"GPU-{board}",
            "power_w": 300.0,
        }
        for second in range(21)
        for board in range(2)
    ]
    write_csv(folder / "samples.csv", rows)
    devices = [{"hostname": "node-a", "gpu_index": board} for board in range(2)]
    manifest = {"status": "complete", "publication_valid": True, "expected_devices": devices}
    write_json(folder / "manifest.json", manifest)
    if with_window:
        window = {
            "benchmark_type": "sa-bench",
            "concurrency": 4,
            "benchmark_start_time_unix": START_S + 5,
            "benchmark_end_time_unix": START_S + 15,
            "duration": 10.0,
            "result_path": "results/result.json",
        }
        write_json(folder / "windows" / "window_0.json", window)
        write_json(folder / "result.json", {"total_output_tokens": 500})
    return folder


def write_ml_energy(path: Path) -> Path:
    configuration = {
        "nickname": "Model 8B",
        "gpu_model": "H100",
        "num_gpus": 2,
        "max_num_seqs": 64,
        "activated_params_billions": 8.0,
        "weight_precision": "bfloat16",
        "avg_power_watts": 1200.0,
        "output_throughput_tokens_per_sec": 4000.0,
        "energy_per_token_joules": 0.3,
        "energy_per_request_joules": 30.0,
        "avg_output_len": 100.0,
    }
    return write_json(path, {"task": "chat", "configurations": [configuration]})


def write_zeus(path: Path) -> Path:
    row = {"start_time": START_S, "window_name": "step", "elapsed_time": 2.0}
    return write_csv(path, [{**row, "gpu0_energy": 600.0, "gpu1_energy": 500.0}])


def write_zeus_trace(path: Path) -> Path:
    keys = {"dataset": "made", "network": "net", "batch_size": 8, "optimizer": "sgd"}
    rows = [
        {**keys, "power_limit": limit, "time_per_epoch": 10.0, "average_power": 110.0}
        for limit in (100, 200)
    ]
    return write_csv(path, rows)


def write_codecarbon(path: Path, gpu_kwh: float = 0.002) -> Path:
    """Two cumulative rows of one run."""
    rows = [
        {
            "timestamp": "2026-03-02T10:00:00",
            "project_name": "made",
            "run_id": "run-1",
            "duration": 6.0 * share,
            "cpu_energy": 0.0001 * share,
            "gpu_energy": gpu_kwh * share,
            "ram_energy": 0.0001 * share,
            "energy_consumed": (gpu_kwh + 0.0002) * share,
            "gpu_count": 2 if gpu_kwh else 0,
            "gpu_model": "2 x NVIDIA H100 80GB HBM3" if gpu_kwh else "",
        }
        for share in (1.0, 2.0)
    ]
    return write_csv(path, rows)


def write_jpwr(folder: Path) -> Path:
    rows = [
        {"": i, "timestamps": START_S + i / 10, "dev:0": 100.0, "dev:1": 300.0} for i in range(101)
    ]
    write_csv(folder / "power.csv", rows)
    energies = [{"": "dev:0", "0": 1000 / 3600}, {"": "dev:1", "0": 3000 / 3600}]
    write_csv(folder / "energy.csv", energies)
    return folder


def write_ai_energy_score(folder: Path) -> Path:
    phases = {"preprocess_wh": 0.02, "prefill_wh": 1.23, "decode_wh": 11.1}
    write_json(folder / "GPU_ENERGY_SUMMARY.json", {"units": "Wh", "total": 12.35, **phases})
    return folder


def write_tiny(folder: Path) -> Path:
    """Two windows of 10 s: 100 and 104 inferences at 1 mJ."""
    lines = []
    for window, count in ((2, 100), (4, 104)):
        lines += [
            f"1.0 ulp-ml: Energy data for window {window} at time 1.00 for 10.00 sec.:",
            f"1.0 ulp-ml:   Energy       :  {1000.0 * count} uJ",
            f"1.0 ulp-ml:   Power        :  {100.0 * count} uW",
            "1.0 ulp-ml:   Energy/Inf.  :  1000.0 uJ/inf.",
        ]
    lines.append("1.0 ulp-ml: Median energy cost is 1000.0 uJ/inf.")
    for window, count in ((2, 100), (4, 104)):
        lines += [
            f"1.0 ulp-ml: Performance results for window {window}:",
            f"1.0 ulp-ml:   # Inferences :  {count}",
            "1.0 ulp-ml:   Runtime      :  10.0 sec.",
        ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.txt").write_text("\n".join(lines) + "\n")
    return folder


def write_report(path: Path) -> Path:
    report = {
        "system": "A100-80GB",
        "model": "made",
        "total_energy_j": 3000.0,
        "total_energy_kwh": 3000.0 / 3.6e6,
        "total_time_s": 10.0,
        "average_power_w": 300.0,
        "total_tokens": 6000,
        "energy_per_token_j": 0.5,
        "throughput_tokens_per_s": 600.0,
    }
    return write_json(path, report)


def write_perf_bench(path: Path) -> Path:
    row = {
        "timestamp": "2026-03-02 10:00:00",
        "gpu_name": "NVIDIA H100 80GB HBM3",
        "num_gpus": 4,
        "batch_size": 256,
        "img_size": 224,
        "avg_train_sps": 8000.0,
        "max_train_sps": 8100.0,
        "min_train_sps": 7900.0,
        "avg_val_sps": "N/A",
        "avg_gpu_power_watts": 600.0,
        "power_limit_watts": 700.0,
        "hw_max_power_watts": 700.0,
    }
    return write_csv(path, [row])


WRITERS: dict[str, Callable[[Path], Path]] = {
    "hpc-ai-perf-bench": lambda folder: write_perf_bench(folder / "resnet_benchmark_async.csv"),
    "mlperf-inference": write_inference,
    "mlperf-training": write_training,
    "inferencex": write_inferencex,
    "inferencex-ledger": lambda folder: write_ledger(folder / "ledger.json"),
    "aiperf": write_aiperf,
    "srt-slurm": write_srt_slurm,
    "ml-energy": lambda folder: write_ml_energy(folder / "chat.json"),
    "zeus": lambda folder: write_zeus(folder / "zeus.csv"),
    "codecarbon": lambda folder: write_codecarbon(folder / "emissions.csv"),
    "jpwr": write_jpwr,
    "ai-energy-score": write_ai_energy_score,
    "mlperf-tiny": write_tiny,
    "energy-report": lambda folder: write_report(folder / "report.json"),
}
"""By the name of the source: writes a sample into a folder."""
