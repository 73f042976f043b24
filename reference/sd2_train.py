"""Stable Diffusion v2 training at 512 x 512 on synthetic images and captions: diffusers' U-Net and
VAE, transformers' CLIP.

One step of `sd2-train`: the frozen VAE encoder turns images into latents and samples them, the
frozen text encoder embeds the captions, noise is added at random timesteps, and the U-Net learns to
predict that noise (mean squared error, AdamW). `sd2-latents-train` measures the U-Net alone:
latents and embeddings are resident, as if computed before the run, and no encoder runs.

Configuration: unet, vae, text_encoder and scheduler of
https://huggingface.co/stabilityai/stable-diffusion-2-base, the model at 512 x 512, which predicts
noise (epsilon). Nothing is fetched; weights are made from the seed.

In `baseline` and `tuned` the weights, activations and gradients of the network are bf16. AdamW
keeps fp32 master weights and moments and copies the masters into the network after each step,
because its updates are too small to be added in bf16. `baseline` is eager. `tuned` is compiled and
channels_last throughout (reference/channels_last.py).

`mayr` has the settings of Mayr et al. (docs/mayr.md): weights, gradients and optimiser in fp32,
eager, under fp16 autocast with a scaled loss.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel
from torch import Tensor, nn
from transformers import CLIPTextConfig, CLIPTextModel

from reference.channels_last import compute_in_channels_last
from reference.training import Settings, count_parameters, hash_first_samples, wrap_network
from rules.contract import Built, Job, Recorder
from rules.workloads import workloads

UNET = {
    "in_channels": 4,
    "out_channels": 4,
    "block_out_channels": (320, 640, 1280, 1280),
    "layers_per_block": 2,
    # The name says a width, but diffusers reads it as the number of heads.
    "attention_head_dim": (5, 10, 20, 20),
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
LATENT_SCALE = 0.18215  # gives the latents of the trained VAE a variance of about 1

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

Learn = Callable[[Tensor], None]
"""Computes the gradients of a loss and updates the network by them."""

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
        """Return sampled latents of shape (batch, 4, height / 8, width / 8) in fp32, and embeddings
        of shape (batch, 77, width of the text encoder).

        `images` has the shape (batch, 3, height, width), and `tokens` (batch, 77).
        """
        posterior = self.vae.encode(images).latent_dist
        # Sampled in fp32: in bf16 the sum of mean and noise would be rounded.
        mean, deviation = posterior.mean.float(), posterior.std.float()
        latents = (mean + deviation * torch.randn_like(mean)) * LATENT_SCALE
        return latents, self.text(tokens).last_hidden_state


def make_unet(size: str) -> UNet2DConditionModel:
    """Make the U-Net of a workload's size. It predicts the noise in latents from noisy latents,
    timesteps and embeddings."""
    return UNet2DConditionModel(**UNET | (SMOKE_UNET if size == "smoke" else {}))


def make_master_adamw(masters: list[Tensor], network: nn.Module) -> Learn:
    """Return a function that updates the fp32 `masters` by the gradients of the bf16 `network`,
    then copies them into the network and clears its gradients."""
    weights = list(network.parameters())
    optimiser = torch.optim.AdamW(masters, LEARNING_RATE, weight_decay=WEIGHT_DECAY, fused=True)
    for master in masters:
        master.grad = torch.empty_like(master)

    def learn(loss: Tensor) -> None:
        loss.backward()
        with torch.no_grad():
            # One call for all tensors, which also converts between bf16 and fp32.
            torch._foreach_copy_([m.grad for m in masters], [w.grad for w in weights])
            optimiser.step()
            torch._foreach_copy_(weights, masters)
        network.zero_grad(set_to_none=True)

    return learn


def make_scaled_adamw(network: nn.Module, device: torch.device) -> Learn:
    """Return a function that updates the fp32 `network` by the gradients of a scaled loss, whose
    parts in fp16 would otherwise be rounded to zero."""
    optimiser = torch.optim.AdamW(network.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    scaler = torch.amp.GradScaler(device.type)

    def learn(loss: Tensor) -> None:
        scaler.scale(loss).backward()
        scaler.step(optimiser)
        scaler.update()
        optimiser.zero_grad(set_to_none=True)

    return learn


def make_inputs(job: Job, input_shape: tuple[int, ...]) -> list[tuple[Tensor, Tensor]]:
    """Make resident batches on `job.device` from torch's seed.

    A batch is images of shape (samples, *input_shape) in bf16, in `mayr` in fp32, and token ids of
    shape (samples, 77). For `sd2-latents-train` it is latents of shape (samples, *input_shape) in
    fp32 and embeddings in bf16 of shape (samples, 77, width of the text encoder).
    """
    device = torch.device(job.device)
    text = TEXT | (SMOKE_TEXT if job.size == "smoke" else {})
    captions = (job.batch_size, text["max_position_embeddings"])
    inputs = []
    for _ in range(RESIDENT_BATCHES):
        pictures = torch.randn(job.batch_size, *input_shape, device=device)
        if job.workload == LATENTS_WORKLOAD:
            embeddings = torch.randn(
                *captions, text["hidden_size"], dtype=torch.bfloat16, device=device
            )
            inputs.append((pictures, embeddings))
        else:
            tokens = torch.randint(text["vocab_size"], captions, device=device)
            inputs.append((pictures if job.variant == "mayr" else pictures.bfloat16(), tokens))
    return inputs


def build(job: Job) -> Built:
    """Build models, optimiser and resident data on `job.device`.

    Raises torch.OutOfMemoryError if they do not fit, and ValueError for inputs that the workload
    does not take.
    """
    workloads()[job.workload].check_inputs(job.options, job.corpus, job.weights)
    input_shape = workloads()[job.workload].size(job.size).input_shape
    device = torch.device(job.device)
    tuned = job.variant == "tuned"
    compiled = tuned and device.type == "cuda"
    in_loop = job.workload != LATENTS_WORKLOAD
    layout = torch.channels_last if tuned else torch.contiguous_format

    torch.backends.cudnn.benchmark = True  # all batches have one shape: time the algorithms once
    torch.manual_seed(job.seed)  # the same weights on every rank
    with device:
        network = make_unet(job.size).train()
        encoders: nn.Module | None = Encoders(job.size) if in_loop else None
    if tuned:
        compute_in_channels_last(network)
        if encoders is not None:
            compute_in_channels_last(encoders)
    if job.variant == "mayr":
        learn = make_scaled_adamw(network, device)
    else:
        # Copied before the conversion to bf16, so that the masters start in full precision.
        masters = [p.detach().clone() for p in network.parameters()]
        learn = make_master_adamw(masters, network.bfloat16())
        encoders = encoders and encoders.bfloat16()
    model = wrap_network(network, job, compiled)
    if compiled and encoders is not None:
        encoders = torch.compile(encoders)

    torch.manual_seed(job.seed + 1 + job.rank)  # other images and other noise on every rank
    inputs = make_inputs(job, input_shape)
    return Built(
        run=partial(
            train,
            job=job,
            model=model,
            encoders=encoders,
            learn=learn,
            inputs=inputs,
            layout=layout,
        ),
        precision="fp16" if choose_half(job) is torch.float16 else "bf16",
        parameters=count_parameters(network),
        input_shape=input_shape,
        settings=describe_settings(job, in_loop, compiled),
        inputs_sha256=hash_first_samples(pictures for pictures, _ in inputs),
    )


def choose_half(job: Job) -> torch.dtype:
    """Return the 16-bit type of the products. CPUs compute in bf16 only."""
    fp16 = job.variant == "mayr" and job.device.startswith("cuda")
    return torch.float16 if fp16 else torch.bfloat16


def train(
    recorder: Recorder,
    job: Job,
    model: nn.Module,
    encoders: nn.Module | None,
    learn: Learn,
    inputs: Sequence[tuple[Tensor, Tensor]],
    layout: torch.memory_format,
) -> None:
    """Train `model` on the resident batches in turn until the recorder wants no more.

    Without `encoders` the batches are latents and embeddings already. `learn` updates the network
    by the loss.
    """
    schedule = DDPMScheduler(**SCHEDULE)
    autocast = torch.autocast(
        torch.device(job.device).type, choose_half(job), enabled=job.variant == "mayr"
    )
    batch = 0
    while recorder.more():
        recorder.start()
        resident = inputs[batch % RESIDENT_BATCHES]
        with autocast:
            latents, embeddings = resident if encoders is None else encoders(*resident)
            noise = torch.randn_like(latents)
            timesteps = torch.randint(
                SCHEDULE["num_train_timesteps"], (job.batch_size,), device=torch.device(job.device)
            )
            # Noise is added in fp32 and only the sum is rounded.
            noisy = schedule.add_noise(latents, noise, timesteps).to(
                choose_half(job), memory_format=layout
            )
            predicted = model(noisy, timesteps, embeddings, return_dict=False)[0]
            loss = nn.functional.mse_loss(predicted.float(), noise)
        learn(loss)
        # Detached, so that the recorder does not keep the graph; not read, which would wait for
        # the device.
        recorder.end(items=job.batch_size, loss=loss.detach())
        batch += 1


def describe_settings(job: Job, in_loop: bool, compiled: bool) -> Settings:
    """Return the settings that a bundle records; `in_loop` says that the encoders run in it."""
    mixed = job.variant == "mayr"
    half = "fp16 autocast" if mixed else "bf16"
    return {
        "optimizer": "AdamW" if mixed else "AdamW, fused",
        "learning_rate": LEARNING_RATE,
        "weight_decay": WEIGHT_DECAY,
        "weights_and_gradients": "fp32" if mixed else "bf16",
        "master_weights_and_moments": "fp32",
        **({"autocast": "fp16, scaled loss"} if mixed else {}),
        "encoders": f"frozen, in the loop, {half}"
        if in_loop
        else "none: latents and embeddings are resident",
        "prediction_type": SCHEDULE["prediction_type"],
        "memory_format": "channels_last" if job.variant == "tuned" else "contiguous",
        **({"group_norm": "by channel"} if job.variant == "tuned" else {}),
        "compiled": compiled,
        "resident_batches": RESIDENT_BATCHES,
    }
