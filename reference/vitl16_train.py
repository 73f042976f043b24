"""ViT-L/16 training on synthetic images, timm's model.

`baseline` is TF32 and eager. `tuned` is bf16 autocast, compiled, with a fused optimiser. Its
residual stream is bf16 too. Under autocast alone it would be fp32, because the position embedding
at its start is fp32. Three variants are `tuned` in another precision: `tuned-tf32` without
autocast, `tuned-fp16` with fp16 in the place of bf16 and with loss scaling, and `fp8` with the
linear layers of the blocks in FP8. `mayr` has the settings of Mayr et al. (docs/mayr.md):
`baseline` with Adam.
"""

from functools import partial

import torch
from torch import Tensor, nn

from reference.fp8_linear import MULTIPLE, convert_linear_layers, update_maxima
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
TUNED_VARIANTS = ("tuned", "tuned-tf32", "tuned-fp16", "fp8")
AUTOCAST_TYPES = {"tuned": torch.bfloat16, "tuned-fp16": torch.float16, "fp8": torch.bfloat16}
"""The data type of autocast, of the images and of the residual stream, by variant. The others have
no autocast."""
FP8_LINEAR = "tensorwise, delayed by a step, in the blocks"
SMOKE_MODEL = {"depth": 2, "embed_dim": 192, "num_heads": 3}


class Cast(nn.Module):
    """Converts to a data type in the place of the optional norm that timm's model has between the
    embedding and the blocks."""

    def __init__(self, data_type: torch.dtype) -> None:
        super().__init__()
        self.data_type = data_type

    def forward(self, embedded: Tensor) -> Tensor:
        return embedded.to(self.data_type)


def build(job: Job) -> Built:
    """Build model, optimiser and resident data on `job.device`.

    Raises torch.OutOfMemoryError if they do not fit, and ValueError for inputs that the workload
    does not take.
    """
    workloads()[job.workload].check_inputs(job.options, job.corpus, job.weights)
    workload = workloads()[job.workload]
    input_shape = workload.size(job.size).input_shape
    on_gpu = torch.device(job.device).type == "cuda"
    tuned, autocast = job.variant in TUNED_VARIANTS, AUTOCAST_TYPES.get(job.variant)
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
    if autocast:
        network.norm_pre = Cast(autocast)
    if job.variant == "fp8":
        convert_linear_layers(network.blocks)
    optimiser = make_optimiser(network, job)
    if job.variant == "fp8":
        optimiser.register_step_post_hook(lambda *_: update_maxima(network))
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
            autocast=autocast,
        ),
        # A CPU has no TF32: what is TF32 on a GPU computes in fp32.
        precision=workload.variants[job.variant] if on_gpu or autocast else "fp32",
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
    images = images.to(AUTOCAST_TYPES.get(job.variant, torch.float32))
    return images, torch.randint(CLASSES, images.shape[:2], generator=random, device=device)


def make_optimiser(network: nn.Module, job: Job) -> torch.optim.Optimizer:
    """Make the optimiser of the variant. `mayr` has torch's defaults beside the learning rate."""
    if job.variant == "mayr":
        return torch.optim.Adam(network.parameters(), LEARNING_RATE)
    return torch.optim.AdamW(
        network.parameters(),
        LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
        fused=job.variant in TUNED_VARIANTS and job.device.startswith("cuda"),
    )


def describe_settings(variant: str, on_gpu: bool) -> Settings:
    """Return the settings that a bundle records."""
    autocast = {None: None, torch.bfloat16: "bf16", torch.float16: "fp16"}[
        AUTOCAST_TYPES.get(variant)
    ]
    return {
        "optimizer": "Adam" if variant == "mayr" else "AdamW",
        "learning_rate": LEARNING_RATE,
        "weight_decay": 0.0 if variant == "mayr" else WEIGHT_DECAY,
        **({"fp8_linear": FP8_LINEAR} if variant == "fp8" else {}),
        **({"loss_scaling": "dynamic"} if autocast == "fp16" else {}),
        "autocast": autocast,
        "residual_stream": autocast or "fp32",
        "compiled": variant in TUNED_VARIANTS and on_gpu,
        "resident_batches": RESIDENT_BATCHES,
    }
