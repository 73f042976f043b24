"""The control run: its matrix products, the comparison of their results, and its plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.harness.session_runs import TESTS, carry_out, change_plan, find_bundles, read_evidence
from support.lazy_module import LazyModule

from checker.engine import judge
from harness.cli import main
from harness.errors import PlanError
from harness.power.sources import open_source
from harness.run.plan import Machine, Plan, RunRequest
from harness.run.planning import make_plan
from harness.run.session import RunFailed
from harness.run.workers.recorder import EpochRecorder, HostClock
from harness.simulation.throughput_model import find_curve, load_fit, name_figures
from harness.system import DESCRIPTION, hash_source
from rules.boards import BOARDS, find_board
from rules.contract import BoardFault, Job
from rules.finding import Severity
from rules.workloads.burn import WORKLOAD

pytestmark = pytest.mark.xdist_group("torch")  # one test process imports it
torch, burn = LazyModule("torch"), LazyModule("reference.burn")

BOARD = "GPU-burn-test"
JOB = Job("burn", "bf16", "smoke", 2, 1, "cpu", uuids=(BOARD,))


class Recorder:
    """Asks for a number of batches and calls a function after each of them."""

    def __init__(self, batches: int, after_batch: Callable[[int], None] = lambda batch: None):
        self._left, self._after_batch = batches, after_batch
        self.items: list[int] = []

    def more(self) -> bool:
        self._left -= 1
        return self._left >= 0

    def start(self) -> None:
        pass

    def end(self, items: int, loss: Any = None) -> None:
        assert loss is None
        self.items.append(items)
        self._after_batch(len(self.items))


def flip_bit(block: torch.Tensor, bit: int) -> None:
    """Flip one bit of a block in memory."""
    block.view(torch.int16)[17, 5] ^= 1 << bit


@pytest.mark.parametrize("variant", ["bf16", "tf32", "fp64"])
def test_products_are_those_that_the_items_require(variant: str, monkeypatch: Any) -> None:
    products = []
    mm = torch.mm
    monkeypatch.setattr(torch, "mm", lambda *a, **k: products.append(1) or mm(*a, **k))
    built = burn.build(replace(JOB, variant=variant))
    products.clear()
    recorder = Recorder(3)
    built.run(recorder)
    assert recorder.items == [2, 2, 2]
    # 6 GFLOP in products of 2 * 256^3 FLOPs: never less work than is counted, one product more at
    # most.
    assert 0 <= len(products) * 2 * 256**3 - 6e9 < 2 * 256**3
    assert built.precision == ("fp32" if variant == "tf32" else variant)
    assert (built.parameters, built.input_shape) == (256**2, (256, 256))


@pytest.mark.parametrize("bit", [0, 7, 14])
@pytest.mark.parametrize("block", [0, 3, 5])
def test_a_flipped_bit_names_accelerator_and_block(bit: int, block: int) -> None:
    built = burn.build(JOB)
    blocks = built.run.keywords["blocks"]
    assert len(blocks) == burn.SMOKE_BLOCKS - 2
    recorder = Recorder(9, lambda batch: flip_bit(blocks[block], bit) if batch == 2 else None)
    with pytest.raises(BoardFault, match=rf"{BOARD}: block {block} of 6 differs") as fault:
        built.run(recorder)
    assert "measure on another one" in str(fault.value)
    assert len(recorder.items) == 3, "the next batch must find it"


def test_a_bit_that_flips_after_the_last_batch_is_found() -> None:
    built = burn.build(JOB)
    blocks = built.run.keywords["blocks"]
    recorder = Recorder(2, lambda batch: flip_bit(blocks[2], 3) if batch == 2 else None)
    with pytest.raises(BoardFault, match="block 2 of 6"):
        built.run(recorder)


def test_a_board_that_computes_one_product_wrongly_is_found(monkeypatch: Any) -> None:
    built = burn.build(JOB)
    mm, calls = torch.mm, []

    def compute_wrongly(*arguments: Any, out: torch.Tensor) -> None:
        mm(*arguments, out=out)
        calls.append(1)
        if len(calls) == 10:
            flip_bit(out, 1)

    monkeypatch.setattr(torch, "mm", compute_wrongly)
    with pytest.raises(BoardFault, match="block 3 of 6"):
        built.run(Recorder(3))


def test_a_precision_that_the_device_lacks_is_refused(monkeypatch: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("not implemented for 'Float8_e4m3fn'\nat some line")

    monkeypatch.setattr(torch, "_scaled_mm", refuse)
    with pytest.raises(ValueError, match="--precision fp8: cpu computes no products") as refusal:
        burn.build(replace(JOB, variant="fp8"))
    assert "some line" not in str(refusal.value)


def test_full_size_needs_a_gpu() -> None:
    with pytest.raises(ValueError, match="add --smoke"):
        burn.build(replace(JOB, size="full"))


def plan_burn(boards: int = 1, **options: Any) -> Plan:
    meter = open_source("simulated:h200")
    fields = {"variant": "bf16", "smoke": True, "epoch_s": 0.2, **options}
    machine = Machine("simulated:h200", "cpu", None, tuple(meter.devices()[:boards]), "P0", 700.0)
    request = RunRequest("burn", **fields)
    return make_plan(request, machine, dict(DESCRIPTION), hash_source())


def test_matrices_of_another_side_are_those_of_the_run(tmp_path: Path) -> None:
    command = ["burn", "--smoke", "--simulate", "h200", "--epoch-seconds", "0.3"]
    result = CliRunner().invoke(main, [*command, "--side", "1024", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    (written,) = tmp_path.glob("*/result.json")
    implementation = json.loads(written.read_text())["implementation"]
    assert (implementation["parameters"], implementation["input_shape"]) == (2**20, [1024, 1024])


@pytest.mark.parametrize("boards", [1, 2])
def test_a_run_with_a_fault_fails_and_leaves_no_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, boards: int
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    plan = change_plan(
        plan_burn(boards), implementation="support.implementations:build_faulty_burn"
    )
    with pytest.raises(RunFailed, match=rf"rank {boards - 1}: SIM-H200-{boards - 1}: block 1 of 6"):
        carry_out(plan, tmp_path)
    assert not find_bundles(tmp_path)


def test_a_smoke_run_counts_gflop_and_has_no_loss(tmp_path: Path) -> None:
    bundle = carry_out(plan_burn(), tmp_path)
    evidence = read_evidence(bundle)
    assert evidence.result["standing"] == "control"
    assert {epoch["loss"] for epoch in evidence.result["epochs"]} == {None}
    assert set(evidence.batches["items"]) == {2}
    assert not [f for f in judge(bundle, signed=False).findings if f.severity == Severity.ERROR]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"smoke": False, "epoch_s": 5.0}, "--epoch-seconds 5: .* at least 10 s"),
        ({"batch": "auto"}, "leave out --batch"),
        ({"implementation": "support.implementations:build"}, "leave out --implementation"),
    ],
)
def test_a_control_run_that_the_check_would_refuse_is_not_planned(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        plan_burn(**options)


def test_simulated_boards_stay_below_the_peak_in_every_precision() -> None:
    simulated_boards = {model for model, _ in load_fit().curves}
    for board in BOARDS:
        for variant, precision in WORKLOAD.variants.items():
            if board.id not in simulated_boards or precision not in board.peak_tflops:
                continue
            curve = find_curve(board.id, name_figures(WORKLOAD, variant))
            assert board.max_power_w is not None
            tflops = curve.compute_items_per_s(board.max_power_w)
            assert tflops == pytest.approx(0.67 * board.peak_tflops[precision])
    known_board = find_board("H200")
    assert known_board is not None
    # What one real H200 did: 663 TFLOP/s in bf16.
    assert find_curve("H200", "burn-bf16").compute_items_per_s(700) == pytest.approx(663, rel=0.01)


def test_command_writes_a_bundle_with_the_standing_control(tmp_path: Path) -> None:
    command = ["burn", "--simulate", "h200", "--epoch-seconds", "0.3", "--precision", "fp64"]
    result = CliRunner().invoke(main, [*command, "--cap", "500", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "TFLOP/s" in result.output and "standing control" in result.output
    (bundle,) = find_bundles(tmp_path)
    result_json = read_evidence(bundle).result
    assert result_json["standing"] == "control" and result_json["size"] == "full"
    assert result_json["implementation"]["precision"] == "fp64"
    assert result_json["power"]["cap_w"] == 500
    assert "host_load" not in result_json["settings"]


@pytest.mark.parametrize("boards", [1, 4])
def test_a_control_run_has_the_full_size_on_simulated_boards(boards: int) -> None:
    """Its item is then the TFLOP, as on a real board."""
    plan = plan_burn(boards, smoke=False, simulate="h200")
    assert (plan.configuration.size, plan.standing, plan.configuration.batch_size) == (
        "full",
        "control",
        100,
    )
    assert WORKLOAD.rate_unit(plan.configuration.size) == "TFLOP/s"
    assert plan.is_demo


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    command = ["burn", "--simulate", "h200", "--dry-run", "-o", str(tmp_path / "results")]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert "the run can start" in result.output and not list(tmp_path.iterdir())


def test_recorder_takes_batches_without_a_loss() -> None:
    epochs: list[list[float]] = []
    recorder = EpochRecorder(
        HostClock(), 2, 0.01, 0, lambda value: value, lambda _, __, losses: epochs.append(losses)
    )
    burn.build(JOB).run(recorder)
    assert epochs == [[], []]


@pytest.mark.parametrize(
    ("option", "share"),
    [("zeros", 0.0), ("sparse:0.1", 0.1), ("sparse:.25", 0.25), ("uniform", 1.0), ("normal", 1.0)],
)
@pytest.mark.parametrize("variant", ["bf16", "fp16", "tf32", "fp64"])
def test_input_has_the_chosen_share_of_other_values_than_zero(
    option: str, share: float, variant: str, monkeypatch: Any
) -> None:
    drawn = []
    mm = torch.mm
    monkeypatch.setattr(torch, "mm", lambda a, b, **k: drawn.append((a, b)) or mm(a, b, **k))
    built = burn.build(replace(JOB, variant=variant, options={"input": option}))
    for block in drawn[0]:
        assert float((block != 0).double().mean()) == pytest.approx(share, abs=0.01)
        if option == "uniform":
            assert block.min() >= -1 and block.max() <= 1 and abs(float(block.mean())) < 0.02
    assert not torch.equal(*drawn[0]) or option == "zeros"
    assert built.settings["matrix_values"] == option


@pytest.mark.parametrize("option", ["sparse:0", "sparse:1", "sparse:1.0", "sparse:x", "ones", ""])
def test_unknown_input_is_refused_with_those_that_there_are(option: str) -> None:
    with pytest.raises(ValueError, match=r"give normal, uniform, zeros or sparse:SHARE"):
        burn.build(replace(JOB, options={"input": option}))


def test_side_is_that_of_the_blocks_and_items_need_as_much_work() -> None:
    built = burn.build(replace(JOB, options={"side": "1024"}))
    assert built.input_shape == (1024, 1024) and built.parameters == 1024**2
    recorder = Recorder(2)
    built.run(recorder)
    assert recorder.items == [2, 2]
    with pytest.raises(ValueError, match="give one of 1024, 2048"):
        burn.build(replace(JOB, options={"side": "1000"}))
