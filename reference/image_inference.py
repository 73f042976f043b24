"""Inference of timm's image models on synthetic images: one model at one input size, with one
engine, in one precision.

- Weights follow from the seed. Nothing is downloaded.
- fp16 and bf16: weights and images are cast once. Autocast would cast the weights in every batch.
- fp32 has no TF32 anywhere, `tf32` has it in convolutions and matrix products, and `tf32-conv` only
  in convolutions, as PyTorch does by default.
- `cudagraph` captures one batch after a warm-up and replays it.
- `compile` is torch.compile in its default mode, captured in the same way. The mode
  `reduce-overhead` would copy the images in every batch and keep a memory pool for each batch size;
  the modes `max-autotune` search for minutes at each batch size.
- cuDNN chooses its algorithms without measurements: with `benchmark` on, models with depth-wise
  convolutions search for minutes.
"""

import gc
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from reference.torchvision_shim import import_timm
from rules.study_contract import BatchRefused, ModelFacts, ModelJob, ModelRefused

timm = import_timm()

DATA_TYPES = {
    "fp32": torch.float32,
    "tf32": torch.float32,
    "tf32-conv": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}
TF32_CAPABILITY = (8, 0)
"""The lowest compute capability of NVIDIA GPUs with TF32."""
WARMUP_BATCHES = 3
"""PyTorch's documentation on CUDA graphs runs three batches before a capture."""
GROUP_BATCHES, GROUPS_IN_FLIGHT = 16, 4
"""The host launches at most this many batches, in this many groups, before the device has finished
them."""
OUTCOME_TEXTS = {
    "out-of-memory": ("out of memory", "ALLOC_FAILED", "can't allocate memory"),
    "shape": (
        "canUse32BitIndexMath",
        "INT_MAX",
        "int32_t max",
        "without overflow",
        "unable to find an engine to execute this computation",
    ),
    "launch": ("invalid configuration",),
}
"""Texts in the errors of PyTorch, CUDA, cuBLAS and cuDNN, by the outcome of the batch size."""


def open_model(job: ModelJob) -> "ImageModel":
    """Build the model of the job on `job.device`. Raises ModelRefused."""
    device = torch.device(job.device)
    check_support(job, device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    set_precision(job.precision)
    facts = count_facts(job.architecture, job.size)
    torch.manual_seed(job.seed)
    try:
        network = make_network(job.architecture, job.size, device)
        network.to(device, DATA_TYPES[job.precision])
        if job.channels_last:
            network.to(memory_format=torch.channels_last)
    except torch.OutOfMemoryError as error:
        raise ModelRefused(f"the weights do not fit: {get_first_line(error)}") from None
    return ImageModel(job, network, facts)


def check_support(job: ModelJob, device: torch.device) -> None:
    """Raise ModelRefused for an engine or a precision that the device does not have."""
    if device.type != "cuda" and job.engine not in ("eager", "compile"):
        raise ModelRefused(f"engine {job.engine}: needs a GPU, and the device is {device}")
    if job.engine == "tensorrt":
        import_tensorrt()
    if job.precision in ("tf32", "tf32-conv") and (
        device.type != "cuda"
        or torch.version.hip is not None
        or torch.cuda.get_device_capability(device) < TF32_CAPABILITY
    ):
        raise ModelRefused(f"precision {job.precision}: {device} has no TF32")


def set_precision(precision: str) -> None:
    """Allow or forbid TF32 in this process."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision in ("tf32", "tf32-conv")
    torch.backends.cudnn.benchmark = False


def make_network(architecture: str, size: int, device: torch.device) -> nn.Module:
    """Build timm's model for square images of `size` pixels, in inference mode. Raises
    ModelRefused."""
    try:
        config = timm.models.get_pretrained_cfg(architecture)
        # timm has no configuration of an unknown model, which it refuses below.
        is_resized = config and config.fixed_input_size and config.input_size[-1] != size
        # On the device itself: a CPU takes many seconds to initialise large models.
        with device:
            network: nn.Module = timm.create_model(
                architecture,
                pretrained=False,
                # Those of ImageNet. The default of four architectures is another number.
                num_classes=1000,
                **({"img_size": size} if is_resized else {}),
            )
    except torch.OutOfMemoryError:
        raise
    # Constructors raise errors of many types for a size that they do not take.
    except Exception as error:
        raise ModelRefused(f"{type(error).__name__}: {get_first_line(error)}") from None
    return network.eval()


@cache
def count_facts(architecture: str, size: int) -> ModelFacts:
    """Count operations, parameters and activations of the model for one image, on the device
    `meta`, which computes nothing. Raises ModelRefused if the model does not take the size."""
    meta = torch.device("meta")
    try:
        network = make_network(architecture, size, meta)
    # The constructor of RegNet in timm 1.0.29 computes with tensors, which `meta` cannot.
    except ModelRefused:
        network = make_network(architecture, size, torch.device("cpu"))
    # FlopCounterMode fails if a module receives a parameter that requires gradients.
    network = network.to(meta).requires_grad_(False)
    flop_counter, activation_counter = FlopCounterMode(display=False), ActivationCounter()
    try:
        with torch.no_grad(), flop_counter, activation_counter:
            network(torch.empty((1, 3, size, size), device=meta))
    # The forward pass too raises errors of many types for a size that it does not take.
    except Exception as error:
        raise ModelRefused(f"{type(error).__name__}: {get_first_line(error)}") from None
    return ModelFacts(
        flops=flop_counter.get_total_flops(),
        params=sum(parameter.numel() for parameter in network.parameters()),
        activations=activation_counter.elements,
    )


class ActivationCounter(TorchDispatchMode):
    """Counts the elements in the outputs of the operators whose operations FlopCounterMode counts:
    convolutions and matrix products."""

    elements = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # the signature of torch
        output = func(*args, **(kwargs or {}))
        if func._overloadpacket in flop_registry:
            # Attention returns its output and statistics for the backward pass.
            self.elements += (output[0] if isinstance(output, tuple) else output).numel()
        return output


class CaptureError(Exception):
    """The capture of a CUDA graph failed. It leaves the memory allocator of PyTorch before 2.13
    unusable in this process (pytorch#180395, pytorch#190348)."""


class ImageModel:
    """A model on a device (see `rules.study_contract.OpenModel`)."""

    def __init__(self, job: ModelJob, network: nn.Module, facts: ModelFacts) -> None:
        self.facts = facts
        self._job, self._network = job, network
        self._on_gpu = torch.device(job.device).type == "cuda"
        self._run_batch: Callable[[], object] | None = None

    def prepare(self, batch: int) -> None:
        """Allocate images, compile or capture, and run at least three batches. Raises
        BatchRefused."""
        self._free_batch()
        if self._on_gpu:
            torch.cuda.reset_peak_memory_stats()
        self._translate_errors(lambda: self._prepare(batch))

    def run(self, batches: int, parts: int, mark: Callable[[], None]) -> None:
        """Run `parts` times `batches` batches. Raises BatchRefused."""
        self._translate_errors(lambda: self._run(batches, parts, mark))

    def peak_bytes(self) -> int:
        return torch.cuda.max_memory_allocated() if self._on_gpu else 0

    def close(self) -> None:
        del self._network
        gc.collect()
        self._free_batch()

    def _translate_errors(self, action: Callable[[], None]) -> None:
        """Call `action`. Raise BatchRefused for its errors after their memory is free. An error
        after which the device is unusable is raised as it is."""
        try:
            action()
            return
        except CaptureError:
            raise
        except Exception as error:
            refusal = BatchRefused(find_outcome(error), get_first_line(error))
            if self._on_gpu and not is_gpu_usable():
                raise
        # The traceback of the error held the tensors of the batch. It has ended here.
        gc.collect()
        self._free_batch()
        raise refusal

    def _prepare(self, batch: int) -> None:
        job = self._job
        random = torch.Generator(job.device).manual_seed(job.seed + 1)
        images = torch.randn(
            (batch, 3, job.size, job.size),
            generator=random,
            device=job.device,
            dtype=DATA_TYPES[job.precision],
        )
        if job.channels_last:
            images = images.contiguous(memory_format=torch.channels_last)
        with torch.inference_mode(not job.autograd):
            forward = self._make_forward(images)
            if self._on_gpu and job.engine in ("cudagraph", "compile"):
                self._run_batch = capture(forward, images)
                self._run_batch()
            else:
                for _ in range(WARMUP_BATCHES):
                    forward(images)
                self._run_batch = lambda: forward(images)
        if self._on_gpu:
            torch.cuda.synchronize()

    def _make_forward(self, images: Tensor) -> Callable[[Tensor], object]:
        """Return the forward pass of the engine for the shape of `images`."""
        if self._job.engine == "compile":
            return torch.compile(self._network, dynamic=False)
        if self._job.engine == "tensorrt":
            engine: Callable[[Tensor], object] = import_tensorrt().compile(
                self._network,
                ir="dynamo",
                inputs=[images],
                # The layers keep the data type of the weights.
                use_explicit_typing=True,
                disable_tf32=self._job.precision == "fp32",
            )
            return engine
        return self._network

    def _run(self, batches: int, parts: int, mark: Callable[[], None]) -> None:
        assert self._run_batch is not None, "call prepare first"
        queue = LaunchQueue(self._on_gpu)
        with torch.inference_mode(not self._job.autograd):
            mark()
            for _ in range(parts):
                for _ in range(batches):
                    self._run_batch()
                    queue.add_batch()
                mark()

    def _free_batch(self) -> None:
        """Free images, graph and compiled code of the last batch size."""
        self._run_batch = None
        if self._job.engine == "compile":
            # This also lets Dynamo compile again. It falls back to eager mode after eight shapes.
            torch.compiler.reset()
        if self._on_gpu:
            torch.cuda.empty_cache()


class LaunchQueue:
    """Bounds how far the host runs ahead of the device."""

    def __init__(self, on_gpu: bool) -> None:
        self._batches = 0
        # A blocking event lets the host sleep, so that its cores draw no power.
        self._events = [
            torch.cuda.Event(blocking=True) for _ in range(GROUPS_IN_FLIGHT if on_gpu else 0)
        ]

    def add_batch(self) -> None:
        """Count a launched batch. Wait if too many batches are in flight."""
        self._batches += 1
        if self._events and self._batches % GROUP_BATCHES == 0:
            event = self._events[self._batches // GROUP_BATCHES % GROUPS_IN_FLIGHT]
            # The event marks the end of an earlier group. One that was never recorded has passed.
            event.synchronize()
            event.record()


def capture(forward: Callable[[Tensor], object], images: Tensor) -> Callable[[], object]:
    """Return a function that replays a CUDA graph of the forward pass.

    Source: PyTorch's notes on CUDA graphs, https://docs.pytorch.org/docs/stable/notes/cuda.html.
    """
    stream = make_capture_stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARMUP_BATCHES):
            forward(images)
        # Find a model that waits for the device before the capture, which would fail.
        torch.cuda.set_sync_debug_mode("error")
        try:
            forward(images)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, stream=stream):
            forward(images)
    except torch.OutOfMemoryError:
        raise  # the capture has ended in order
    except Exception as error:
        raise CaptureError(f"the capture failed: {get_first_line(error)}") from error

    def replay() -> None:
        # The graph reads the images, so they live as long as this function.
        assert images is not None
        graph.replay()

    return replay


@cache
def make_capture_stream() -> torch.cuda.Stream:
    """Return the stream of all captures. cuBLAS keeps a workspace for each stream."""
    return torch.cuda.Stream()


def import_tensorrt() -> Any:
    """Return the module torch_tensorrt. Raises ModelRefused if it is not installed."""
    try:
        import torch_tensorrt
    except ImportError as error:
        raise ModelRefused(f"engine tensorrt: torch_tensorrt is not installed ({error})") from None
    return torch_tensorrt


def find_outcome(error: Exception) -> str:
    """Return the outcome of a batch size that ended with this error."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return "out-of-memory"
    for outcome, texts in OUTCOME_TEXTS.items():
        if any(text in str(error) for text in texts):
            return outcome
    return "failed"


def is_gpu_usable() -> bool:
    """Return whether the GPU still works in this process. An illegal access ends that."""
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


def get_first_line(error: Exception) -> str:
    """Return the first line of the error's text, or the name of its type. PyTorch adds the stack of
    its C++ code."""
    return str(error).strip().split("\n", maxsplit=1)[0] or type(error).__name__
