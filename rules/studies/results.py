"""The results of a study of image models, measured or published, one record per model, input size
and setup. Rules, report and `study.json` use them."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Setup:
    """What the results of a group have in common. Results of two setups are never mixed."""

    source: str
    """Id of the study, or of the file of published figures."""
    provenance: str
    """`measured`, `simulated` or `published`."""
    board: str
    """Name of the board, as in `rules.boards`."""
    engine: str
    """One of `rules.study_contract.ENGINES`."""
    precision: str
    """One of `rules.study_contract.PRECISIONS`."""
    cap_w: float | None
    """Power cap of the board in W; None if it is not known."""
    claimed_precision: str | None = None
    """The precision that a publication states, if `precision` is another one."""
    system: str | None = None
    """Name of the system in labels, in place of the id of the study. None for published results."""


@dataclass(frozen=True)
class BatchFigures:
    """The figures of a model at one batch size."""

    batch: int
    images_per_s: float
    joules_per_image: float
    mean_power_w: float
    joules_ci95: tuple[float, float] | None = None
    """95 % interval of `joules_per_image` over the parts of the window; None for one part."""
    latency_s: float | None = None
    """Mean time of a batch."""
    peak_bytes: int | None = None
    is_long: bool = False
    """Whether the window is a long one. Figures of ladder windows of 1 s are approximate."""


@dataclass(frozen=True)
class ModelResult:
    """The figures of a model at an input size, on a setup."""

    setup: Setup
    architecture: str
    tag: str | None
    """Name of the weights; None for weights initialised from a seed."""
    size: int
    """Side of the square input, in pixels."""
    model_class: str
    """`cnn`, `transformer`, `hybrid` or `mlp`."""
    best: BatchFigures
    """At the batch size of least energy per image."""
    batches: tuple[BatchFigures, ...] = ()
    """All batch sizes, sorted; empty if only the best is known."""
    max_batch: int | None = None
    """The largest batch size that ran."""
    flops: float | None = None
    """Per image. A multiply-add counts as two."""
    params: float | None = None
    activations: float | None = None
    accuracy_pct: Mapping[str, float] = field(default_factory=dict)
    """Published top-1 accuracy by image set, such as `imagenet`: of the weights `tag`, or of the
    best weights for this architecture and size."""
    doubts: tuple[str, ...] = ()
    """Ids of the rules that doubt the result."""
    quotes: tuple[str, ...] = ()
    """What the doubts rest on, quoted from the publication; empty without a doubt."""
