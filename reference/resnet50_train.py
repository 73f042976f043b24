"""ResNet-50 training on synthetic images, timm's model.

`baseline` is TF32 and eager. `tuned` is bf16 autocast, channels_last, compiled, with a fused
optimiser. `s2d` is `tuned` with the first convolution on blocks of 2 x 2 pixels and with
coordinate descent tuning of the generated kernels. `mayr` has the settings of Mayr et al.
(docs/mayr.md): `baseline` with Adam, and cuDNN chooses its algorithms without timing them.
"""

from functools import partial

import torch
from torch import Tensor, nn

from reference.space_to_depth import SpaceToDepthStem
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
# Kept small for the batch sizes in use: the loss must fall, accuracy is not measured.
LEARNING_RATE = 0.1
MOMENTUM = 0.9
WEIGHT_DECAY = 5e-5
ADAM_LEARNING_RATE = 1e-4
BF16_VARIANTS = ("tuned", "s2d")


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

    torch.set_float32_matmul_precision("high")  # TF32 in matrix products
    torch.backends.cudnn.allow_tf32 = True  # and in convolutions, which have a switch of their own
    # All batches have one shape: time the algorithms once.
    torch.backends.cudnn.benchmark = job.variant != "mayr"
    torch.manual_seed(job.seed)  # the same weights on every rank
    network = make_network(workload.model, job)
    optimiser = make_optimiser(network, job)
    model = wrap_network(
        network, job, compiled=tuned and on_gpu, kernel_tuning=job.variant == "s2d"
    )
    images, labels = make_inputs(job, input_shape)
    return Built(
        run=partial(
            train_classifier,
            job=job,
            model=model,
            optimiser=optimiser,
            images=images,
            labels=labels,
            autocast=torch.bfloat16 if tuned else None,
        ),
        # A CPU has no TF32: its baseline computes in fp32.
        precision=workload.variants[job.variant] if on_gpu or tuned else "fp32",
        parameters=count_parameters(network),
        input_shape=input_shape,
        settings=describe_settings(job.variant, on_gpu),
        inputs_sha256=hash_first_samples(images),
    )


def choose_layout(job: Job) -> torch.memory_format:
    """Return the memory format of weights and images."""
    return torch.channels_last if job.variant in BF16_VARIANTS else torch.contiguous_format


def make_network(name: str, job: Job) -> nn.Module:
    """Make timm's model `name` in training mode on `job.device`, with weights from torch's seed."""
    network = import_timm().create_model(name, num_classes=CLASSES)
    if job.variant == "s2d":
        network.conv1 = SpaceToDepthStem(network.conv1)
    return network.to(torch.device(job.device), memory_format=choose_layout(job)).train()


def make_inputs(job: Job, input_shape: tuple[int, ...]) -> tuple[list[Tensor], Tensor]:
    """Make resident batches on `job.device`: images, each batch of shape (samples, *input_shape)
    in the variant's data type, and labels of shape (batches, samples)."""
    device = torch.device(job.device)
    data_type = torch.bfloat16 if job.variant in BF16_VARIANTS else torch.float32
    # Other images on every rank, and not from the seed of the weights.
    random = torch.Generator(device).manual_seed(job.seed + 1 + job.rank)
    # One tensor per batch: a memory format describes four dimensions, not five.
    images = [
        torch.randn((job.batch_size, *input_shape), generator=random, device=device).to(
            data_type, memory_format=choose_layout(job)
        )
        for _ in range(RESIDENT_BATCHES)
    ]
    shape = (RESIDENT_BATCHES, job.batch_size)
    return images, torch.randint(CLASSES, shape, generator=random, device=device)


def make_optimiser(network: nn.Module, job: Job) -> torch.optim.Optimizer:
    """Make the optimiser of the variant."""
    if job.variant == "mayr":
        return torch.optim.Adam(network.parameters(), ADAM_LEARNING_RATE)
    return torch.optim.SGD(
        network.parameters(),
        LEARNING_RATE,
        MOMENTUM,
        weight_decay=WEIGHT_DECAY,
        fused=job.variant in BF16_VARIANTS and job.device.startswith("cuda"),
    )


def describe_settings(variant: str, on_gpu: bool) -> Settings:
    """Return the settings that a bundle records."""
    tuned = variant in BF16_VARIANTS
    settings: Settings = {
        "optimizer": "SGD, momentum 0.9",
        "learning_rate": LEARNING_RATE,
        "weight_decay": WEIGHT_DECAY,
    }
    if variant == "mayr":
        settings = {"optimizer": "Adam", "learning_rate": ADAM_LEARNING_RATE, "weight_decay": 0.0}
    if variant == "s2d":
        settings["stem"] = "blocks of 2 x 2 pixels"
        settings["kernel_tuning"] = "coordinate descent" if on_gpu else None
    return {
        **settings,
        "memory_format": "channels_last" if tuned else "contiguous",
        "autocast": "bf16" if tuned else None,
        "compiled": tuned and on_gpu,
        "resident_batches": RESIDENT_BATCHES,
    }
