"""The figures of a serving run as AIPerf exports them (profile_export_aiperf.json).

Source: https://github.com/ai-dynamo/aiperf, exports of version 0.13. Times are in ms, energies of
tokens in mJ. Metrics that a bundle does not have are left out.
"""

import json

from harness.errors import PlanError
from harness.exports.run import ExportedRun
from rules.bundle_format.records import Json
from rules.metrics.figures import Percentiles


def export(run: ExportedRun) -> str:
    """The export as JSON. Raises PlanError for a run that served nothing."""
    serving, requests = run.figures.serving, run.bundle.request_set
    if serving is None or requests is None:
        raise PlanError(
            f"{run.bundle.path}: AIPerf has figures of servers only, and this run of "
            f"{run.bundle.declaration.workload} served nothing; export annex-xi instead"
        )
    duration_s = sum(epoch.active_s for epoch in run.figures.scored_epochs)
    rate = run.figures.headline.items_per_s.mean
    document = {
        "benchmark_duration": _make_metric("sec", duration_s),
        "request_count": _make_metric("requests", serving.requests),
        "request_throughput": _make_metric("requests/sec", serving.requests / duration_s),
        "output_sequence_length": _make_metric("tokens", run.items / serving.requests),
        "total_osl": _make_metric("tokens", run.items),
        "output_token_throughput": _make_metric("tokens/sec", rate),
        "input_token_throughput": _make_metric("tokens/sec", serving.input_tokens_per_s),
        "time_to_first_token": _make_percentiles(serving.ttft_s),
        "inter_token_latency": _make_percentiles(serving.tpot_s),
        "request_latency": _make_percentiles(serving.latency_s),
        "total_gpu_energy": _make_metric("J", run.energy_j),
        "average_gpu_power": _make_metric("W", run.energy_j / duration_s),
        "energy_per_output_token": _make_metric("mJ/token", 1e3 * run.joules_per_item.mean),
        "output_tokens_per_joule": _make_metric("tokens/J", 1 / run.joules_per_item.mean),
        "was_cancelled": False,
        "error_summary": [],
        "start_time": run.bundle.declaration.started_at,
        "end_time": run.bundle.declaration.ended_at,
        "wattmark": {
            "run_id": run.bundle.declaration.run_id,
            "manifest_sha256": run.manifest_sha256,
            "energy_of_record": run.figures.energy_of_record,
            "boards": run.boards,
        },
    }
    return json.dumps(document, indent=2)


def _make_metric(unit: str, average: float) -> Json:
    return {"unit": unit, "avg": average}


def _make_percentiles(values_s: Percentiles) -> Json:
    return {
        "unit": "ms",
        "p50": 1e3 * values_s.p50,
        "p95": 1e3 * values_s.p95,
        "p99": 1e3 * values_s.p99,
    }
