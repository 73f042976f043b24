"""What the training workloads on synthetic data share: wrapping of the network and the loop of
classifiers."""

import hashlib
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from rules.contract import Job, Recorder

Settings = dict[str, str | int | float | bool | None]
"""What a bundle records of an implementation's own choices, by name."""


def count_parameters(network: nn.Module) -> int:
    """Return the number of parameters, frozen ones included."""
    return sum(parameter.numel() for parameter in network.parameters())


def hash_first_samples(batches: Iterable[Tensor]) -> str:
    """Return the SHA-256 of the bytes of the first sample of each batch, as hexadecimal digits. It
    shows which seed the input was made from. Hashing all of it would take seconds."""
    digest = hashlib.sha256()
    for batch in batches:
        sample = batch[0].detach().contiguous().cpu()
        # NumPy has no bf16, so the bytes are hashed.
        digest.update(sample.flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def wrap_network(
    network: nn.Module, job: Job, compiled: bool, kernel_tuning: bool = False
) -> nn.Module:
    """Return `network` wrapped for data parallelism if there are several ranks, then compiled if
    `compiled`. With `kernel_tuning`, coordinate descent chooses the block sizes and the number of
    warps of each generated kernel by timing it, which takes minutes.

    Call it after the optimiser has taken the parameters of `network`.
    """
    model = network
    if job.world_size > 1:
        device = torch.device(job.device)
        model = DistributedDataParallel(
            network,
            device_ids=[device] if device.type == "cuda" else None,
            # Gradients are views of the communication buckets, which saves one copy of them.
            gradient_as_bucket_view=True,
        )
    # The wrapper is compiled too: torch.compile then splits the graph at the buckets, so that the
    # all-reduce overlaps with the backward pass.
    options = {"coordinate_descent_tuning": True} if kernel_tuning else None
    return torch.compile(model, options=options) if compiled else model


def train_classifier(
    recorder: Recorder,
    job: Job,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    images: Tensor | Sequence[Tensor],
    labels: Tensor,
    autocast: torch.dtype | None,
) -> None:
    """Train on the resident batches in turn until the recorder wants no more.

    `images` has the shape (batches, samples, channels, height, width) and `labels` the shape
    (batches, samples). `autocast` is the data type of the autocast under which the forward pass
    runs; None for no autocast. With fp16 the loss is scaled, or small gradients would be zero. The
    scaler leaves out the update of a step whose gradients are not finite.
    """
    device_type = torch.device(job.device).type
    scaler = torch.amp.GradScaler(device_type, enabled=autocast is torch.float16)
    batch = 0
    while recorder.more():
        resident = batch % len(images)
        recorder.start()
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(device_type, autocast, enabled=autocast is not None):
            loss = nn.functional.cross_entropy(model(images[resident]), labels[resident])
        scaler.scale(loss).backward()
        # A fused optimiser divides by the scale itself, and nothing waits for the device.
        scaler.step(optimiser)
        scaler.update()
        # Detached, so that the recorder does not keep the graph; not read, which would wait for
        # the device.
        recorder.end(items=job.batch_size, loss=loss.detach())
        batch += 1
