"""The ceilings of the clock in rules/boards.py: what the docs say of them, and what follows."""

import re
from pathlib import Path

import numpy as np
import pytest
from support.bundles import make_evidence

from rules.boards import BOARDS, CEILING_FALL_MHZ, CLOCK_TOLERANCE_MHZ, find_board
from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.bundle_format.load import read_evidence
from rules.metrics.power.clock_limit import have_low_clock

PAGE = Path(__file__).parents[2] / "docs" / "measurement.md"


def test_docs_have_the_ceilings_of_the_boards() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (table,) = re.findall(r"<!-- begin ceilings -->\n\n(.*?)\n\n<!-- end", text, re.DOTALL)
    head, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table.split("\n")
    )
    stated = {
        name: {p: int(mhz) for p, mhz in zip(head[1:], cells, strict=True) if mhz.isdigit()}
        for name, *cells in rows
    }
    assert stated == {b.id: dict(b.clock_ceilings_mhz) for b in BOARDS if b.clock_ceilings_mhz}


@pytest.mark.parametrize(
    ("board", "precision", "of_zeros_mhz"),
    [
        ("NVIDIA H200", "bf16", 1740),
        ("NVIDIA H200", "tf32", 1950),
        ("NVIDIA H200", "fp64", 1635),
        ("NVIDIA H100 80GB HBM3", "fp16", 1560),
        ("NVIDIA H100 80GB HBM3", "int8", 1560),
    ],
)
def test_lowest_ceiling_is_below_that_of_zeros_or_of_any_precision(
    board: str, precision: str, of_zeros_mhz: int
) -> None:
    found = find_board(board)
    assert found is not None
    lowest_mhz = of_zeros_mhz - CEILING_FALL_MHZ - CLOCK_TOLERANCE_MHZ
    assert found.lowest_ceiling_mhz(precision) == lowest_mhz


def test_board_that_was_not_measured_has_no_ceiling() -> None:
    found = find_board("NVIDIA A100-SXM4-80GB")
    assert found is not None and found.lowest_ceiling_mhz("bf16") is None


def test_clock_of_98_percent_of_the_highest_is_not_low() -> None:
    evidence = make_evidence()
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = "AMD Instinct MI300X"
    evidence.samples["sm_mhz"] = np.resize([2057.0, 2058.0], len(evidence.samples))
    low = [have_low_clock(s) for s in Bundle(Path("run"), (), evidence.evidence()).series]
    assert 0.49 < np.concatenate(low).mean() < 0.51


RUNS = PAGE.parents[1] / "submissions" / "reference"
BELOW_CAP = 0.9
FIXED_MHZ = 30


def test_committed_control_runs_keep_the_ceilings() -> None:
    precisions, unlimited = set(), set()
    for path in RUNS.glob("*/*-burn-*"):
        evidence, problems = read_evidence(read_files(path))
        assert evidence and not problems
        bundle = Bundle(path, (), evidence)
        for series in bundle.series:
            board = find_board(series.name)
            clocks_mhz = series.sm_mhz[series.load]
            low_mhz, high_mhz = np.quantile(clocks_mhz, (0.05, 0.95))
            lowest_mhz = board and board.lowest_ceiling_mhz(bundle.precision)
            assert board and lowest_mhz and bundle.cap_w
            if np.nanmean(series.usable_w) > BELOW_CAP * bundle.cap_w:
                assert high_mhz < lowest_mhz  # the cap is the limit, and the clock moves
                continue
            if low_mhz == board.boost_mhz:
                assert series.capped_share == 0, path.name
                unlimited.add((board.id, bundle.precision))
                continue
            assert high_mhz - low_mhz <= FIXED_MHZ and series.capped_share > 0.99, path.name
            assert low_mhz > lowest_mhz
            if bundle.settings.options["input"] == "zeros":
                precisions.add((board.id, bundle.precision))
                ceiling_mhz = board.clock_ceilings_mhz[bundle.precision]
                assert ceiling_mhz <= low_mhz <= ceiling_mhz + FIXED_MHZ, path.name
    assert precisions == {("H200", p) for p in ("bf16", "fp16", "fp8", "tf32")}
    assert unlimited == {("H200", "fp64")}
