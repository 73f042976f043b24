"""Transfer learning to a stated accuracy: an Xception that knows some classes of textures learns
others.

A batch of the recorder is a whole training: from the pre-trained weights and a new head to the
first evaluation that reaches the target, with a seed of its own. Energy and time per item are
those to the target, and the epochs show how they vary between seeds. Koszczał et al. (Performance
and energy aware training of a deep neural network in a multi-GPU environment with power capping,
Euro-Par 2023 workshops) measured transfer learning of Xception under caps.

A class is a sum of waves with colours of its own. A sample has random phases and much noise, so
that a few steps do not suffice. Samples are made on the device, in each step anew. The smoke size
has a small network of the same blocks. With several ranks, each trains models of its own.
"""

import itertools
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from reference.torchvision_shim import import_timm
from reference.training import Settings, count_parameters, hash_first_samples
from rules.contract import Built, Job, Recorder, Training
from rules.workloads import Size, Target, workloads

SOURCE_CLASSES = 20
WAVES = 3
"""Waves of a class."""
MAX_FREQUENCY = 6
"""Most periods of a wave across an image, in each direction."""
PRETRAINING_STEPS = 100
PRETRAINING_RATE = 0.03
MOMENTUM = 0.9
SMALL_WIDTH = 16


@dataclass(frozen=True)
class Difficulty:
    """What decides how many steps a training takes."""

    target_classes: int
    noise: float
    """Standard deviation. A wave has an amplitude of about 1."""
    learning_rate: float


# A training of the full size takes 110 to 130 steps on an H200, and evaluations a quarter of its
# time. With ten classes or ten times the rate it ends at one of the first evaluations.
DIFFICULTIES = {"full": Difficulty(100, 3.0, 0.002), "smoke": Difficulty(10, 0.8, 0.02)}


@dataclass(frozen=True)
class Textures:
    """The classes of a task."""

    frequencies: Tensor
    """Periods across an image, shape (classes, WAVES, 2)."""
    colours: Tensor
    """Shape (classes, WAVES, 3)."""
    side: int
    """Of an image, in pixels."""
    noise: float
    """Standard deviation."""

    def draw(self, labels: Tensor, random: torch.Generator) -> Tensor:
        """Make an image of each label, shape (labels, 3, side, side)."""
        place = torch.arange(self.side, device=labels.device) / self.side
        periods = self.frequencies[labels].unsqueeze(-1) * place
        phases = torch.rand((len(labels), WAVES, 1, 1), generator=random, device=labels.device)
        angles = periods[:, :, 0, :, None] + periods[:, :, 1, None, :] + phases
        waves = torch.cos(2 * torch.pi * angles)
        images = torch.einsum("nwc,nwyx->ncyx", self.colours[labels], waves)
        noise = torch.randn(images.shape, generator=random, device=labels.device)
        return images + self.noise * noise


@dataclass(frozen=True)
class Task:
    """What a network is trained for: classes, and samples that no step sees."""

    textures: Textures
    images: tuple[Tensor, ...]
    """The held-out samples in batches."""
    labels: tuple[Tensor, ...]


def build(job: Job) -> Built:
    """Pre-train the network on the source classes on `job.device`.

    Raises torch.OutOfMemoryError if it does not fit, and ValueError for inputs that the workload
    does not take.
    """
    workload = workloads()[job.workload]
    workload.check_inputs(job.options, job.corpus, job.weights)
    size = workload.size(job.size)
    on_gpu = torch.device(job.device).type == "cuda"
    torch.set_float32_matmul_precision("high")  # TF32 in matrix products
    torch.backends.cudnn.allow_tf32 = True  # and in convolutions
    torch.backends.cudnn.benchmark = True
    if job.size == "smoke" and not on_gpu:
        # Layers this small take less time than threads need to wait for each other.
        torch.set_num_threads(1)
    torch.manual_seed(job.seed)
    random = torch.Generator(job.device).manual_seed(job.seed)
    target_classes = DIFFICULTIES[job.size].target_classes
    source = make_task(SOURCE_CLASSES, size, job, random)
    target = make_task(target_classes, size, job, random)
    backbone, features = make_backbone(workload.model, job)
    accuracy = pretrain(backbone, features, source, job, random)
    network = add_head(backbone, features, target_classes, job)
    pretrained = {name: value.clone() for name, value in network.state_dict().items()}
    return Built(
        run=partial(run, job=job, network=network, pretrained=pretrained, task=target, size=size),
        precision="bf16" if job.variant == "tuned" else "tf32" if on_gpu else "fp32",
        parameters=count_parameters(network),
        input_shape=size.input_shape,
        settings=describe_settings(job, size, accuracy),
        inputs_sha256=hash_first_samples(target.images),
    )


def run(
    recorder: Recorder,
    job: Job,
    network: nn.Sequential,
    pretrained: dict[str, Tensor],
    task: Task,
    size: Size,
) -> None:
    """Train until the recorder wants no more trainings. Raises ValueError if one does not reach
    the target."""
    assert size.target is not None
    for number in itertools.count():
        if not recorder.more():
            return
        seed = job.make_training_seed(number)
        recorder.start()
        network.load_state_dict(pretrained)
        torch.manual_seed(seed)
        network[-1].reset_parameters()
        training, loss = train_to_target(network, task, seed, size.target, job)
        recorder.end(1, loss, training)


def train_to_target(
    network: nn.Module, task: Task, seed: int, target: Target, job: Job
) -> tuple[Training, Tensor]:
    """Train until an evaluation reaches the target. Returns the training and its last loss."""
    random = torch.Generator(job.device).manual_seed(seed)
    optimiser = make_optimiser(network, DIFFICULTIES[job.size].learning_rate, job)
    accuracy = 0.0
    for step in range(1, target.max_steps + 1):
        loss = take_step(network, optimiser, task.textures, job, random)
        # Reading the accuracy waits for the device. The wait is a part of the work.
        if step % target.steps_between == 0:
            accuracy = measure_accuracy(network, task, job)
            if accuracy >= target.accuracy:
                return Training(seed, step, accuracy), loss
    raise ValueError(
        f"the training with seed {seed} has an accuracy of {accuracy:.3f} after "
        f"{target.max_steps} steps, below the target of {target.accuracy:g}; use another --seed "
        "or --batch"
    )


def take_step(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    textures: Textures,
    job: Job,
    random: torch.Generator,
) -> Tensor:
    """Train on a new batch. Returns the loss, a scalar on the device."""
    network.train()
    labels = torch.randint(
        len(textures.colours), (job.batch_size,), generator=random, device=job.device
    )
    optimiser.zero_grad(set_to_none=True)
    # As the held-out images, these are drawn in fp32.
    images = textures.draw(labels, random).to(memory_format=choose_layout(job))
    with make_autocast(job):
        loss = nn.functional.cross_entropy(network(images), labels)
    loss.backward()
    optimiser.step()
    return loss.detach()


@torch.no_grad()
def measure_accuracy(network: nn.Module, task: Task, job: Job) -> float:
    """Return the share of the held-out samples that the network classifies correctly."""
    network.eval()
    with make_autocast(job):
        correct = [
            (network(images).argmax(1) == labels).float().sum()
            for images, labels in zip(task.images, task.labels, strict=True)
        ]
    return float(sum(correct)) / sum(map(len, task.labels))


def pretrain(
    backbone: nn.Module, features: int, task: Task, job: Job, random: torch.Generator
) -> float:
    """Train the backbone on the source classes. Returns the accuracy. All ranks have the weights
    of rank 0 afterwards."""
    network = add_head(backbone, features, SOURCE_CLASSES, job)
    optimiser = make_optimiser(network, PRETRAINING_RATE, job)
    for _ in range(PRETRAINING_STEPS):
        take_step(network, optimiser, task.textures, job, random)
    accuracy = torch.tensor(measure_accuracy(network, task, job), device=job.device)
    if job.world_size > 1:
        for tensor in (*backbone.state_dict().values(), accuracy):
            torch.distributed.broadcast(tensor, 0)
    return round(float(accuracy), 4)


def make_task(classes: int, size: Size, job: Job, random: torch.Generator) -> Task:
    """Make classes and held-out samples on `job.device`."""
    assert size.target is not None
    device = job.device
    textures = Textures(
        torch.randint(
            -MAX_FREQUENCY,
            MAX_FREQUENCY + 1,
            (classes, WAVES, 2),
            generator=random,
            device=device,
        ).float(),
        torch.randn((classes, WAVES, 3), generator=random, device=device),
        size.input_shape[-1],
        DIFFICULTIES[job.size].noise,
    )
    labels = (torch.arange(size.target.held_out, device=device) % classes).split(job.batch_size)
    images = tuple(textures.draw(part, random) for part in labels)
    return Task(textures, images, tuple(labels))


def make_backbone(name: str, job: Job) -> tuple[nn.Module, int]:
    """Make the network without its head, and the number of its features: timm's model `name`, or a
    small one of its blocks in the smoke size."""
    timm = import_timm()
    if job.size == "full":
        model = timm.create_model(name, num_classes=0)
        return model, model.num_features
    from timm.models.xception import Block, SeparableConv2d

    width = SMALL_WIDTH
    layers = (
        nn.Conv2d(3, width, 3, 2, 1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        Block(width, 2 * width, 2, 2, start_with_relu=False),
        Block(2 * width, 4 * width, 2, 2),
        SeparableConv2d(4 * width, 6 * width, 3, 1, 1),
        nn.BatchNorm2d(6 * width),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )
    return nn.Sequential(*layers), 6 * width


def add_head(backbone: nn.Module, features: int, classes: int, job: Job) -> nn.Sequential:
    """Return the backbone and a new head on `job.device`."""
    network = nn.Sequential(backbone, nn.Linear(features, classes))
    return network.to(torch.device(job.device), memory_format=choose_layout(job))


def make_optimiser(network: nn.Module, rate: float, job: Job) -> torch.optim.Optimizer:
    """Make the optimiser of all layers."""
    fused = job.device.startswith("cuda")
    return torch.optim.SGD(network.parameters(), rate, MOMENTUM, fused=fused)


def make_autocast(job: Job) -> torch.autocast:
    """Return the context of the forward pass."""
    device_type = torch.device(job.device).type
    return torch.autocast(device_type, torch.bfloat16, enabled=job.variant == "tuned")


def choose_layout(job: Job) -> torch.memory_format:
    """Return the memory format of weights and images."""
    return torch.channels_last if job.variant == "tuned" else torch.contiguous_format


def describe_settings(job: Job, size: Size, pretraining_accuracy: float) -> Settings:
    """Return the settings that a bundle records."""
    assert size.target is not None
    tuned, difficulty = job.variant == "tuned", DIFFICULTIES[job.size]
    return {
        "target_accuracy": size.target.accuracy,
        "held_out": size.target.held_out,
        "steps_between_evaluations": size.target.steps_between,
        "source_classes": SOURCE_CLASSES,
        "target_classes": difficulty.target_classes,
        "noise": difficulty.noise,
        "pretraining_steps": PRETRAINING_STEPS,
        "pretraining_seed": job.seed,
        "pretraining_accuracy": pretraining_accuracy,
        "optimizer": f"SGD, momentum {MOMENTUM}",
        "learning_rate": difficulty.learning_rate,
        "memory_format": "channels_last" if tuned else "contiguous",
        "autocast": "bf16" if tuned else None,
        "compiled": False,
    }
