"""A result names the board that its accelerators are, also where drivers give two one name."""

from pathlib import Path

import pytest
from support.bundles import make_evidence

from checker.verdict import Verdict
from reporting.results_model import build_submitted_row
from reporting.run_record import summarize_bundle
from rules.bundle import Bundle


@pytest.mark.parametrize(
    ("name", "memory_mib", "model"),
    [
        ("NVIDIA H100", 65_247, "H100 64GB"),
        ("NVIDIA H100", 95_000, "H100 94GB HBM2e"),
        ("NVIDIA H100", None, "H100 94GB HBM2e"),
        ("NVIDIA A16", 15_356, "NVIDIA A16"),
        ("Simulated H200", 65_247, "H200"),
    ],
)
def test_memory_decides_which_board_a_row_names(
    name: str, memory_mib: int | None, model: str
) -> None:
    evidence = make_evidence()
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = name
        accelerator["memory_bytes"] = memory_mib and memory_mib << 20
    bundle = Bundle(Path("center/system/run"), (), evidence.evidence())
    row = build_submitted_row(summarize_bundle(bundle), Verdict(bundle.path, "closed", None, ()))
    assert row.model == model and row.accelerator == name
