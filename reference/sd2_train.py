"""Stable Diffusion v2 training at 512 x 512 on synthetic images and captions: diffusers' U-Net and
VAE, transformers' CLIP.

One step of `sd2-train`: the frozen VAE encoder turns images into latents and samples them, the
frozen text encoder embeds the captions, noise is added at random timesteps, and the U-Net learns to
predict that noise (mean squared error, AdamW). `sd2-latents-train` measures the U-Net alone:
latents and embeddings are resident, as if computed before, and no encoder runs.

Configuration: unet, vae, text_encoder and scheduler of
https://huggingface.co/stabilityai/stable-diffusion-2-base, the model at 512 x 512, which predicts
noise (epsilon). Nothing is fetched; weights are made from the seed.

Both variants are bf16: weights, activations and gradients of the network are. AdamW keeps fp32
master weights and moments, and copies the masters back into the network after each step, for
updates are too small to be added in bf16. `baseline` is eager. `tuned` is compiled and
channels_last.
"""

from collections.abc import Callable

import torch
from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from transformers import CLIPTextConfig, CLIPTextModel

from rules.contract import Built, Job, Recorder
from rules.workloads import workloads

UNET = {
    "in_channels": 4,
    "out_channels": 4,
    "block_out_channels": (320, 640, 1280, 1280),
    "layers_per_block": 2,
    "attention_head_dim": (
        5,
        10,
        20,
        20,
    ),  # by its name a width, but diffusers takes it as the number of heads
    "cross_attention_dim": 1024,
    "use_linear_projection": True,
}
VAE = {
    "down_block_types": ("DownEncoderBlock2D",) * 4,
    "up_block_types": ("UpDecoderBlock2D",) * 4,
    "block_out_channels": (128, 256, 512, 512),
    "layers_per_block": 2,
    "latent_channels": 4,
}
TEXT = {
    "vocab_size": 49408,
    "max_position_embeddings": 77,
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 23,
    "num_attention_heads": 16,
    "hidden_act": "gelu",
}
SCHEDULE = {
    "num_train_timesteps": 1000,
    "beta_schedule": "scaled_linear",
    "beta_start": 0.00085,
    "beta_end": 0.012,
    "prediction_type": "epsilon",
}
LATENT_SCALE = 0.18215  # gives the latents of the trained VAE about unit variance

SMOKE_UNET = {
    "block_out_channels": (32, 64, 64, 64),
    "layers_per_block": 1,
    "attention_head_dim": (2, 4, 4, 4),
    "cross_attention_dim": 32,
}
SMOKE_VAE = {"block_out_channels": (32, 32, 32, 32), "layers_per_block": 1}
SMOKE_TEXT = {
    "hidden_size": 32,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}

LATENTS_WORKLOAD = "sd2-latents-train"
RESIDENT_BATCHES = 4
LEARNING_RATE = 1e-4
WEIGHT_DECAY = 0.01


class Encoders(nn.Module):
    """The frozen VAE encoder and text encoder of a workload's size."""

    def __init__(self, size: str) -> None:
        super().__init__()
        smoke = size == "smoke"
        self.vae = AutoencoderKL(**VAE | (SMOKE_VAE if smoke else {}))
        self.text = CLIPTextModel(CLIPTextConfig(**TEXT | (SMOKE_TEXT if smoke else {})))
        self.requires_grad_(False).eval()

    @torch.no_grad()
    def forward(self, images: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Sampled latents (batch, 4, height / 8, width / 8) in fp32, and embeddings (batch, 77,
        width of the text encoder)."""
        posterior = self.vae.encode(images).latent_dist
        mean, deviation = posterior.mean.float(), posterior.std.float()
        latents = (mean + deviation * torch.randn_like(mean)) * LATENT_SCALE
        return latents, self.text(tokens).last_hidden_state


def make_unet(size: str) -> UNet2DConditionModel:
    """The U-Net of a workload's size: noisy latents, timesteps and embeddings to the noise in the
    latents."""
    return UNet2DConditionModel(**UNET | (SMOKE_UNET if size == "smoke" else {}))


def master_adamw(masters: list[Tensor], network: nn.Module) -> Callable[[], None]:
    """A function that updates fp32 `masters` by the gradients of the bf16 `network`, and the
    network by them."""
    weights = list(network.parameters())
    optimiser = torch.optim.AdamW(masters, LEARNING_RATE, weight_decay=WEIGHT_DECAY, fused=True)
    for master in masters:
        master.grad = torch.empty_like(master)

    @torch.no_grad()
    def step() -> None:
        torch._foreach_copy_([m.grad for m in masters], [w.grad for w in weights])
        optimiser.step()
        torch._foreach_copy_(weights, masters)
        network.zero_grad(set_to_none=True)

    return step


def resident_inputs(job: Job, shape: tuple[int, ...]) -> list[tuple[Tensor, Tensor]]:
    """Batches on `job.device`: images and token ids, or for `sd2-latents-train` latents (fp32) and
    embeddings."""
    device = torch.device(job.device)
    text = TEXT | (SMOKE_TEXT if job.size == "smoke" else {})
    inputs = []
    for _ in range(RESIDENT_BATCHES):
        pictures = torch.randn(job.batch_size, *shape, device=device)
        captions = (job.batch_size, text["max_position_embeddings"])
        if job.workload == LATENTS_WORKLOAD:
            inputs.append(
                (
                    pictures,
                    torch.randn(
                        *captions, text["hidden_size"], dtype=torch.bfloat16, device=device
                    ),
                )
            )
        else:
            inputs.append(
                (pictures.bfloat16(), torch.randint(text["vocab_size"], captions, device=device))
            )
    return inputs


def build(job: Job) -> Built:
    """Build models, optimiser and resident data on `job.device`. Raises torch.OutOfMemoryError
    where they do not fit."""
    if job.options or job.weights or job.corpus:
        raise ValueError(f"{job.workload} takes no --option, --weights or --corpus: leave them out")
    size = workloads()[job.workload].size(job.size)
    device = torch.device(job.device)
    on_gpu = device.type == "cuda"
    tuned = job.variant == "tuned"
    in_loop = job.workload != LATENTS_WORKLOAD
    layout = torch.channels_last if tuned else torch.contiguous_format

    torch.backends.cudnn.benchmark = True
    torch.manual_seed(job.seed)  # the same weights on every rank
    with device:
        network = make_unet(job.size).to(memory_format=layout).train()
        encode: nn.Module | None = (
            Encoders(job.size).bfloat16().to(memory_format=layout) if in_loop else None
        )
    parameters = sum(p.numel() for p in network.parameters())
    masters = [p.detach().clone() for p in network.parameters()]
    update = master_adamw(masters, network.bfloat16())
    model: nn.Module = network
    if job.world_size > 1:
        model = DistributedDataParallel(
            network, device_ids=[device] if on_gpu else None, gradient_as_bucket_view=True
        )
    if tuned and on_gpu:
        model = torch.compile(model)
        encode = encode and torch.compile(encode)
    schedule = DDPMScheduler(**SCHEDULE)

    torch.manual_seed(job.seed + 1 + job.rank)  # other images and other noise on every rank
    inputs = resident_inputs(job, size.input_shape)

    def run(recorder: Recorder) -> None:
        batch = 0
        while recorder.more():
            recorder.start()
            resident = inputs[batch % RESIDENT_BATCHES]
            latents, embeddings = resident if encode is None else encode(*resident)
            noise = torch.randn_like(latents)
            timesteps = torch.randint(
                SCHEDULE["num_train_timesteps"], (job.batch_size,), device=device
            )
            noisy = schedule.add_noise(latents, noise, timesteps).to(
                torch.bfloat16, memory_format=layout
            )
            predicted = model(noisy, timesteps, embeddings, return_dict=False)[0]
            loss = nn.functional.mse_loss(predicted.float(), noise)
            loss.backward()
            update()
            recorder.end(items=job.batch_size, loss=loss.detach())
            batch += 1

    return Built(
        run=run,
        precision="bf16",
        parameters=parameters,
        input_shape=size.input_shape,
        settings={
            "optimizer": "AdamW, fused",
            "learning_rate": LEARNING_RATE,
            "weight_decay": WEIGHT_DECAY,
            "weights_and_gradients": "bf16",
            "master_weights_and_moments": "fp32",
            "encoders": "frozen, in the loop, bf16"
            if in_loop
            else "none: latents and embeddings are resident",
            "prediction_type": SCHEDULE["prediction_type"],
            "memory_format": "channels_last" if tuned else "contiguous",
            "compiled": tuned and on_gpu,
            "resident_batches": RESIDENT_BATCHES,
        },
    )
