"""Stable Diffusion v2 on diffusers: its definition against the models, its steps, and smoke runs
through the command line."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from support.console.stack_runs import read_arguments
from torch.utils.flop_counter import FlopCounterMode

from harness.cli import main
from reference import sd2_train
from rules.contract import Job
from rules.workloads import workloads

BATCH = 2
WORKLOADS = ("sd2-train", "sd2-latents-train")


@dataclass
class Steps:
    """A recorder that wants `count` batches."""

    count: int
    losses: list[float] = field(default_factory=list)

    def more(self) -> bool:
        return len(self.losses) < self.count

    def start(self) -> None:
        pass

    def end(self, items: int, loss: Any) -> None:
        assert items == BATCH
        self.losses.append(float(loss))


@cache
def count_flops(size: str) -> tuple[float, float, dict[str, float]]:
    """FLOPs of the encoders and of the U-Net with its backward pass, for one image; and of the
    U-Net's forward by operator.

    Counted on the meta device, where attention is two batched products, which FlopCounterMode sees.
    """
    text = sd2_train.TEXT | (sd2_train.SMOKE_TEXT if size == "smoke" else {})
    with torch.device("meta"):
        encoders, unet = sd2_train.Encoders(size), sd2_train.make_unet(size)
        images = torch.randn(BATCH, *workloads()["sd2-train"].size(size).input_shape)
        tokens = torch.zeros(BATCH, text["max_position_embeddings"], dtype=torch.long)
        timesteps = torch.zeros(BATCH, dtype=torch.long)
    with FlopCounterMode(display=False) as encoding:
        latents, embeddings = encoders(images, tokens)
    assert latents.shape[1:] == workloads()["sd2-latents-train"].size(size).input_shape
    with FlopCounterMode(display=False) as training:
        predicted = unet(latents, timesteps, embeddings).sample
        forward = {
            str(operator): flops / BATCH
            for operator, flops in training.get_flop_counts()["Global"].items()
        }
        torch.nn.functional.mse_loss(predicted, latents).backward()
    return encoding.get_total_flops() / BATCH, training.get_total_flops() / BATCH, forward


@pytest.mark.parametrize("size", ["full", "smoke"])
def test_flops_per_image_are_those_of_the_models(size: str) -> None:
    encoders, unet, _ = count_flops(size)
    assert workloads()["sd2-latents-train"].size(size).flops_per_item == pytest.approx(
        unet, rel=0.005
    )
    assert workloads()["sd2-train"].size(size).flops_per_item == pytest.approx(
        encoders + unet, rel=0.005
    )


def test_attention_is_counted() -> None:
    """Two products of 2 x queries x keys x width, in each of the full U-Net's 16 blocks, against
    itself and against 77 tokens."""
    blocks = [(64 * 64, 320, 5), (32 * 32, 640, 5), (16 * 16, 1280, 5), (8 * 8, 1280, 1)]
    expected = sum(4 * count * queries * (queries + 77) * width for queries, width, count in blocks)
    assert count_flops("full")[2]["aten.bmm"] == pytest.approx(expected)


@pytest.mark.parametrize("size", ["full", "smoke"])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_parameters_are_those_of_the_unet(workload: str, size: str) -> None:
    with torch.device("meta"):
        unet = sd2_train.make_unet(size)
    assert sum(p.numel() for p in unet.parameters()) == workloads()[workload].size(size).parameters


def test_encoders_are_of_the_published_size() -> None:
    """Parameters of vae and text_encoder of stable-diffusion-2-base."""
    with torch.device("meta"):
        encoders = sd2_train.Encoders("full")
    assert sum(p.numel() for p in encoders.vae.parameters()) == 83_653_863
    assert sum(p.numel() for p in encoders.text.parameters()) == 340_387_840


def make_job(workload: str = "sd2-train", variant: str = "baseline", **fields: Any) -> Job:
    return Job(workload, variant, "smoke", BATCH, seed=1, device="cpu", **fields)


def keep(monkeypatch: pytest.MonkeyPatch, name: str) -> list[torch.nn.Module]:
    """The models that `sd2_train.NAME` makes from now on."""
    modules: list[torch.nn.Module] = []
    make = getattr(sd2_train, name)

    def made(size: str) -> torch.nn.Module:
        modules.append(make(size))
        return modules[-1]

    monkeypatch.setattr(sd2_train, name, made)
    return modules


def flatten_weights(network: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().float().flatten() for p in network.parameters()])


@pytest.mark.parametrize("variant", ["baseline", "tuned", "mayr"])
def test_a_step_trains_the_unet_and_neither_encoder(
    monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    unets, encoders = keep(monkeypatch, "make_unet"), keep(monkeypatch, "Encoders")
    built = sd2_train.build(make_job(variant=variant))
    (unet,), (frozen,) = unets, encoders
    before, frozen_before = flatten_weights(unet), flatten_weights(frozen)
    steps = Steps(3)
    built.run(steps)
    assert (flatten_weights(unet) != before).float().mean() > 0.5
    assert torch.equal(flatten_weights(frozen), frozen_before)
    stored = torch.float32 if variant == "mayr" else torch.bfloat16
    assert all(p.dtype == stored for p in (*unet.parameters(), *frozen.parameters()))
    assert all(0.1 < loss < 10 for loss in steps.losses) and len(set(steps.losses)) == 3


def test_the_latents_mode_runs_no_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    encoders = keep(monkeypatch, "Encoders")
    built = sd2_train.build(make_job("sd2-latents-train"))
    steps = Steps(2)
    built.run(steps)
    assert not encoders and built.input_shape == (4, 8, 8)
    assert all(0.1 < loss < 10 for loss in steps.losses)


def test_the_loss_falls() -> None:
    steps = Steps(60)
    sd2_train.build(make_job("sd2-latents-train")).run(steps)
    assert sum(steps.losses[-10:]) < 0.95 * sum(steps.losses[:10])


def test_updates_below_the_resolution_of_bf16_add_up() -> None:
    network = torch.nn.Linear(1, 1, bias=False).bfloat16()
    with torch.no_grad():
        network.weight.fill_(1.0)
    learn = sd2_train.make_master_adamw([torch.ones(1, 1)], network)
    for _ in range(40):  # of 1e-4 each; the next bf16 number below 1 is 0.9961
        learn(network.weight.sum())
        assert network.weight.grad is None, "the next step would add to this one's gradient"
    assert network.weight.item() == 0.99609375


def test_what_it_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="sd2-train has no option compile; it has none"):
        sd2_train.build(make_job(options={"compile": "no"}))


def take_part(rank: int, directory: str) -> None:
    """Train two steps as one of two ranks; leave weights and losses in `directory`."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", f"file://{directory}/store", rank=rank, world_size=2
    )
    with pytest.MonkeyPatch.context() as monkeypatch:
        unets = keep(monkeypatch, "make_unet")
        built = sd2_train.build(make_job("sd2-latents-train", rank=rank, world_size=2))
    steps = Steps(2)
    built.run(steps)
    torch.save((flatten_weights(unets[0]), steps.losses), f"{directory}/{rank}.pt")
    torch.distributed.destroy_process_group()


def test_two_ranks_train_one_network_on_different_data(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(take_part, (str(tmp_path),), nprocs=2)
    (first, first_losses), (second, second_losses) = (
        torch.load(tmp_path / f"{rank}.pt") for rank in range(2)
    )
    assert torch.equal(first, second)
    assert first_losses != second_losses


@pytest.mark.parametrize(
    ("variant", "workload"), zip(["baseline", "tuned"], WORKLOADS, strict=True)
)
def test_a_smoke_run_passes_the_check(tmp_path: Path, workload: str, variant: str) -> None:
    """The run of docs/run.md, with shorter epochs, and its variations."""
    command, page_workload, *page_options = read_arguments(__file__, "run.md", "diffusion")
    assert page_workload in WORKLOADS
    options = ["--variant", variant, "--epoch-seconds", "0.3", "--out", str(tmp_path)]
    result = CliRunner().invoke(main, [command, workload, *page_options, *options])
    assert result.exit_code == 0, result.output
    assert "no errors" in result.output
