"""The tables of benchmarks/studies/study_findings.py."""

from pathlib import Path
from runpy import run_path

import pytest
from support.bundles import write_study_bundle

from rules.testing.studies import make_study_frames

ROOT = Path(__file__).parents[3]
SCRIPT = run_path(str(ROOT / "benchmarks/studies/study_findings.py"))


def test_findings_of_a_study_stand_beside_the_published_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_study_bundle(make_study_frames(), tmp_path / "study")
    SCRIPT["main"]([str(tmp_path / "study"), str(ROOT / "submissions/published/yang2025.json")])
    output = capsys.readouterr().out
    assert output.count("## ") == 9
    rows = [line.split(" | ") for line in output.splitlines()]
    batches = next(row for row in rows if "NVIDIA H200, cudagraph bf16 700 W" in row[0])
    assert batches[1:5] == ["6", "64", "478", "0.683"]
    ladder = [row for row in rows if row[0].endswith("cudagraph bf16 700 W") and len(row) == 7]
    assert ["32", "12642", "472", "37.35", "1.000", "2.53 |"] in [row[1:] for row in ladder]
    ratio = next(
        row
        for row in rows
        if "H100 PCIe, eager" in row[0] and len(row) > 6 and "H100 PCIe, tensorrt" in row[1]
    )
    # The publication has 4.02 over all weights.
    assert ratio[3].startswith("3.8")


def test_path_that_is_no_study_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no study\.json; name the bundle of a study"):
        SCRIPT["main"]([str(tmp_path)])
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(SystemExit, match=r"the bundle cannot be read; bench-check .* says why"):
        SCRIPT["main"]([str(tmp_path)])
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(SystemExit, match=r"the file cannot be read; bench-check .* says why"):
        SCRIPT["main"]([str(tmp_path / "other.json")])
    with pytest.raises(SystemExit, match="expected the bundle of a study"):
        SCRIPT["main"]([])
