"""The variants of the image classifiers: FP8 products, the stem on blocks of pixels, and the
settings of Mayr et al."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.lazy_module import LazyModule

from rules.contract import Built, Job
from rules.workloads import PRECISION_SETTINGS, workloads

pytestmark = pytest.mark.xdist_group("torch")  # one test process imports it
torch, nn = LazyModule("torch"), LazyModule("torch.nn")
resnet50_train, vitl16_train = (
    LazyModule(f"reference.{name}") for name in ("resnet50_train", "vitl16_train")
)
fp8_linear, space_to_depth = (
    LazyModule(f"reference.{name}") for name in ("fp8_linear", "space_to_depth")
)
training = LazyModule("reference.training")

BATCH = 4
JOB = Job("vitl16-train", "tuned-fp16", "smoke", BATCH, 1, "cpu")


@dataclass
class Steps:
    """A recorder that wants `count` batches."""

    count: int
    losses: list[float] = field(default_factory=list)

    def more(self) -> bool:
        return len(self.losses) < self.count

    def start(self) -> None:
        pass

    def end(self, items: int, loss: Any) -> None:
        assert items == BATCH
        self.losses.append(float(loss))


def relative_error(values: torch.Tensor, exact: torch.Tensor) -> float:
    """Norm of the difference over the norm of the exact values."""
    exact = exact.detach()
    return float((values.detach() - exact).norm() / exact.norm())


@pytest.fixture
def pair() -> tuple[nn.Linear, fp8_linear.Fp8Linear]:
    """A linear layer in fp32, and an FP8 layer with a copy of its parameters."""
    torch.manual_seed(1)
    exact, copy = nn.Linear(96, 64), nn.Linear(96, 64)
    copy.load_state_dict(exact.state_dict())
    return exact, fp8_linear.Fp8Linear(copy)


@pytest.mark.parametrize("magnitude", [1.0, 1e4, 1e-6])
def test_fp8_products_are_those_of_a_linear_layer(
    pair: tuple[nn.Linear, fp8_linear.Fp8Linear], magnitude: float
) -> None:
    """Output and all three gradients in the second step, whatever the magnitude of the gradient.
    e4m3 has three bits after the leading one and e5m2 has two, so rounding errors are up to 1/16
    and 1/8. The gradient of the bias is a sum of rounded gradients."""
    exact, fp8 = pair
    train_step(fp8, magnitude)
    results = [train_step(layer, magnitude) for layer in (exact, fp8)]
    for (expected, result), limit in zip(
        zip(*results, strict=True), (0.05, 0.1, 0.1, 0.1), strict=True
    ):
        assert result.shape == expected.shape
        assert 0 < relative_error(result, expected) < limit
        assert result.isfinite().all()


def train_step(layer: nn.Module, magnitude: float) -> list[torch.Tensor]:
    """Output of one step, and the gradients of inputs, weight and bias. Equal for equal layers."""
    random = torch.Generator().manual_seed(2)
    # Many are beyond the largest number of e4m3.
    inputs = (1000 * torch.randn(2, 5, 96, generator=random)).requires_grad_()
    layer.zero_grad()
    outputs = layer(inputs)
    gradient = torch.randn(2, 5, 64, generator=random) * magnitude
    outputs.backward(gradient.to(outputs.dtype))
    if isinstance(layer, fp8_linear.Fp8Linear):
        fp8_linear.update_maxima(layer)
    return [outputs, inputs.grad, layer.weight.grad, layer.bias.grad]


def test_fp8_layers_have_eight_bits(pair: tuple[nn.Linear, fp8_linear.Fp8Linear]) -> None:
    """The smallest difference that e4m3 keeps is 1/8 of a power of two: inputs that differ by less
    give the same product."""
    inputs = torch.ones(1, 96)
    with torch.no_grad():
        pair[1].maxima[0] = 448.0 / fp8_linear.HEADROOM  # the scale is then 1
    nearby = inputs.clone()
    nearby[0, 1] = 1.05
    assert torch.equal(pair[1](inputs), pair[1](nearby))
    assert not torch.equal(pair[0](inputs), pair[0](nearby))


def test_fp8_scales_follow_the_step_before(
    pair: tuple[nn.Linear, fp8_linear.Fp8Linear],
) -> None:
    """The maxima of a step are those of its inputs and of the gradient of its outputs. Values that
    have grown beyond the headroom are clamped once, and the next step has their scale."""
    exact, layer = pair
    errors = []
    for growth in (1.0, 1.0, 100.0, 100.0):
        inputs = growth * torch.ones(1, 96)
        inputs[0, 5] = -3.0 * growth
        outputs = layer(inputs)
        outputs.backward(torch.full_like(outputs, -0.25))
        fp8_linear.update_maxima(layer)
        assert layer.maxima.tolist() == [3.0 * growth, 0.25]
        assert layer.maxima.grad is None
        errors.append(relative_error(outputs, exact(inputs)))
    assert max(errors[0], errors[1], errors[3]) < 0.05 < errors[2]


def test_fp8_layers_of_zeros_are_finite(pair: tuple[nn.Linear, fp8_linear.Fp8Linear]) -> None:
    layer = pair[1]
    for _ in range(2):
        outputs = layer(torch.zeros(1, 96))
        outputs.backward(torch.zeros_like(outputs))
        fp8_linear.update_maxima(layer)
        assert outputs.isfinite().all() and layer.maxima.tolist() == [0.0, 0.0]


def test_training_in_fp8_updates_the_maxima(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each linear layer of the blocks, after each step."""
    layers: list[fp8_linear.Fp8Linear] = []
    maxima: list[list[float]] = []
    update = fp8_linear.update_maxima

    def record(network: nn.Module) -> None:
        update(network)
        layers[:] = [m for m in network.modules() if isinstance(m, fp8_linear.Fp8Linear)]
        maxima.append([value for layer in layers for value in layer.maxima.tolist()])

    monkeypatch.setattr(vitl16_train, "update_maxima", record)
    built = vitl16_train.build(Job("vitl16-train", "fp8", "smoke", BATCH, 1, "cpu"))
    built.run(Steps(2))
    assert len(layers) == 8  # two blocks of qkv, projection and two of the MLP
    assert len(maxima) == 2 and maxima[0] != maxima[1]
    assert all(0 < value != fp8_linear.FIRST_MAXIMUM for values in maxima for value in values)


def take_part(rank: int, directory: str) -> None:
    """Train two steps in FP8 as one of two ranks; leave weights, losses and maxima in
    `directory`."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", f"file://{directory}/store", rank=rank, world_size=2
    )
    networks = []
    make_network = vitl16_train.make_network

    def keep_network(*arguments: Any) -> Any:
        networks.append(make_network(*arguments))
        return networks[0]

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(vitl16_train, "make_network", keep_network)
        built = vitl16_train.build(
            Job("vitl16-train", "fp8", "smoke", BATCH, 1, "cpu", rank=rank, world_size=2)
        )
    steps = Steps(2)
    built.run(steps)
    weights = torch.cat([tensor.detach().flatten() for tensor in networks[0].parameters()])
    maxima = [m.maxima.tolist() for m in networks[0].modules() if hasattr(m, "maxima")]
    torch.save((weights, steps.losses, maxima), f"{directory}/{rank}.pt")
    torch.distributed.destroy_process_group()


def test_two_ranks_in_fp8_have_one_network_and_scales_of_their_own(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(take_part, (str(tmp_path),), nprocs=2)
    (first, first_losses, first_maxima), (second, second_losses, second_maxima) = (
        torch.load(tmp_path / f"{rank}.pt") for rank in range(2)
    )
    assert torch.equal(first, second)
    assert first_losses != second_losses
    assert len(first_maxima) == 8 and first_maxima != second_maxima


def test_conversion_takes_linear_layers_and_keeps_their_parameters() -> None:
    network = nn.Sequential(nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32)), nn.Linear(32, 16))
    parameters = list(network.parameters())
    fp8_linear.convert_linear_layers(network)
    assert [type(m).__name__ for m in network.modules()][1:] == [
        "Sequential", "Fp8Linear", "LayerNorm", "Fp8Linear"
    ]  # fmt: skip
    assert all(a is b for a, b in zip(network.parameters(), parameters, strict=True))


def test_stem_on_blocks_of_pixels_is_the_stem() -> None:
    """In fp64, so that only the arrangement can differ."""
    torch.manual_seed(1)
    stem = nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False, dtype=torch.float64)
    images = torch.randn(2, 3, 20, 14, dtype=torch.float64)
    gradients = []
    outputs = [layer(images) for layer in (stem, space_to_depth.SpaceToDepthStem(stem))]
    for result in outputs:
        stem.weight.grad = None
        result.square().sum().backward()
        gradients.append(stem.weight.grad)
    torch.testing.assert_close(outputs[1], outputs[0])
    torch.testing.assert_close(gradients[1], gradients[0])
    assert outputs[1].is_contiguous(memory_format=torch.channels_last)


def build(implementation: Any, workload: str, variant: str) -> Built:
    built: Built = implementation.build(Job(workload, variant, "smoke", BATCH, 1, "cpu"))
    return built


@pytest.mark.parametrize(
    ("implementation", "workload", "variant"),
    [
        (vitl16_train, "vitl16-train", "fp8"),
        (vitl16_train, "vitl16-train", "tuned-fp16"),
        (vitl16_train, "vitl16-train", "mayr"),
        (resnet50_train, "resnet50-train", "mayr"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_loss_of_every_variant_falls(implementation: Any, workload: str, variant: str) -> None:
    """Four resident batches are repeated, so the same batch comes again after four steps."""
    steps = Steps(5)
    build(implementation, workload, variant).run(steps)
    assert steps.losses[4] < steps.losses[0]


def test_s2d_is_tuned_with_another_stem_and_tuned_kernels() -> None:
    """Weights are the same and outputs agree, here in fp32."""
    outputs = []
    for variant in ("tuned", "s2d"):
        torch.manual_seed(1)
        job = Job("resnet50-train", variant, "smoke", 2, 1, "cpu")
        network = resnet50_train.make_network("resnet50", job)
        assert isinstance(network.conv1, space_to_depth.SpaceToDepthStem) is (variant == "s2d")
        with torch.no_grad():
            outputs.append(network(torch.ones(2, 3, 64, 64).cumsum(-1) / 64))
    torch.testing.assert_close(outputs[1], outputs[0], rtol=1e-3, atol=1e-4)
    settings = [resnet50_train.describe_settings(v, on_gpu=True) for v in ("tuned", "s2d")]
    assert settings[0].items() < settings[1].items()
    assert settings[1]["kernel_tuning"] == "coordinate descent"
    assert resnet50_train.describe_settings("s2d", on_gpu=False)["kernel_tuning"] is None


@pytest.mark.parametrize(
    ("kernel_tuning", "options"), [(True, {"coordinate_descent_tuning": True}), (False, None)]
)
def test_kernel_tuning_is_an_option_of_the_compiler(
    kernel_tuning: bool, options: dict[str, bool] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(torch, "compile", lambda model, options: calls.append((model, options)))
    network, job = nn.Linear(1, 1), Job("resnet50-train", "tuned", "smoke", BATCH, 1, "cpu")
    training.wrap_network(network, job, compiled=True, kernel_tuning=kernel_tuning)
    assert calls == [(network, options)]
    assert set(options or ()) <= set(torch._inductor.list_options())


@pytest.mark.parametrize("variant", ["baseline", "tuned", "s2d", "mayr"])
def test_only_s2d_tunes_its_kernels(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, bool]] = []
    monkeypatch.setattr(
        resnet50_train, "wrap_network", lambda network, job, **options: calls.append(options)
    )
    settings = build(resnet50_train, "resnet50-train", variant).settings
    # A CPU does not compile.
    assert calls == [{"compiled": False, "kernel_tuning": variant == "s2d"}]
    assert ("kernel_tuning" in settings) is (variant == "s2d")


@pytest.mark.parametrize(
    ("implementation", "workload"),
    [(vitl16_train, "vitl16-train"), (resnet50_train, "resnet50-train")],
    ids=["vit", "resnet"],
)
def test_mayr_is_adam_in_fp32_without_compilation(implementation: Any, workload: str) -> None:
    built = build(implementation, workload, "mayr")
    settings = built.settings
    assert settings["optimizer"] == "Adam" and settings["learning_rate"] == 1e-4
    assert settings["weight_decay"] == 0.0
    assert settings["autocast"] is None and settings["compiled"] is False
    optimiser = built.run.keywords["optimiser"]  # type: ignore[attr-defined]
    assert type(optimiser) is torch.optim.Adam


def test_precision_variants_differ_in_precision_settings_only() -> None:
    workload = workloads()["vitl16-train"]
    settings = [
        vitl16_train.describe_settings(variant, on_gpu=True)
        for variant in workload.precision_variants
    ]
    others = [{k: v for k, v in s.items() if k not in PRECISION_SETTINGS} for s in settings]
    assert all(other == others[0] for other in others)
    optimisers = [
        build(vitl16_train, workload.id, variant).run.keywords["optimiser"].defaults  # type: ignore[attr-defined]
        for variant in workload.precision_variants
    ]
    assert all(optimiser == optimisers[0] for optimiser in optimisers)
    for variant, fixed in workload.fixed.items():
        stated = vitl16_train.describe_settings(variant, on_gpu=True)
        assert all(stated[name] in choice for name, choice in fixed.items())


@pytest.mark.parametrize(
    ("variant", "data_type"),
    [
        ("tuned-tf32", "float32"),
        ("tuned", "bfloat16"),
        ("tuned-fp16", "float16"),
        ("fp8", "bfloat16"),
    ],
)
def test_blocks_of_a_variant_compute_in_its_data_type(
    variant: str, data_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The residual stream and the products of the attention, with parameters in fp32."""
    data_types = []
    attention = nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        nn.functional,
        "scaled_dot_product_attention",
        lambda query, *rest, **options: (
            data_types.append(query.dtype),
            attention(query, *rest, **options),
        )[1],
    )
    built = build(vitl16_train, "vitl16-train", variant)
    model = built.run.keywords["model"]  # type: ignore[attr-defined]
    model.norm.register_forward_pre_hook(lambda _, inputs: data_types.append(inputs[0].dtype))
    built.run(Steps(1))
    assert data_types == [getattr(torch, data_type)] * 3  # two blocks and what the last norm takes
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_classifier_learns_each_resident_batch_with_its_own_labels() -> None:
    """Against plain gradient descent, where the batches come round again."""
    random = torch.Generator().manual_seed(1)
    images = torch.randn(3, BATCH, 5, generator=random)
    labels = torch.randint(0, 4, (3, BATCH), generator=random)
    trained, plain = (nn.Linear(5, 4) for _ in range(2))
    plain.load_state_dict(trained.state_dict())
    steps, losses = Steps(7), []
    training.train_classifier(
        steps, JOB, trained, torch.optim.SGD(trained.parameters(), 0.5), images, labels, None
    )
    for step in range(steps.count):
        chances = plain(images[step % 3]).softmax(dim=1)
        loss = -chances[range(BATCH), labels[step % 3]].log().mean()
        losses.append(float(loss))
        for parameter, gradient in zip(
            plain.parameters(), torch.autograd.grad(loss, list(plain.parameters())), strict=True
        ):
            parameter.data -= 0.5 * gradient
    assert steps.losses == pytest.approx(losses, rel=1e-5)
    assert torch.allclose(trained.weight, plain.weight, rtol=1e-5)


def test_small_gradients_survive_in_fp16() -> None:
    """Without loss scaling, the smallest positive number of fp16, 6e-8, rounds them to zero. The
    step of the optimiser is that of the gradients without the scale."""
    weight = nn.Parameter(torch.ones(4, 4))
    scaled: list[torch.Tensor] = []

    class Tiny(nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return images @ weight * 1e-8

    optimiser = torch.optim.SGD([weight], 1e6)
    optimiser.register_step_pre_hook(lambda *_: scaled.append(weight.grad.clone()))
    images = torch.randn(1, BATCH, 4, generator=torch.Generator().manual_seed(1)).half()
    labels = torch.zeros(1, BATCH, dtype=torch.long)
    training.train_classifier(
        Steps(1), JOB, Tiny(), optimiser, images, labels, autocast=torch.float16
    )
    assert 0 < scaled[0].abs().max() < 1e-7
    assert 0 < (weight - 1).abs().max() < 0.1


def test_a_batch_that_gpus_cannot_multiply_in_fp8_is_refused() -> None:
    with pytest.raises(ValueError, match=r"batch 100: .* give --batch 112"):
        vitl16_train.build(Job("vitl16-train", "fp8", "smoke", 100, 1, "cuda:0"))


def test_a_batch_that_gpus_can_multiply_in_fp8_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def reach(*_: object) -> None:
        raise LookupError("the network is made")

    monkeypatch.setattr("reference.vitl16_train.make_network", reach)
    with pytest.raises(LookupError):
        vitl16_train.build(Job("vitl16-train", "fp8", "smoke", 112, 1, "cuda:0"))


def test_only_tuned_variants_on_a_gpu_fuse_the_optimiser() -> None:
    for variant, device, is_fused in (
        ("tuned", "cuda:0", True),
        ("tuned", "cpu", False),
        ("baseline", "cuda:0", False),
    ):
        job = Job("vitl16-train", variant, "smoke", 4, 1, device)
        optimiser = vitl16_train.make_optimiser(torch.nn.Linear(2, 2), job)
        assert optimiser.defaults["fused"] == is_fused, (variant, device)
