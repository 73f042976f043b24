"""ResNet-50 training on synthetic images, timm's model.

`baseline` is TF32 and eager. `tuned` is bf16 autocast, channels_last, compiled, with a fused
optimiser.
"""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from reference.torchvision_shim import import_timm
from rules.contract import Built, Job, Recorder
from rules.workloads import workloads

CLASSES = 1000
RESIDENT_BATCHES = 4
LEARNING_RATE = (
    0.1  # kept small for the batch sizes in use: the loss must fall, accuracy is not measured
)
MOMENTUM = 0.9
WEIGHT_DECAY = 5e-5


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
    data_type = torch.bfloat16 if tuned else torch.float32
    layout = torch.channels_last if tuned else torch.contiguous_format

    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(job.seed)  # the same weights on every rank
    network = import_timm().create_model(workload.model, num_classes=CLASSES)
    parameters = sum(p.numel() for p in network.parameters())
    network = network.to(device, memory_format=layout).train()
    optimiser = torch.optim.SGD(
        network.parameters(),
        LEARNING_RATE,
        MOMENTUM,
        weight_decay=WEIGHT_DECAY,
        fused=tuned and on_gpu,
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
    shape = (RESIDENT_BATCHES, job.batch_size, *size.input_shape)
    images = [
        torch.randn(shape[1:], generator=random, device=device).to(data_type, memory_format=layout)
        for _ in range(RESIDENT_BATCHES)
    ]
    labels = torch.randint(CLASSES, shape[:2], generator=random, device=device)

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
            "optimizer": "SGD, momentum 0.9",
            "learning_rate": LEARNING_RATE,
            "weight_decay": WEIGHT_DECAY,
            "memory_format": "channels_last" if tuned else "contiguous",
            "autocast": "bf16" if tuned else None,
            "compiled": tuned and on_gpu,
            "resident_batches": RESIDENT_BATCHES,
        },
    )
