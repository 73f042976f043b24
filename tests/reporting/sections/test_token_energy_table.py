"""The table of energy by kind of token: which runs it fits together."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reporting import workload_section
from reporting.sections.token_energy import build_token_energy_table
from rules.contract import RequestSet
from rules.metrics.figures import Estimate
from rules.workloads import workloads

WORKLOAD = workloads()["llama3-8b-serve"]
INPUT_J, OUTPUT_J = 0.01, 0.05


def make_row(
    prompt_tokens: int,
    output_tokens: int,
    concurrency: int = 512,
    rate_per_s: float | None = None,
    **fields: Any,
) -> Any:
    """A run whose tokens cost what they do by the model, at 1 000 output tokens/s."""
    ratio = prompt_tokens / output_tokens
    joules = Estimate(INPUT_J * ratio + OUTPUT_J, 10, 0.001, None)
    run = SimpleNamespace(
        accelerators=(),
        is_simulated=False,
        requests=RequestSet(prompt_tokens, output_tokens, concurrency, rate_per_s),
        serving=SimpleNamespace(input_tokens_per_s=1000 * ratio),
        headline=SimpleNamespace(
            joules_per_item=joules, items_per_s=Estimate(1000.0, 10, 1.0, None)
        ),
    )
    row = {
        "provenance": SimpleNamespace(run=run),
        "joules_per_item": joules,
        "center": "reference",
        "system": "h200",
        "accelerator": "NVIDIA H200",
        "model": "H200",
        "count": 1,
        "variant": "tuned",
        "precision": "bf16",
        "standing": "closed",
        "cap_w": 700.0,
        "settings": {},
        "batch_size": concurrency,
        "is_of_nodes": False,
        "may_win": True,
    }
    return SimpleNamespace(**{**row, **fields})


def test_runs_of_one_server_are_fitted_together() -> None:
    """The open runs of other lengths belong to the closed run of the same server."""
    rows = [
        make_row(1024, 512),
        make_row(2048, 1, standing="open"),
        make_row(16, 512, standing="open"),
        make_row(4096, 1, joules_per_item=None),
        make_row(8192, 1),
    ]
    rows[-1].provenance.run.serving = None
    table = build_token_energy_table(WORKLOAD, rows, "id", "title")
    assert table is not None
    (line,) = table.rows
    assert (line["input_j"], line["output_j"]) == pytest.approx((INPUT_J, OUTPUT_J))
    assert line["runs"] == 3 and line["input_j_n"] == 3
    assert line["deviation_percent"] == pytest.approx(0, abs=1e-6)
    joules = 1.1 * (2 * INPUT_J + OUTPUT_J)
    rows[0].provenance.run.headline.joules_per_item = Estimate(joules, 10, 0.001, None)
    table = build_token_energy_table(WORKLOAD, rows, "id", "title")
    assert table is not None
    ratios = [(2, joules), (2048, 2048 * INPUT_J + OUTPUT_J), (1 / 32, INPUT_J / 32 + OUTPUT_J)]
    tokens_per_j = np.array([(ratio / energy_j, 1 / energy_j) for ratio, energy_j in ratios])
    energies_j = np.linalg.lstsq(tokens_per_j, np.ones(3), rcond=None)[0]
    largest = np.abs(tokens_per_j @ energies_j - 1).max()
    assert table.rows[0]["deviation_percent"] == pytest.approx(100 * largest)
    # Two runs determine both energies. A third at another clock is of another server.
    rows[2].settings = {"sm_clock_mhz": 990}
    table = build_token_energy_table(WORKLOAD, rows, "id", "title")
    assert table is not None
    assert [(row["runs"], row["deviation_percent"]) for row in table.rows] == [(2, None)]


@pytest.mark.parametrize(
    "other",
    [
        {"concurrency": 64},
        {"rate_per_s": 4.0},
        {"cap_w": 500.0},
        {"settings": {"sm_clock_mhz": 990}},
        {"system": "another"},
        {"variant": "fp8", "precision": "fp8"},
        {"accelerator": "NVIDIA H100"},
        {"standing": "demo"},
        {"center": "elsewhere"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_runs_of_other_servers_are_not(other: dict[str, Any]) -> None:
    rows = [make_row(1024, 512), make_row(2048, 1, **other)]
    assert build_token_energy_table(WORKLOAD, rows, "id", "title") is None


def test_demo_runs_have_the_table_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload_section, "build_serving_table", lambda *arguments: None)
    rows = [make_row(1024, 512, standing="demo"), make_row(2048, 1, standing="demo")]
    table = next(workload_section._build_demo_tables(WORKLOAD, rows, (), str))
    assert table.id == "llama3-8b-serve-demo-tokens"
    assert [row["standings"] for row in table.rows] == ["demo"]
