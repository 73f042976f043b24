"""The numbers of the workload definitions against the models that the reference implementations
build.

FLOPs are counted by torch's FlopCounterMode on the meta device (a multiply-add is two), forward and
backward.
"""

import math

import pytest
from support.lazy_module import LazyModule

from rules.contract import Job
from rules.workloads import Workload, workloads

torch, flop_counter = LazyModule("torch"), LazyModule("torch.utils.flop_counter")
torchvision_shim = LazyModule("reference.torchvision_shim")
vitl16_train = LazyModule("reference.vitl16_train")
xception_transfer = LazyModule("reference.xception_transfer")

BATCH = 2
CASES = [
    ("resnet50-train", "full", {}),
    ("resnet50-train", "smoke", {}),
    ("vitl16-train", "full", {"img_size": 224}),
    ("vitl16-train", "smoke", {"img_size": 64}),
]


@pytest.mark.xdist_group("torch")  # one test process imports it
@pytest.mark.parametrize(
    ("workload", "size", "options"),
    CASES,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parameters_and_flops_are_those_of_the_model(
    workload: str, size: str, options: dict[str, int]
) -> None:
    defined = workloads()[workload]
    expected = defined.size(size)
    if (workload, size) == ("vitl16-train", "smoke"):
        options = options | vitl16_train.SMOKE_MODEL
    with torch.device("meta"):
        model = (
            torchvision_shim.import_timm()
            .create_model(defined.model, num_classes=1000, **options)
            .train()
        )
        images = torch.randn(BATCH, *expected.input_shape)
        labels = torch.zeros(BATCH, dtype=torch.long)
    assert sum(p.numel() for p in model.parameters()) == expected.parameters
    with flop_counter.FlopCounterMode(display=False) as counter:
        torch.nn.functional.cross_entropy(model(images), labels).backward()
    assert counter.get_total_flops() / BATCH == pytest.approx(expected.flops_per_item, rel=0.01)


@pytest.mark.xdist_group("torch")
@pytest.mark.parametrize("size", ["full", "smoke"])
def test_parameters_and_flops_are_those_of_the_transfer(size: str) -> None:
    """Backward counts twice as much as forward: the counter of torch takes depthwise convolutions
    for whole ones there."""
    defined = workloads()["xception-transfer"]
    expected = defined.size(size)
    job = Job(defined.id, "baseline", size, BATCH, 1, "meta")
    with torch.device("meta"):
        backbone = xception_transfer.make_backbone(defined.model, job)
        model = xception_transfer.add_head(
            *backbone, xception_transfer.DIFFICULTIES[size].target_classes, job
        )
        images = torch.randn(BATCH, *expected.input_shape)
    assert sum(p.numel() for p in model.parameters()) == expected.parameters
    with flop_counter.FlopCounterMode(display=False) as counter:
        model(images)
    assert 3 * counter.get_total_flops() / BATCH == pytest.approx(expected.flops_per_item, rel=0.01)


@pytest.mark.parametrize("workload", workloads().values(), ids=lambda w: w.id)
def test_definition_is_consistent(workload: Workload) -> None:
    # Further variants may be for the open division.
    closed = workload.variants if workload.is_control else ("baseline", "tuned")
    assert {workload.variants[name] for name in closed} <= set(workload.precisions)
    assert set(workload.open_variants) <= set(workload.variants)
    assert not set(workload.open_variants) & set(workload.fixed)
    precisions = [workload.variants[variant] for variant in workload.precision_variants]
    assert len(set(precisions)) == len(precisions)
    for (variant, name), size in workload.variant_sizes.items():
        assert variant in workload.open_variants and workload.size(name, variant) is size
        assert set(size.batch_sizes) == {variant}
        assert size.parameters == workload.size(name).parameters
    for size in filter(None, (workload.full, workload.smoke, *workload.variant_sizes.values())):
        if (workload.item, workload.mode) == ("token", "training"):
            assert size.items_per_sample == size.input_shape[0]
        # The last evaluation is behind the last step.
        assert size.target is None or size.target.max_steps % size.target.steps_between == 0
    for size in filter(None, (workload.full, workload.smoke)):
        apart = {v for v, n in workload.variant_sizes if workload.size(n) is size}
        assert set(size.batch_sizes) == set(workload.variants) - apart
        assert max(size.batch_sizes.values()) <= size.max_batch_size
        assert size.parameters > 1 and size.flops_per_item > size.parameters
        assert math.prod(size.input_shape) > 0
        assert (size.items_per_sample == 1) == (workload.item in ("image", "TFLOP", "training"))
