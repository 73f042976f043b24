"""ViT-L/16 training on synthetic images, timm's model.

`baseline` is TF32 and eager. `tuned` is bf16 autocast, compiled, with a fused optimiser. Its
residual stream is bf16 too. Under autocast alone it would be fp32, because the position embedding
at its start is fp32. `fp8` is `tuned` with the linear layers of the blocks in FP8. `mayr` has the
settings of Mayr et al. (docs/mayr.md): `baseline` with Adam.
"""

from functools import partial

import torch
from torch import Tensor, nn

from reference.fp8_linear import MULTIPLE, convert_linear_layers
from reference.torchvision_shim import import_timm
from reference.training import (
    Settings,
    count_parameters,
    hash_first_samples,
    train_classifier,
    wrap_network,
)
from rules.contract import Built, Job
from rules.workloads import workloads

CLASSES = 1000
RESIDENT_BATCHES = 4
LEARNING_RATE = 1e-4
WEIGHT_DECAY = 0.05
BF16_VARIANTS = ("tuned", "fp8")
SMOKE_MODEL = {"depth": 2, "embed_dim": 192, "num_heads": 3}


class ToBf16(nn.Module):
    """Converts to bf16 in the place of the optional norm that timm's model has between the
    embedding and the blocks."""

    def forward(self, embedded: Tensor) -> Tensor:
        return embedded.to(torch.bfloat16)


def build(job: Job) -> Built:
    """Build model, optimiser and resident data on `job.device`.

    Raises torch.OutOfMemoryError if they do not fit, and ValueError for inputs that the workload
    does not take.
    """
    workloads()[job.workload].check_inputs(job.options, job.corpus, job.weights)
    workload = workloads()[job.workload]
    input_shape = workload.size(job.size).input_shape
    on_gpu = torch.device(job.device).type == "cuda"
    tuned = job.variant in BF16_VARIANTS
    if job.variant == "fp8" and on_gpu and job.batch_size % MULTIPLE:
        raise ValueError(
            f"batch {job.batch_size}: the FP8 products of a GPU need a multiple of {MULTIPLE}; "
            f"give --batch {-(-job.batch_size // MULTIPLE) * MULTIPLE}"
        )

    torch.set_float32_matmul_precision("high")  # TF32 in matrix products
    torch.backends.cudnn.allow_tf32 = True  # and in the convolution that embeds the patches
    torch.manual_seed(job.seed)  # the same weights on every rank
    network = make_network(workload.model, job, input_shape)
    parameters = count_parameters(network)
    if tuned:
        network.norm_pre = ToBf16()
    if job.variant == "fp8":
        convert_linear_layers(network.blocks)
    optimiser = make_optimiser(network, job)
    model = wrap_network(network, job, compiled=tuned and on_gpu)
    images, labels = make_inputs(job, input_shape)
    return Built(
        run=partial(
            train_classifier,
            job=job,
            model=model,
            optimiser=optimiser,
            images=images,
            labels=labels,
            autocast=tuned,
        ),
        # A CPU has no TF32: its baseline computes in fp32.
        precision=workload.variants[job.variant] if on_gpu or tuned else "fp32",
        parameters=parameters,
        input_shape=input_shape,
        settings=describe_settings(job.variant, on_gpu),
        inputs_sha256=hash_first_samples(images),
    )


def make_network(name: str, job: Job, input_shape: tuple[int, ...]) -> nn.Module:
    """Make timm's model `name` of the job's size in training mode on `job.device`, with weights
    from torch's seed."""
    smoke_model = SMOKE_MODEL if job.size == "smoke" else {}
    network = import_timm().create_model(
        name, num_classes=CLASSES, img_size=input_shape[-1], **smoke_model
    )
    return network.to(torch.device(job.device)).train()


def make_inputs(job: Job, input_shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Make resident batches on `job.device`: images of shape (batches, samples, *input_shape) in
    the variant's data type, and labels of shape (batches, samples)."""
    device = torch.device(job.device)
    # Other images on every rank, and not from the seed of the weights.
    random = torch.Generator(device).manual_seed(job.seed + 1 + job.rank)
    images = torch.randn(
        RESIDENT_BATCHES, job.batch_size, *input_shape, generator=random, device=device
    )
    if job.variant in BF16_VARIANTS:
        images = images.to(torch.bfloat16)
    return images, torch.randint(CLASSES, images.shape[:2], generator=random, device=device)


def make_optimiser(network: nn.Module, job: Job) -> torch.optim.Optimizer:
    """Make the optimiser of the variant. `mayr` has torch's defaults beside the learning rate."""
    if job.variant == "mayr":
        return torch.optim.Adam(network.parameters(), LEARNING_RATE)
    return torch.optim.AdamW(
        network.parameters(),
        LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
        fused=job.variant in BF16_VARIANTS and job.device.startswith("cuda"),
    )


def describe_settings(variant: str, on_gpu: bool) -> Settings:
    """Return the settings that a bundle records."""
    tuned = variant in BF16_VARIANTS
    return {
        "optimizer": "Adam" if variant == "mayr" else "AdamW",
        "learning_rate": LEARNING_RATE,
        "weight_decay": 0.0 if variant == "mayr" else WEIGHT_DECAY,
        **({"fp8_linear": "tensorwise, dynamic, in the blocks"} if variant == "fp8" else {}),
        "autocast": "bf16" if tuned else None,
        "residual_stream": "bf16" if tuned else "fp32",
        "compiled": tuned and on_gpu,
        "resident_batches": RESIDENT_BATCHES,
    }
