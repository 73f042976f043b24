"""timm's models as an implementation of studies, on a CPU."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from support.lazy_module import LazyModule

from rules.studies.accuracy import ModelAccuracy, read_shipped_table
from rules.studies.models import CURATED
from rules.study_contract import BatchRefused, ModelFacts, ModelJob, ModelRefused

pytestmark = pytest.mark.xdist_group("torch")  # one test process imports it
torch, image_inference = LazyModule("torch"), LazyModule("reference.image_inference")

JOB = ModelJob("test_resnet", 32, "eager", "fp32", 1, "cpu", "BOARD", True, False)


def alter(**fields: Any) -> ModelJob:
    return ModelJob(**{**vars(JOB), **fields})


def find_row(architecture: str, size: int) -> ModelAccuracy:
    """Return the row of the shipped table."""
    row = read_shipped_table().find(architecture, size)
    assert row is not None
    return row


def run(model: image_inference.ImageModel, batches: int, parts: int) -> int:
    """Run the model and return how many times it called `mark`."""
    marks: list[None] = []
    model.run(batches, parts, lambda: marks.append(None))
    return len(marks)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Compute on one thread: for small tensors, several take longer."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("architecture", "precision"), [("test_resnet", "fp32"), ("test_resnet", "bf16")]
)
def test_a_model_runs_the_batches_in_the_declared_precision(
    architecture: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = []
    model = image_inference.open_model(alter(architecture=architecture, precision=precision))
    forward = model._network.forward

    def record(images: torch.Tensor) -> torch.Tensor:
        output = forward(images)
        shapes.append((*images.shape, images.dtype, output.dtype, torch.is_inference(output)))
        return output

    monkeypatch.setattr(model._network, "forward", record)
    model.prepare(2)
    shapes.clear()
    assert run(model, batches=3, parts=2) == 3
    data_type = image_inference.DATA_TYPES[precision]
    assert shapes == [(2, 3, 32, 32, data_type, data_type, True)] * 6
    model.prepare(1)
    assert run(model, batches=1, parts=1) == 2
    assert model.peak_bytes() == 0
    model.close()


def test_weights_follow_from_the_seed() -> None:
    first, second, other = (
        next(image_inference.open_model(alter(seed=seed))._network.parameters())
        for seed in (5, 5, 6)
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_each_batch_size_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dynamo would fall back to eager mode after eight shapes."""
    compiled = []

    def record(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        compiled.append(max(tensor.shape[0] for tensor in inputs if tensor.dim() == 4))
        return graph.forward

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=record))
    model = image_inference.ImageModel(
        alter(engine="compile"), torch.nn.ReLU(), ModelFacts(1, 1, 1)
    )
    for batch in range(1, 11):
        model.prepare(batch)
    model.close()
    assert compiled == list(range(1, 11))


@pytest.mark.parametrize(("autograd", "requires_grad"), [(False, False), (True, True)])
def test_autograd_records_only_if_the_job_asks_for_it(autograd: bool, requires_grad: bool) -> None:
    outputs = []
    model = image_inference.open_model(alter(autograd=autograd))
    model._network.register_forward_hook(lambda *call: outputs.append(call[-1].requires_grad))
    model.prepare(1)
    run(model, batches=1, parts=1)
    assert set(outputs) == {requires_grad}


@pytest.mark.parametrize(
    ("precision", "in_products", "in_convolutions"),
    [("fp32", False, False), ("tf32", True, True), ("tf32-conv", False, True)],
)
def test_tf32_is_where_the_precision_says(
    precision: str, in_products: bool, in_convolutions: bool
) -> None:
    matmul, cudnn = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    try:
        image_inference.set_precision(precision)
        assert torch.backends.cuda.matmul.allow_tf32 is in_products
        assert torch.backends.cudnn.allow_tf32 is in_convolutions
    finally:
        torch.backends.cuda.matmul.allow_tf32 = matmul
        torch.backends.cudnn.allow_tf32 = cudnn


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"architecture": "no_such_model"}, "no_such_model"),
        ({"architecture": "test_vit", "size": 33}, "33"),
        ({"engine": "cudagraph"}, "engine cudagraph: needs a GPU, and the device is cpu"),
        ({"engine": "tensorrt"}, "engine tensorrt: needs a GPU, and the device is cpu"),
        ({"precision": "tf32"}, "precision tf32: cpu has no TF32"),
        ({"precision": "tf32-conv"}, "precision tf32-conv: cpu has no TF32"),
    ],
)
def test_a_job_that_cannot_run_is_refused_with_the_reason(
    fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ModelRefused) as refusal:
        image_inference.open_model(alter(**fields))
    assert reason in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_model_of_fixed_size_takes_another_one() -> None:
    facts, larger = (
        image_inference.count_facts("deit_tiny_patch16_224", size) for size in (224, 384)
    )
    assert 2.9 < larger.flops / facts.flops < 4.5
    assert larger.params > facts.params  # positions


def test_a_model_whose_constructor_computes_with_tensors_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = image_inference.count_facts("test_resnet", 96)
    make_network = image_inference.make_network

    def refuse_meta(architecture: str, size: int, device: torch.device) -> torch.nn.Module:
        if device.type == "meta":
            raise ModelRefused("no Meta kernel registered")
        return make_network(architecture, size, device)

    monkeypatch.setattr(image_inference, "make_network", refuse_meta)
    image_inference.count_facts.cache_clear()
    assert image_inference.count_facts("test_resnet", 96) == expected


@pytest.mark.parametrize(
    ("architecture", "size"),
    # Models below 1 GMAC have too few digits in the table, and larger ones take longer. A module
    # of pit_s_224 receives a parameter.
    [
        *(k for k in CURATED if find_row(*k).flops >= 2e9 and find_row(*k).params <= 25e6),
        ("pit_s_224", 224),
    ],
)
def test_counts_agree_with_those_of_timm(architecture: str, size: int) -> None:
    facts, row = image_inference.count_facts(architecture, size), find_row(architecture, size)
    assert facts.flops == pytest.approx(row.flops, rel=0.02)
    assert facts.activations == pytest.approx(row.activations, rel=0.01)
    assert facts.params == pytest.approx(row.params, rel=0.001)


def test_model_has_the_classes_of_the_published_accuracy() -> None:
    # timm builds this model with 21 841 classes by default, and 33.2 million parameters.
    assert image_inference.count_facts("tiny_vit_21m_224", 224).params / 1e6 == pytest.approx(
        21.2, rel=0.01
    )


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (MemoryError(), "out-of-memory"),
        (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"), "out-of-memory"),
        (
            RuntimeError(
                "Expected canUse32BitIndexMath(input) && canUse32BitIndexMath(output) to be true"
            ),
            "shape",
        ),
        (RuntimeError("CUDA error: invalid configuration argument\nCUDA kernel errors"), "launch"),
        (RuntimeError("expected scalar type BFloat16 but found Float"), "failed"),
    ],
)
def test_errors_of_a_batch_size_have_their_outcome(error: Exception, outcome: str) -> None:
    assert image_inference.find_outcome(error) == outcome
    assert image_inference.get_first_line(error) == (str(error).split("\n")[0] or "MemoryError")


def test_error_of_torch_on_memory_has_its_outcome() -> None:
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    assert image_inference.find_outcome(error) == "out-of-memory"


def test_a_failed_capture_is_no_refusal_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The allocator of the process is unusable after it, so the worker must end."""

    def fail(images: torch.Tensor) -> None:
        raise image_inference.CaptureError("the capture failed")

    model = image_inference.open_model(JOB)
    monkeypatch.setattr(model._network, "forward", fail)
    with pytest.raises(image_inference.CaptureError):
        model.prepare(1)


def test_an_error_after_which_the_gpu_is_unusable_is_no_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = image_inference.open_model(JOB)
    model.prepare(1)
    monkeypatch.setattr(model, "_run_batch", lambda: torch.zeros(1).view(2))
    monkeypatch.setattr(model, "_on_gpu", True)
    monkeypatch.setattr(torch.cuda, "Event", SimpleNamespace)
    monkeypatch.setattr(image_inference, "is_gpu_usable", lambda: False)
    with pytest.raises(RuntimeError, match="invalid for input of size 1"):
        run(model, batches=1, parts=1)


def test_the_host_runs_ahead_by_a_bounded_number_of_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a device that has finished a batch only when the host waits for it."""
    launched, finished, ahead = 0, 0, []

    class Event:
        recorded = 0

        def __init__(self, blocking: bool) -> None:
            pass

        def record(self) -> None:
            self.recorded = launched

        def synchronize(self) -> None:
            nonlocal finished
            finished = max(finished, self.recorded)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    queue = image_inference.LaunchQueue(on_gpu=True)
    for launched in range(1, 1000):
        queue.add_batch()
        ahead.append(launched - finished)
    # The device never waits for the host either.
    assert max(ahead) < 80
    assert min(ahead[100:]) >= 48


@pytest.mark.parametrize("step", ["prepare", "run"])
def test_a_refused_batch_frees_its_memory_and_the_next_one_runs(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tensors = image_inference.open_model(JOB), []
    model.prepare(1)

    def fail(images: torch.Tensor) -> None:
        activations = torch.zeros(1 << 20)
        tensors.extend(map(weakref.ref, (images, activations)))
        raise torch.OutOfMemoryError("CUDA out of memory.\nand a long explanation")

    forward: Callable[..., Any] = model._network.forward
    if step == "run":
        model.prepare(2)
    monkeypatch.setattr(model._network, "forward", fail)
    gc.disable()
    try:
        with pytest.raises(BatchRefused) as refusal:
            model.prepare(2) if step == "prepare" else run(model, 1, 1)
        assert [tensor() for tensor in tensors] == [None, None]
    finally:
        gc.enable()
    assert (refusal.value.outcome, str(refusal.value)) == ("out-of-memory", "CUDA out of memory.")
    monkeypatch.setattr(model._network, "forward", forward)
    model.prepare(1)
    assert run(model, batches=1, parts=1) == 2
