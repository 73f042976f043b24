"""The transcribed figures say what the paper's tables say."""

import json
from collections import defaultdict
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from checker.judging.published import judge_published
from reporting.paper import Paper
from reporting.published_rows import build_published_rows
from rules.boards import find_board
from rules.metrics import run as metrics
from rules.workloads import Size, workloads

ROOT = Path(__file__).parents[2]
MAYR = json.loads((ROOT / "submissions/published/mayr2026.json").read_text(encoding="utf-8"))
PAPER = Paper.from_document(MAYR)
LATIF, MLPERF = (
    Paper.from_document(
        json.loads((ROOT / f"submissions/published/{name}.json").read_text(encoding="utf-8"))
    )
    for name in ("latif2024", "mlperf-nodes")
)

# Row counts and sums of the printed figures, made from the transcription of the tables and not from
# the file under test.
SUMS = {
    ("resnet50-train", "H100"): (6, 7999.08),
    ("resnet50-train", "H200"): (6, 9510.93),
    ("resnet50-train", "MI300X"): (7, 7905.89),
    ("vitl16-train", "H100"): (6, 1474.11),
    ("vitl16-train", "H200"): (6, 1505.84),
    ("vitl16-train", "MI300X"): (7, 1033.65),
    ("sd2-train", "H100"): (6, 221.44),
    ("sd2-train", "H200"): (6, 247.62),
    ("sd2-train", "MI300X"): (7, 256.70),
    ("llama3-8b-pretrain", "H100"): (6, 139761.3),
    ("llama3-8b-pretrain", "H200"): (6, 139478.1),
    ("llama3-8b-pretrain", "MI300X"): (7, 98276.7),
    ("llama3-8b-serve", "H100"): (6, 10460.1),
    ("llama3-8b-serve", "H200"): (6, 10401.9),
    ("llama3-8b-serve", "MI300X"): (7, 10555.4),
}


def test_file_follows_its_schema() -> None:
    schema = json.loads(
        (ROOT / "rules/bundle_format/schemas/published-1.json").read_text(encoding="utf-8")
    )
    Draft202012Validator(schema).validate(MAYR)


def test_rows_add_up_to_the_tables() -> None:
    rows_by_table: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in MAYR["rows"]:
        rows_by_table[row["workload"], row["accelerator"]].append(
            row["items_per_s_per_accelerator"]
        )
    assert {k: (len(v), pytest.approx(sum(v), abs=1e-6)) for k, v in rows_by_table.items()} == SUMS
    assert len(MAYR["rows"]) == 95


@pytest.mark.parametrize(
    ("workload", "accelerator", "cap_w", "items_per_s", "enforced", "table"),
    [
        ("resnet50-train", "H200", 700, 2148.6, True, "Table 3"),
        ("vitl16-train", "MI300X", 300, 89.53, False, "Table 3"),
        ("sd2-train", "H100", 300, 34.25, True, "Table 3"),
        ("llama3-8b-pretrain", "H200", 700, 34107.2, True, "Table 4"),
        ("llama3-8b-serve", "MI300X", 750, 1849.7, True, "Table 4"),
    ],
)
def test_cells(
    workload: str, accelerator: str, cap_w: float, items_per_s: float, enforced: bool, table: str
) -> None:
    at = (workload, accelerator, cap_w)
    (row,) = (r for r in MAYR["rows"] if (r["workload"], r["accelerator"], r["cap_w"]) == at)
    assert (row["items_per_s_per_accelerator"], row["cap_enforced"], row["table"]) == (
        items_per_s,
        enforced,
        table,
    )


def test_only_mi300x_below_400_w_is_unenforced() -> None:
    unenforced = [(r["accelerator"], r["cap_w"]) for r in MAYR["rows"] if not r["cap_enforced"]]
    assert sorted(unenforced) == [("MI300X", 200)] * 5 + [("MI300X", 300)] * 5


def test_exactly_the_impossible_rows_are_called_so() -> None:
    flagged = [(r.workload, r.model, r.cap_w) for r in build_published_rows(PAPER) if r.implausible]
    assert flagged == [
        ("llama3-8b-pretrain", gpu, cap) for gpu in ("H100", "H200") for cap in (400, 500, 600, 700)
    ]


def test_rows_whose_caution_forbids_comparison_win_nothing() -> None:
    rows = list(build_published_rows(PAPER))
    assert {(r.workload, r.comparable, r.may_win) for r in rows if r.caution} == {
        ("llama3-8b-pretrain", False, False),
        ("llama3-8b-serve", True, False),
        ("llama3-8b-serve", False, False),  # the cap was not enforced
    }
    assert sum(r.may_win for r in rows) == 3 * (6 + 6 + 5)


def test_cautions_say_what_the_public_code_says() -> None:
    cautions = {(r.workload, r.model): r.caution for r in build_published_rows(PAPER)}
    for workload in ("llama3-8b-pretrain", "llama3-8b-serve"):
        for board in ("H100", "H200", "MI300X"):
            assert "From the authors' public code: " in (cautions[workload, board] or "")
    assert "Divide by four" in (cautions["llama3-8b-pretrain", "MI300X"] or "")
    assert "not the same workload" in (cautions["llama3-8b-serve", "MI300X"] or "")


def test_reason_names_share_peak_and_the_other_reading() -> None:
    (row,) = (
        r for r in build_published_rows(PAPER) if r.items_per_s_per_accelerator.value == 34107.2
    )
    assert row.implausible == (
        "exceeds the peak: 166 % of 989 TFLOP/s dense bf16; if it is the sum of four GPUs, it is "
        "8\u202f527 tokens/s per GPU"
    )


def test_attention_does_not_decide_what_is_impossible() -> None:
    size = workloads()["llama3-8b-pretrain"].full
    assert metrics.min_peak_share(20_497, size, 989.0) == pytest.approx(1.0, abs=1e-4)
    plain = Size((1,), 1, flops_per_item=2e9, batch_sizes={}, max_batch_size=1)
    assert metrics.min_peak_share(250.0, plain, 1.0) == pytest.approx(0.5)


def test_energy_at_cap() -> None:
    assert metrics.energy_at_cap(50.0, 200.0) == (4.0, 0.25)
    assert metrics.per_accelerator(34107.2, 4) == pytest.approx(8526.8)


def test_published_nodes_are_those_of_the_paper() -> None:
    assert [(node.median_w, node.max_w, node.rated_w) for node in LATIF.nodes or ()] == [
        (4680, 5020, 10_200),
        (6260, 6480, 10_200),
        (7920, 8420, 10_200),
        (8430, 8480, 10_200),
    ]
    assert LATIF.rows is None
    assert LATIF.citation == "Latif et al. 2024"


def test_logs_of_mlperf_show_far_more_beside_the_boards_than_the_paper_assumes() -> None:
    nodes = MLPERF.nodes or ()
    assert [(node.accelerator, node.mean_w) for node in nodes] == [
        ("B200", 10_401),
        ("B200", 10_000),
        ("H100", 6900),
        ("H100", 7100),
    ]
    beside = {
        (n.beside_boards_low_w, n.beside_boards_high_w) for n in nodes if n.beside_boards_low_w
    }
    assert beside == {(170, 200)}


@pytest.mark.parametrize("name", ["latif2024", "mlperf-nodes", "mayr2026", "koszczal2023"])
def test_committed_file_passes_the_check(name: str) -> None:
    assert judge_published(ROOT / f"submissions/published/{name}.json").verdict.findings == ()


@pytest.mark.parametrize("key", ["rows", "nodes", "gains", "fixed_work"])
def test_a_file_without_figures_is_refused(key: str, tmp_path: Path) -> None:
    path = tmp_path / "published" / "empty.json"
    path.parent.mkdir()
    path.write_text(json.dumps({k: v for k, v in MAYR.items() if k != "rows"}), encoding="utf-8")
    assert {finding.rule for finding in judge_published(path).verdict.findings} == {"S107"}
    path.write_text(json.dumps(MAYR | {key: []}), encoding="utf-8")
    assert {finding.rule for finding in judge_published(path).verdict.findings} == {"S107"}


NAMES = {
    "resnet50-train": "ResNet-50",
    "vitl16-train": "ViT-L/16",
    "sd2-train": "Stable Diffusion v2, with VAE and text encoder",
    "llama3-8b-pretrain": "LLaMA pre-training, read per GPU",
    "llama3-8b-serve": "LLaMA serving, with the requests of this project",
}


def test_page_has_the_shares_of_the_peak() -> None:
    """Computed from the rows and the FLOPs of the workloads, digit by digit."""
    shares: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in MAYR["rows"]:
        board = find_board(row["accelerator"])
        assert board is not None
        rate, size = row["items_per_s_per_accelerator"], workloads()[row["workload"]].full
        share = metrics.min_peak_share(rate, size, board.peak_tflops["bf16"])
        shares[row["workload"]][row["accelerator"]].append(100 * share)
    page = (ROOT / "submissions/published/README.md").read_text(encoding="utf-8")
    for workload, by_board in shares.items():
        cells = [f"{min(v):.1f}\u2013{max(v):.1f}" for v in by_board.values()]
        assert f"\n| {NAMES[workload]} | {' | '.join(cells)} |\n" in page


def test_page_has_the_range_of_the_impossible_rows_with_both_lengths() -> None:
    size = workloads()["llama3-8b-pretrain"].full
    rates = [
        row.items_per_s_per_accelerator.value
        for row in build_published_rows(PAPER)
        if row.implausible
    ]
    text = (ROOT / "submissions/published/README.md").read_text(encoding="utf-8")
    page = " ".join(text.split())
    assert size.min_flops_per_item == 48.25e9
    for flops in (size.min_flops_per_item, 45.43e9):
        percent = [100 * rate * flops / 989e12 for rate in (min(rates), max(rates))]
        assert f"{percent[0]:.0f} to {percent[1]:.0f} %" in page
        assert percent[0] > 100
        assert f"{flops / 1e9:.2f} GFLOP" in page


def test_page_has_the_work_per_joule_of_pre_training_below_the_peak() -> None:
    flops = workloads()["llama3-8b-pretrain"].full.min_flops_per_item
    assert flops is not None
    per_joule = [
        row["items_per_s_per_accelerator"] * flops / row["cap_w"] / 1e12
        for row in MAYR["rows"]
        if row["workload"] == "llama3-8b-pretrain"
        and row["accelerator"] != "MI300X"
        and row["cap_w"] <= 300
    ]
    text = f"need {min(per_joule):.1f} to {max(per_joule):.1f} TFLOP per joule"
    page = (ROOT / "submissions/published/README.md").read_text(encoding="utf-8")
    assert len(per_joule) == 4 and text in page
