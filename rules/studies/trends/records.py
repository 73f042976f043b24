"""What a published study of trends holds (schema `published-study-1`, study `trends`)."""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from rules.studies.published import PublishedSource

TRENDS = "trends"
"""The value of `study` in a document of this kind."""

Status = Literal["ok", "glitch_fixed", "doubtful", "inferred"]
"""How well the row is known: as printed; misread with one sensible reading; a choice between
readings; absent from the text."""


@dataclass(frozen=True)
class PublishedBoard:
    """A board at one precision."""

    table: Literal["J.8", "J.9"]
    """J.8 has peak rates, J.9 the rates that the fits use."""
    adapted: Literal["No", "For CNN", "For NLP"] | None
    """For which models the rate is the peak times a measured speed-up; None in J.8."""
    board: str
    precision: str
    tflops: float
    tdp_w: float
    launched: date
    market: str
    gflops_per_w: float
    """As printed. It can differ from `tflops` over `tdp_w` in the last digit."""
    status: Status
    note: str | None


@dataclass(frozen=True)
class VisionModel:
    """An image classifier with published top-1 accuracy. None: lost in the text or not stated."""

    model: str
    accuracy_pct: float | None
    params_m: float | None
    gflops: float | None
    """Per forward pass. A multiply-add counts as two."""
    gflops_estimated: bool
    """Whether the authors estimated the GFLOPs and counted none."""
    extra_data: str | None
    """Training data beside ImageNet-1k."""
    released: date | None
    architecture: str
    status: Status
    note: str | None

    @property
    def is_complete(self) -> bool:
        """Whether date, GFLOPs and accuracy are known. The fits of the publication use these."""
        return None not in (self.released, self.gflops, self.accuracy_pct)


@dataclass(frozen=True)
class LanguageModel:
    """A language model."""

    model: str
    input_tokens: int
    gflops: float
    """Per forward pass over `input_tokens`. A multiply-add counts as two."""
    params_m: float
    released: date
    glue_score: float | None
    status: Status
    note: str | None


@dataclass(frozen=True)
class PrintedFigure:
    """A printed figure on a model or device."""

    table: str
    subject: str
    """The model or the device."""
    board: str | None
    """The board that ran a model."""
    quantity: str
    value: float
    unit: str
    note: str | None
    year: int | None
    """Of the device, as the table states it; None if it states none."""
    kind: str | None
    """What the device is, as the table states it."""


@dataclass(frozen=True)
class Speedup:
    """A measured throughput, and how much higher it is than that in the reference precision."""

    task: Literal["CV", "NLP"]
    model: str
    framework: str
    batch: int
    board: str
    precision: str
    throughput: float
    """In the unit of its source, which the publication does not state."""
    speedup: float
    reference: str


@dataclass(frozen=True)
class TrendsStudy:
    """A published study of trends."""

    id: str
    title: str
    authors: str
    """Names, separated by commas."""
    year: int
    url: str
    source: PublishedSource
    notes: tuple[str, ...]
    boards: tuple[PublishedBoard, ...]
    vision_models: tuple[VisionModel, ...]
    language_models: tuple[LanguageModel, ...]
    speedups: tuple[Speedup, ...]
    energy_checks: tuple[PrintedFigure, ...]
    edge_devices: tuple[PrintedFigure, ...]

    @property
    def models(self) -> tuple[VisionModel | LanguageModel, ...]:
        """All models, vision first."""
        return (*self.vision_models, *self.language_models)
