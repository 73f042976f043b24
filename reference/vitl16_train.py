"""ViT-L/16 training on synthetic images, timm's model.

`baseline` is TF32 and eager. `tuned` is bf16 autocast, compiled, with a fused optimiser; its
residual stream is bf16 too (under autocast alone it would be fp32, because the position embedding
that opens it is).
"""

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from reference.torchvision_shim import import_timm
from rules.contract import Built, Job, Recorder
from rules.workloads import workloads

CLASSES = 1000
RESIDENT_BATCHES = 4
LEARNING_RATE = 1e-4
WEIGHT_DECAY = 0.05
SMOKE_MODEL = {"depth": 2, "embed_dim": 192, "num_heads": 3}


class ToBf16(nn.Module):
    """Stands where timm's model has an optional norm between the embedding and the blocks."""

    def forward(self, embedded: Tensor) -> Tensor:
        return embedded.to(torch.bfloat16)


def build(job: Job) -> Built:
    """Build model, optimiser and resident data on `job.device`. Raises torch.OutOfMemoryError where
    they do not fit, and ValueError for what it does not take.
    """
    if job.options or job.weights or job.corpus:
        raise ValueError(f"{job.workload} takes no --option, --weights or --corpus: leave them out")
    workload = workloads()[job.workload]
    size = workload.size(job.size)
    device = torch.device(job.device)
    on_gpu = device.type == "cuda"
    tuned = job.variant == "tuned"

    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    torch.manual_seed(job.seed)  # the same weights on every rank
    shrunk = SMOKE_MODEL if job.size == "smoke" else {}
    network = import_timm().create_model(
        workload.model, num_classes=CLASSES, img_size=size.input_shape[-1], **shrunk
    )
    parameters = sum(p.numel() for p in network.parameters())
    network = network.to(device).train()
    if tuned:
        network.norm_pre = ToBf16()
    optimiser = torch.optim.AdamW(
        network.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY, fused=tuned and on_gpu
    )
    model: nn.Module = network
    if job.world_size > 1:
        model = DistributedDataParallel(
            network, device_ids=[device] if on_gpu else None, gradient_as_bucket_view=True
        )
    if tuned and on_gpu:
        model = torch.compile(model)

    random = torch.Generator(device).manual_seed(
        job.seed + 1 + job.rank
    )  # other images on every rank
    images = torch.randn(
        RESIDENT_BATCHES, job.batch_size, *size.input_shape, generator=random, device=device
    )
    if tuned:
        images = images.to(torch.bfloat16)
    labels = torch.randint(CLASSES, images.shape[:2], generator=random, device=device)

    def run(recorder: Recorder) -> None:
        batch = 0
        while recorder.more():
            recorder.start()
            optimiser.zero_grad(set_to_none=True)
            with torch.autocast(device.type, torch.bfloat16, enabled=tuned):
                loss = nn.functional.cross_entropy(
                    model(images[batch % RESIDENT_BATCHES]), labels[batch % RESIDENT_BATCHES]
                )
            loss.backward()
            optimiser.step()
            recorder.end(items=job.batch_size, loss=loss.detach())
            batch += 1

    return Built(
        run=run,
        precision=workload.variants[job.variant] if on_gpu or tuned else "fp32",
        parameters=parameters,
        input_shape=size.input_shape,
        settings={
            "optimizer": "AdamW",
            "learning_rate": LEARNING_RATE,
            "weight_decay": WEIGHT_DECAY,
            "autocast": "bf16" if tuned else None,
            "residual_stream": "bf16" if tuned else "fp32",
            "compiled": tuned and on_gpu,
            "resident_batches": RESIDENT_BATCHES,
        },
    )
