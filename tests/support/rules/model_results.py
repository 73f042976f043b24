"""Results of models for tests of figures that need nothing else."""

from dataclasses import replace

from rules.studies.results import BatchFigures, ModelResult, Setup

SETUP = Setup("made", "measured", "NVIDIA H200", "cudagraph", "bf16", 700.0)


def make_result(
    architecture: str,
    joules_per_image: float,
    accuracy_pct: float | None = None,
    *,
    size: int = 224,
    tag: str | None = None,
    setup: Setup = SETUP,
    images_per_s: float = 1000.0,
    flops: float | None = None,
    activations: float | None = None,
    model_class: str = "cnn",
) -> ModelResult:
    """A result whose energy and accuracy are given."""
    best = BatchFigures(64, images_per_s, joules_per_image, joules_per_image * images_per_s)
    return ModelResult(
        setup,
        architecture,
        tag,
        size,
        model_class,
        best,
        flops=flops,
        activations=activations,
        accuracy_pct={} if accuracy_pct is None else {"imagenet": accuracy_pct},
    )


def in_setup(result: ModelResult, **changes: object) -> ModelResult:
    """The same result on a setup that differs in some fields."""
    return replace(result, setup=replace(result.setup, **changes))  # type: ignore[arg-type]
