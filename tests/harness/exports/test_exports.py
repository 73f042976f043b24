"""The figures of committed runs in the formats of others."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.bundles import make_evidence, write_bundle

from harness.cli import main
from rules.workloads import workloads

REFERENCE = Path(__file__).parents[3] / "submissions" / "reference" / "h200"


def find_run(name: str) -> Path:
    return next(path for path in sorted(REFERENCE.iterdir()) if f"-{name}-x1-" in path.name)


SERVING, PRETRAINING = find_run("llama3-8b-serve-fp8-kv"), find_run("llama3-8b-pretrain-tuned")


def export(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


def read_rows(text: str) -> dict[str, str]:
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: row[1] for row in cells if len(row) == 2}


def test_metrics_of_a_server_are_those_of_its_result() -> None:
    result = json.loads((SERVING / "result.json").read_text())
    document = json.loads(export("aiperf", SERVING).output)
    headline, serving = result["headline"], result["serving"]
    tokens = sum(epoch["items"] for epoch in result["epochs"] if epoch["scored"])
    joules = headline["joules_per_item"]["mean"]
    assert document["total_osl"] == {"unit": "tokens", "avg": tokens}
    assert document["total_gpu_energy"]["avg"] == pytest.approx(joules * tokens)
    assert document["energy_per_output_token"]["avg"] == pytest.approx(1e3 * joules)
    assert document["output_tokens_per_joule"]["avg"] == pytest.approx(1 / joules)
    rate = headline["items_per_s"]["mean"]
    assert document["output_token_throughput"]["avg"] == pytest.approx(rate)
    duration_s = document["benchmark_duration"]["avg"]
    assert tokens / duration_s == pytest.approx(rate, rel=1e-3)
    power_w = document["average_gpu_power"]["avg"]
    assert power_w == pytest.approx(joules * tokens / duration_s)
    for metric, key in (
        ("time_to_first_token", "ttft_s"),
        ("inter_token_latency", "tpot_s"),
        ("request_latency", "latency_s"),
    ):
        for percentile in ("p50", "p95", "p99"):
            expected_ms = 1e3 * serving[key][percentile]
            assert document[metric][percentile] == pytest.approx(expected_ms)


def test_documentation_of_energy_scales_the_energy_per_item() -> None:
    result = json.loads((PRETRAINING / "result.json").read_text())
    rows = read_rows(export("annex-xi", PRETRAINING, "--items", "15e12").output)
    joules = result["headline"]["joules_per_item"]
    tokens = sum(epoch["items"] for epoch in result["epochs"] if epoch["scored"])
    assert rows["energy of this work, measured"] == f"{joules['mean'] * tokens / 3600:.4g} Wh"
    mean, low, high = (j * 15e12 / 3.6e9 for j in (joules["mean"], *joules["ci95"]))
    estimate = rows["energy of 1.5e+13 tokens, estimated"]
    assert estimate == f"{mean:.4g} MWh [{low:.4g} MWh, {high:.4g} MWh]"
    size = workloads()["llama3-8b-pretrain"].full
    operations = rows["floating point operations of this work"]
    assert float(operations) == pytest.approx(tokens * size.flops_per_item, rel=1e-3)
    assert "signed" in rows["evidence"] and "not signed" not in rows["evidence"]
    assert "estimated" not in export("annex-xi", PRETRAINING).output


def test_what_cannot_be_exported_is_said(tmp_path: Path) -> None:
    training = export("aiperf", PRETRAINING)
    assert training.exit_code == 2 and "served nothing; export annex-xi" in training.output
    assert "--items belongs to annex-xi" in export("aiperf", SERVING, "--items", "5").output
    study = next(path for path in sorted(REFERENCE.iterdir()) if (path / "study.json").exists())
    assert "not the bundle of a run" in export("annex-xi", study).output
    bundle = tmp_path / "bundle"
    write_bundle(make_evidence(), bundle)
    assert "not signed" in export("annex-xi", bundle).output
    (bundle / "result.json").write_text("{}")
    failed = export("annex-xi", bundle)
    assert failed.exit_code == 2 and "the bundle fails the check (" in failed.output
