"""The boards of the rule book have plausible properties, each with a source."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.bundles import make_evidence

from rules.boards import BOARDS, Board, find_board, highest_power_w
from rules.bundle import Bundle
from rules.registry import bundle_rules


def test_every_board_names_its_sources() -> None:
    for board in BOARDS:
        assert board.sources, board.id
        for source in board.sources:
            assert source.title and urlsplit(source.url).scheme == "https", board.id


def test_ids_and_names_are_unique() -> None:
    names = [name for board in BOARDS for name in {board.id, *board.names}]
    assert len(set(names)) == len(names)
    assert all(find_board(name) is not None for name in names)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.id)
def test_rates_are_dense(board: Board) -> None:
    peaks = board.peak_tflops
    # On matrix units a precision of half the width has twice the rate, so a rate with sparsity
    # beside a dense one would show.
    for wide, narrow in (("tf32", "bf16"), ("bf16", "fp8")):
        if wide in peaks and narrow in peaks:
            assert peaks[narrow] / peaks[wide] == pytest.approx(2, rel=0.03)
    assert peaks.get("bf16", peaks["fp16"]) == peaks["fp16"]
    assert board.vendor in ("NVIDIA", "AMD")
    assert board.boost_mhz is None or 1000 < board.boost_mhz < 3000
    if board.max_power_w is not None:
        assert (board.idle_power_w or 0) < board.max_power_w
        assert 0.1 < peaks["fp16"] / board.max_power_w < 5
        assert board.default_power_w is None or board.default_power_w <= board.max_power_w
    assert 0.2 < board.memory_tb_per_s < 10 and 8 < board.memory_gib < 300


@pytest.mark.parametrize(
    ("id", "precision", "tflops", "max_power_w", "tb_per_s"),
    [
        ("H100 94GB HBM2e", "bf16", 989.4, 700, 2.4),
        ("H100 NVL", "bf16", 835.5, 400, 3.9),
        ("H200 NVL", "fp8", 1670.5, 600, 4.8),
        ("A100 PCIe 80GB", "tf32", 156, 300, 1.935),
        ("Quadro RTX 6000", "fp32", 16.3, 260, 0.672),
        ("B200", "bf16", 2250, 1000, 7.7),
        ("GB200", "bf16", 2500, 1200, 8),
        ("MI300A", "fp16", 980.6, 760, 5.3),
        ("MI355X", "fp8", 5033.2, 1400, 8),
    ],
)
def test_properties_of_the_data_sheets(
    id: str, precision: str, tflops: float, max_power_w: float, tb_per_s: float
) -> None:
    board = find_board(id)
    assert board is not None
    assert board.highest_peak_tflops(precision) == tflops
    assert (board.max_power_w, board.memory_tb_per_s) == (max_power_w, tb_per_s)


def test_unknown_property_is_none() -> None:
    board = find_board("NVIDIA GH200 480GB")
    assert board is not None and board.max_power_w is None
    # The sheet covers CPU and GPU together, so the declared limit counts.
    assert highest_power_w("NVIDIA GH200 480GB", 900.0) == 900
    turing = find_board("Quadro RTX 6000")
    assert turing is not None and turing.highest_peak_tflops("bf16") is None


@pytest.mark.parametrize("name", ["NVIDIA GH200 480GB", "Quadro RTX 6000", "NVIDIA B200"])
def test_rules_judge_boards_of_which_little_is_known(name: str) -> None:
    evidence = make_evidence()
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = name
    bundle = Bundle(Path("center/system/run"), (), evidence.evidence())
    reporting = {rule.id for rule in bundle_rules() if list(rule.judge(bundle))}
    # Board unknown, power below idle, and clock above the highest.
    assert {"M107", "W107", "C113"}.isdisjoint(reporting)


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("NVIDIA GH200 120GB", "GH200"),
        ("NVIDIA GH200 144G HBM3e", "GH200 144GB"),
        ("NVIDIA A100-SXM-64GB", "A100 64GB"),
        ("A100-SXM4-40GB", "A100 40GB"),
        ("A100-SXM-80GB", "A100"),
        ("NVIDIA H100", "H100 94GB HBM2e"),
        ("H100", "H100"),
        ("NVIDIA A40", "A40"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Server"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000 Workstation"),
        ("Tesla V100-SXM2-16GB", "V100 16GB"),
        ("AMD Instinct MI210", "MI210"),
        ("AMD Instinct MI250X", "MI250X die"),
        ("AMD Instinct MI250X / MI250", "MI250X die"),
    ],
)
def test_boards_are_known_by_the_names_of_their_drivers(name: str, id: str) -> None:
    board = find_board(name)
    assert board is not None and board.id == id


def test_a_name_of_no_driver_is_no_board() -> None:
    assert find_board("NVIDIA NVIDIA H200") is None and find_board("Instinct MI250X") is None
