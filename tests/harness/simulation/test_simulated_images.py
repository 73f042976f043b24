"""Simulated inference of image models: the formula, and the model on a simulated board."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from harness.run.workers.recorder import HostClock
from harness.simulation import server as simulator
from harness.simulation.board_models import MODELS
from harness.simulation.board_state import Activity
from harness.simulation.image_inference import SimulatedModel, open_model
from harness.simulation.inference_model import ImageLoad, InferenceCurve
from harness.studies.worker import Window, compute_seconds, measure
from rules.study_contract import BatchRefused, ModelJob, ModelRefused

UUID = "SIM-H200-3"
JOB = ModelJob("resnet50", 224, "cudagraph", "bf16", 1, "cpu", UUID, True, False)
BATCHES = [2**power for power in range(14)]
CAP_W = 700


def make_curve(gflop: float, activations_m: float, batch: int, **fields: str) -> InferenceCurve:
    load = ImageLoad(batch, gflop * 1e9, activations_m * 1e6, "cudagraph", "bf16")
    return InferenceCurve(MODELS["h200"], replace(load, **fields))


def compute_joules(curve: InferenceCurve) -> float:
    return curve.compute_power_w(CAP_W) / curve.compute_items_per_s(CAP_W)


@pytest.mark.parametrize(
    ("gflop", "activations_m", "least_mj", "images_per_s", "first_mj", "first_per_s"),
    # GFLOP and activations of timm, and what one H200 took: the least energy, the highest
    # throughput, and both of a batch of one image.
    [
        (8.22, 11.11, 39.2, 15_850, 158, 1144),
        (0.46, 4.41, 13.9, 39_580, 107, 1412),
        (0.80, 6.75, 25.6, 23_556, 151, 1041),
        (35.2, 23.9, 65.4, 10_513, 186, 1540),
        (9.02, 17.06, 77.8, 7_634, 222, 1041),
        (30.7, 28.75, 118, 5_796, 330, 713),
    ],
    ids=["resnet50", "mobilenetv3", "efficientnet_b0", "vit_base", "swin_tiny", "convnext_base"],
)
def test_figures_are_within_a_factor_of_two_of_an_h200(
    gflop: float,
    activations_m: float,
    least_mj: float,
    images_per_s: float,
    first_mj: float,
    first_per_s: float,
) -> None:
    curves = [make_curve(gflop, activations_m, batch) for batch in BATCHES]
    joules = [compute_joules(curve) for curve in curves]
    highest = max(curve.compute_items_per_s(CAP_W) for curve in curves)
    for value, measured in (
        (1e3 * min(joules), least_mj),
        (highest, images_per_s),
        (1e3 * joules[0], first_mj),
        (curves[0].compute_items_per_s(CAP_W), first_per_s),
    ):
        assert 0.5 < value / measured < 2
    # The least energy is at a batch below the largest one, and below the cap.
    best = joules.index(min(joules))
    assert 0 < best < len(BATCHES) - 1
    assert curves[best].compute_power_w(CAP_W) < 600


def test_slower_engines_and_wider_precisions_take_more_energy() -> None:
    for faster, slower in (("compile", "cudagraph"), ("cudagraph", "eager")):
        pair = (make_curve(8.22, 11.11, 1, engine=engine) for engine in (faster, slower))
        assert compute_joules(next(pair)) < compute_joules(next(pair))
    for faster, slower in (("bf16", "tf32"), ("tf32", "fp32")):
        pair = (make_curve(8.22, 11.11, 64, precision=name) for name in (faster, slower))
        assert compute_joules(next(pair)) < compute_joules(next(pair))


def test_a_cap_lowers_power_and_throughput_of_a_load_that_exceeds_it() -> None:
    curve = make_curve(8.22, 11.11, 64)
    assert not curve.is_capped(CAP_W)
    assert curve.is_capped(300)
    assert curve.compute_power_w(300) == 300
    assert curve.compute_items_per_s(300) < 0.9 * curve.compute_items_per_s(CAP_W)
    assert make_curve(8.22, 11.11, 1).compute_items_per_s(300) == pytest.approx(1144, rel=0.1)


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[simulator.Client]:
    """A simulator of H200s for the test, and a connection to it."""
    monkeypatch.delenv(simulator.VARIABLE, raising=False)
    with simulator.run_simulator("h200"):
        client = simulator.Client(os.environ[simulator.VARIABLE])
        yield client
        client.close()


def read_power_w(board: simulator.Client, after_s: int) -> float:
    """Return the power of the board of the job in `after_s` from now. The time of the board does
    not go back afterwards."""
    at_ns = time.monotonic_ns() + after_s * 1_000_000_000
    return board.ask("read", uuid=UUID, at_ns=at_ns)["power_mw"] / 1e3


def test_a_model_takes_the_time_of_its_batches_and_the_board_draws_its_power(
    board: simulator.Client,
) -> None:
    model = open_model(JOB)
    assert isinstance(model, SimulatedModel)
    assert model.facts.flops == pytest.approx(8.22e9, rel=0.01)
    window = Window(batch=32, seconds=0.2, min_batches=13, parts=5)
    parts = measure(model, HostClock(), window)
    images_per_s = 32 * sum(part.batches for part in parts) / compute_seconds(parts)
    curve = make_curve(8.22, 11.11, 32)
    # A busy machine ends the last part late, and no part early.
    assert 0.2 < images_per_s / curve.compute_items_per_s(CAP_W) < 1.01
    assert 0 < model.peak_bytes() < 2**30
    powers_w = []
    model.run(1, 1, lambda: powers_w.append(read_power_w(board, after_s=2)))
    assert powers_w[0] == pytest.approx(curve.compute_power_w(CAP_W), rel=0.03)
    # As the worker does after a window.
    board.ask("set_activity", uuid=UUID, activity=Activity.RESIDENT)
    resident_w = read_power_w(board, after_s=4)
    assert 100 < resident_w < 150
    model.close()
    assert read_power_w(board, after_s=6) < resident_w - 30


def test_a_batch_that_does_not_fit_is_refused_and_a_smaller_one_runs(
    board: simulator.Client,
) -> None:
    model = open_model(JOB)
    with pytest.raises(BatchRefused) as refusal:
        model.prepare(8192)
    assert refusal.value.outcome == "out-of-memory"
    model.prepare(1)
    model.close()


def test_a_model_without_published_sizes_is_refused(board: simulator.Client) -> None:
    with pytest.raises(ModelRefused, match="no sizes of resnet50 at 225 pixels"):
        open_model(replace(JOB, size=225))


def test_a_model_without_a_simulator_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(simulator.VARIABLE, raising=False)
    with pytest.raises(ValueError, match="--simulate h200"):
        open_model(JOB)
