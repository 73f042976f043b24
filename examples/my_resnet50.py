"""A template: your own implementation of `resnet50-train`. docs/write-a-workload.md explains it."""
# Run it: PYTHONPATH=examples bench-submit run resnet50-train --implementation my_resnet50:build

from itertools import cycle

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from reference.torchvision_shim import import_timm  # also beside a CPU build of torch
from rules.contract import Built, Job, Recorder

LAYOUTS = {"channels_last": torch.channels_last, "contiguous": torch.contiguous_format}


def build(job: Job) -> Built:
    """Build the model and its inputs. Every process of the run calls it once."""
    options = {"layout": "channels_last", **job.options}
    if unknown := options.keys() - {"layout"}:
        raise ValueError(f"--option {min(unknown)}: my_resnet50 knows only layout")
    if options["layout"] not in LAYOUTS:
        raise ValueError(f"--option layout={options['layout']}: give {' or '.join(LAYOUTS)}")
    layout = LAYOUTS[options["layout"]]
    device = torch.device(job.device)
    on_gpu = device.type == "cuda"
    bf16 = job.variant == "tuned"
    input_shape = (3, 64, 64) if job.size == "smoke" else (3, 224, 224)

    torch.set_float32_matmul_precision("high")  # TF32, where it is not bf16
    torch.manual_seed(job.seed)  # the same weights in every process
    model: nn.Module = import_timm().create_model("resnet50")
    model.to(device, memory_format=layout).train()
    parameters = sum(p.numel() for p in model.parameters())
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=on_gpu)
    if job.world_size > 1:  # the process group is there already
        model = DistributedDataParallel(model, device_ids=[device] if on_gpu else None)
    if on_gpu:
        model.compile()

    torch.manual_seed(job.seed + 1 + job.rank)  # other images in every process
    shape = (job.batch_size, *input_shape)
    images = [torch.randn(shape, device=device).to(memory_format=layout) for _ in range(4)]
    labels = [torch.randint(1000, shape[:1], device=device) for _ in range(4)]

    def run(recorder: Recorder) -> None:
        batches = cycle(zip(images, labels, strict=True))
        while recorder.more():  # counts the batches, and waits for the device between epochs
            recorder.start()  # from here to end: the whole step, and no wait for the device
            image, label = next(batches)
            optimiser.zero_grad()
            with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
                loss = nn.functional.cross_entropy(model(image), label)
            loss.backward()
            optimiser.step()
            recorder.end(items=job.batch_size, loss=loss.detach())  # on the device: no .item()

    precision = "bf16" if bf16 else "tf32" if on_gpu else "fp32"
    settings = {"optimizer": "SGD, momentum 0.9", **options}
    return Built(run, precision, parameters, input_shape, settings)
