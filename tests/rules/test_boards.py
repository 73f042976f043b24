"""The boards of the rule book have plausible properties, each with a source."""

import re
from dataclasses import fields
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.bundles import make_evidence

from rules.boards import BOARDS, Board, find_board, highest_power_w
from rules.bundle import Bundle
from rules.known_results import KnownResult, find_best_result, list_known_results
from rules.registry import bundle_rules, rules_by_id


def test_every_board_names_its_sources() -> None:
    for board in BOARDS:
        assert board.sources, board.id
        for source in board.sources:
            assert source.title and urlsplit(source.url).scheme == "https", board.id


def test_ids_are_unique_and_boards_of_one_name_differ_in_memory() -> None:
    ids = [board.id for board in BOARDS]
    assert len(set(ids)) == len(ids)
    for board in BOARDS:
        for name in {board.id, *board.names}:
            assert find_board(name) is not None
            # Drivers keep some of the memory for themselves.
            assert find_board(name, int(0.97 * board.memory_gib * 2**30)) == board


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.id)
def test_rates_are_dense(board: Board) -> None:
    peaks = board.peak_tflops
    # On matrix units a precision of half the width has twice the rate, so a rate with sparsity
    # beside a dense one would show.
    for wide, narrow in (("tf32", "bf16"), ("fp16", "fp8")):
        if wide in peaks and narrow in peaks:
            assert peaks[narrow] / peaks[wide] == pytest.approx(2, rel=0.03)
    # Tensor cores have bf16 since Ampere.
    before_ampere = re.search(r"P100|V100|T4|RTX 6000$", board.id)
    assert not (before_ampere and {"bf16", "tf32"} & set(peaks))
    if "bf16" in peaks:
        # Boards that add up in FP16 faster than in FP32, and MI100, have half the rate in bf16.
        half_in_bf16 = board.id in ("RTX 3090", "RTX 4090", "RTX 5090", "L40", "MI100")
        factor = 2 if half_in_bf16 else 1
        assert peaks["fp16"] / peaks["bf16"] == pytest.approx(factor, rel=0.01)
    assert board.vendor in ("NVIDIA", "AMD")
    assert board.boost_mhz is None or 1000 < board.boost_mhz < 3000
    if board.max_power_w is not None:
        assert (board.idle_power_w or 0) < board.max_power_w
        assert not peaks or 0.05 < peaks["fp16"] / board.max_power_w < 5
        assert board.default_power_w is None or board.default_power_w <= board.max_power_w
    assert board.memory_tb_per_s is None or 0.2 < board.memory_tb_per_s < 10
    assert 8 < board.memory_gib < 300


@pytest.mark.parametrize(
    ("id", "units", "mhz", "flops", "precision"),
    [
        ("A30", 56, 1440, 2048, "bf16"),
        ("A10", 72, 1695, 1024, "bf16"),
        ("A800", 108, 1410, 2048, "bf16"),
        ("L4", 58, 2040, 1024, "bf16"),
        ("L40", 142, 2490, 512, "bf16"),
        ("L40", 142, 2490, 1024, "fp16"),
        ("RTX A6000", 84, 1800, 1024, "bf16"),
        ("RTX 6000 Ada", 142, 2505, 1024, "bf16"),
        ("RTX 3090", 82, 1695, 512, "bf16"),
        ("RTX 4090", 128, 2520, 512, "bf16"),
        ("RTX 4090", 128, 2520, 2048, "fp8"),
        ("RTX 5090", 170, 2407, 512, "bf16"),
        ("P100", 56, 1480, 256, "fp16"),
        ("P100 PCIe 16GB", 56, 1303, 256, "fp16"),
        ("V100 DGXS 32GB", 80, 1530, 1024, "fp16"),
        ("MI100", 120, 1502, 1024, "fp16"),
    ],
)
def test_rates_are_those_of_units_and_clock(
    id: str, units: int, mhz: int, flops: int, precision: str
) -> None:
    """Units, boost clock and FLOPs of a unit per cycle, from the papers on the architectures."""
    board = find_board(id)
    assert board is not None
    assert board.peak_tflops[precision] == pytest.approx(units * mhz * flops / 1e6, rel=0.01)


@pytest.mark.parametrize(
    ("id", "precision", "tflops", "max_power_w", "tb_per_s"),
    [
        ("H100 94GB HBM2e", "bf16", 989.4, 700, 2.4),
        ("H100 NVL", "bf16", 835.5, 400, 3.9),
        ("H200 NVL", "fp8", 1670.5, 600, 4.8),
        ("H20", "fp8", 296, None, 4),
        ("A30", "tf32", 82, 165, 0.933),
        ("L40", "bf16", 181.05, 300, 0.864),
        ("RTX 5090", "fp8", 838, None, 1.792),
        ("MI100", "fp32", 46.1, 300, 1.228),
        ("A100 PCIe 80GB", "tf32", 156, 300, 1.935),
        ("Quadro RTX 6000", "fp32", 16.3, 260, 0.672),
        ("B200", "bf16", 2250, 1000, 7.7),
        ("GB200", "bf16", 2500, 1200, 8),
        ("MI300A", "fp16", 980.6, 760, 5.3),
        ("MI355X", "fp8", 5033.2, 1400, 8),
    ],
)
def test_properties_of_the_data_sheets(
    id: str, precision: str, tflops: float, max_power_w: float | None, tb_per_s: float
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


@pytest.mark.parametrize(
    "name", ["NVIDIA GH200 480GB", "Quadro RTX 6000", "NVIDIA B200", "NVIDIA GeForce RTX 4090"]
)
def test_rules_judge_boards_of_which_little_is_known(name: str) -> None:
    evidence = make_evidence()
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = name
    bundle = Bundle(Path("center/system/run"), (), evidence.evidence())
    reporting = {rule.id for rule in bundle_rules() if list(rule.judge(bundle))}
    # Board unknown, power below idle, and clock above the highest.
    assert {"M107", "W107", "C113"}.isdisjoint(reporting)


@pytest.mark.parametrize("name", ["NVIDIA A10G", "NVIDIA H800 PCIe"])
def test_a_board_without_peaks_is_known_and_said_to_have_none(name: str) -> None:
    evidence = make_evidence()
    accelerators = evidence.system["nodes"][0]["accelerators"]
    for accelerator in accelerators:
        accelerator["name"] = name
    bundle = Bundle(Path("center/system/run"), (), evidence.evidence())
    findings = [(r.id, violation) for r in bundle_rules() for violation in r.judge(bundle)]
    reporting = {id for id, _ in findings}
    assert "M107" in reporting and {"T104", "T111", "M118"}.isdisjoint(reporting)
    assert bundle.figures.headline.mfu is None


def test_memory_tells_boards_of_one_name_apart() -> None:
    """`nvidia-smi` of MareNostrum 5 gives `NVIDIA H100` and 65247 MiB."""
    evidence = make_evidence()
    accelerators = evidence.system["nodes"][0]["accelerators"]
    for accelerator in accelerators:
        accelerator["name"], accelerator["memory_bytes"] = "NVIDIA H100", 65247 << 20
    bundle = Bundle(Path("center/system/run"), (), evidence.evidence())
    assert {a.board.id for a in bundle.listed_accelerators if a.board} == {"H100 64GB"}
    assert {r.id for r in bundle_rules() if list(r.judge(bundle))}.isdisjoint({"M116", "M118"})
    for accelerator in accelerators:
        accelerator.update(name="NVIDIA A100-SXM4-80GB", memory_bytes=72 << 30, max_power_w=400)
    bundle = Bundle(Path("center/system/run"), (), evidence.evidence())
    assert list(rules_by_id()["M116"].judge(bundle)) == []  # at 90 % of the data sheet
    other = find_board("NVIDIA H100", 93 << 30)
    assert other is not None and other.id == "H100 94GB HBM2e"


NAMES = """
NVIDIA GH200 120GB: GH200, NVIDIA GH200 144G HBM3e: GH200 144GB,
NVIDIA A100-SXM-64GB: A100 64GB, A100-SXM4-40GB: A100 40GB, A100-SXM-80GB: A100,
NVIDIA H100: H100 94GB HBM2e, H100: H100, NVIDIA A40: A40, NVIDIA L40S: L40S,
NVIDIA RTX PRO 6000 Blackwell Server Edition: RTX PRO 6000 Server,
NVIDIA RTX PRO 6000 Blackwell Workstation Edition: RTX PRO 6000 Workstation,
Tesla V100-SXM2-16GB: V100 16GB, Tesla V100-DGXS-32GB: V100 DGXS 32GB,
Tesla P100-SXM2-16GB: P100, Tesla P100-PCIE-16GB: P100 PCIe 16GB,
Tesla P100-PCIE-12GB: P100 PCIe 12GB, NVIDIA A800-SXM4-80GB: A800,
NVIDIA A800 80GB PCIe: A800 PCIe, NVIDIA A30: A30, NVIDIA A10: A10, NVIDIA H20: H20,
NVIDIA H800: H800, NVIDIA L4: L4, NVIDIA L40: L40, NVIDIA B300 SXM6 AC: B300,
NVIDIA RTX A6000: RTX A6000, NVIDIA RTX 6000 Ada Generation: RTX 6000 Ada,
GeForce RTX 3090: RTX 3090, NVIDIA GeForce RTX 4090: RTX 4090,
NVIDIA GeForce RTX 5090: RTX 5090, AMD Instinct MI100: MI100, AMD Instinct MI210: MI210,
AMD Instinct MI250X: MI250X die, AMD Instinct MI250X / MI250: MI250X die
"""


@pytest.mark.parametrize(
    ("name", "id"), [pair.split(": ") for pair in re.split(r",\s", NAMES.strip())]
)
def test_boards_are_known_by_the_names_of_their_drivers(name: str, id: str) -> None:
    board = find_board(name)
    assert board is not None and board.id == id


def test_a_name_of_no_driver_is_no_board() -> None:
    assert find_board("NVIDIA NVIDIA H200") is None and find_board("Instinct MI250X") is None


@pytest.mark.parametrize("workload", ["resnet50-train", "llama3-8b-pretrain"])
def test_best_result_has_the_best_of_every_figure(workload: str) -> None:
    best, known = find_best_result("H200", workload), list_known_results("H200", workload)
    for name in (field.name for field in fields(KnownResult)):
        choose = min if name in ("least_per_megacycle", "capped_power") else max
        assert getattr(best, name) == choose(getattr(result, name) for result in known.values())
