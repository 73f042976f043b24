"""A good study made from nothing: six models on one or two H200s, deterministic and within every
rule. Power follows a simple model of a board; readings have the noise and the steps of its sensor.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from rules.bundle_format.records import SAMPLE_COLUMNS, Json
from rules.bundle_format.study_records import (
    ANCHOR,
    LADDER,
    LONG,
    POINT_COLUMNS,
    STUDY_BATCH_COLUMNS,
    Point,
    PointPart,
)
from rules.studies.accuracy import read_shipped_table
from rules.studies.bundle import StudyBundle
from rules.studies.figures import compute_study_figures
from rules.studies.figures_json import study_figures_to_json
from rules.studies.ladder import LadderLimits, LadderStep, choose_long_batches, choose_next_batch
from rules.studies.order import order_work
from rules.testing.frames import StudyFrames
from rules.testing.study_documents import (
    ANCHOR_EVERY,
    CAP_MW,
    make_environment,
    make_session,
    make_study,
    make_system,
)

MS = 1_000_000
IDLE_W = 120.0
BOARDS = ("GPU-11111111-aaaa-bbbb-cccc-000000000001", "GPU-22222222-aaaa-bbbb-cccc-000000000002")
STEP_W = 0.322
"""The steps of an H200's power sensor."""
SLOWER = {"bf16": 1.0, "fp16": 1.0, "tf32": 2.0, "tf32-conv": 4.0, "fp32": 12.0}
"""Time of a batch in a precision over that in bf16."""


@dataclass(frozen=True)
class BoardModel:
    """A model as a board runs it. A batch of b images takes the time of `b + half_batch` images at
    full speed, and 6 % more for each doubling above `knee_batch`."""

    architecture: str
    size: int
    gmac: float
    macts: float
    params_m: float
    images_per_s: float
    full_power_w: float
    half_batch: float
    knee_batch: int
    memory_batch: int = 16384
    """The smallest batch size that does not fit into memory."""

    def batch_s(self, batch: int, precision: str) -> float:
        beyond = max(0.0, math.log2(batch / self.knee_batch))
        slower = SLOWER[precision] * (1 + 0.06 * beyond)
        return (batch + self.half_batch) / self.images_per_s * slower

    def power_w(self, batch: int) -> float:
        return IDLE_W + (self.full_power_w - IDLE_W) * batch / (batch + self.half_batch)


MODELS = (
    BoardModel("resnet50", 224, 4.11, 11.11, 25.56, 15_800, 560, 8, 32),
    BoardModel("mobilenetv3_large_100", 224, 0.23, 4.41, 5.48, 38_000, 480, 16, 64),
    BoardModel("efficientnet_b0", 224, 0.4, 6.75, 5.29, 23_500, 520, 12, 64),
    BoardModel("vit_base_patch16_224", 224, 17.58, 23.9, 86.57, 10_500, 680, 4, 8192, 1024),
    BoardModel("convnext_base", 256, 20.09, 37.55, 88.59, 4_300, 670, 3, 64),
    BoardModel("swin_tiny_patch4_window7_224", 224, 4.51, 17.06, 28.29, 7_600, 530, 2, 16),
)
ANCHOR_MODEL = MODELS[0]
LIMITS = LadderLimits(max_batch=8192, early_stop_sizes=3, early_stop_share=0.03, full=False)
Setup = tuple[str, str]
"""Engine and precision."""


@dataclass(frozen=True)
class _Entry:
    model: BoardModel
    engine: str
    precision: str

    @property
    def architecture(self) -> str:
        return self.model.architecture

    @property
    def size(self) -> int:
        return self.model.size


@dataclass
class _Session:
    """A session on one board. Its power is that of the phases so far."""

    number: int
    board: str
    random: np.random.Generator
    points: list[Point]
    parts: list[PointPart]
    repeats: Counter[tuple[object, ...]]
    phases: list[tuple[int, float, bool]] = field(default_factory=list)
    """Start in ns and power in W of each phase, and whether the board has work."""

    def __post_init__(self) -> None:
        self.zero_ns = 5_000_000_000_000 * (self.number + 1)
        self.now_ns = self.zero_ns + 7 * MS
        self.noise_w = self.random.normal(0, 3, 50_000)
        self.delay_ns = self.random.integers(20_000, 90_000, 50_000)

    def spend(self, seconds: float, power_w: float, active: bool = True) -> tuple[int, int]:
        """Draw a power for some time. Returns start and end in ns."""
        start_ns = self.now_ns
        self.phases.append((start_ns, power_w, active))
        self.now_ns += round(seconds * 1e9)
        return start_ns, self.now_ns

    def read_power_w(self, power_w: float | np.ndarray, ticks: np.ndarray) -> np.ndarray:
        readings: np.ndarray = np.round((power_w + self.noise_w[ticks]) / STEP_W) * STEP_W
        return readings

    def measure(self, entry: _Entry, batch: int, kind: str) -> float | None:
        """Measure a point. Returns J/image, None if the batch does not fit."""
        model = entry.model
        self.spend(0.25, IDLE_W + 40)
        if batch >= model.memory_batch:
            self._add(entry, batch, kind, "out-of-memory", [])
            return None
        power_w = model.power_w(batch)
        self.spend(0.4, power_w)  # warm-up
        batch_s = model.batch_s(batch, entry.precision)
        parts, seconds, batches = (1, 1.0, 1) if kind == LADDER else (10, 10.0, 13)
        per_part = math.ceil(max(1.01 * seconds / batch_s, batches) / parts)
        windows = [
            (per_part, *self.spend(per_part * batch_s * self.random.normal(1, 5e-4), power_w))
            for _ in range(parts)
        ]
        self._add(entry, batch, kind, "ok", windows)
        # The counter is read once more before the power changes, so it gives this energy.
        self.spend(0.2, power_w)
        seconds = (windows[-1][2] - windows[0][1]) / 1e9
        return power_w * seconds / (per_part * parts * batch)

    def _add(
        self,
        entry: _Entry,
        batch: int,
        kind: str,
        outcome: str,
        windows: Sequence[tuple[int, int, int]],
    ) -> None:
        model = entry.model
        key = (kind, model.architecture, model.size, entry.engine, entry.precision, batch)
        batches = sum(count for count, _, _ in windows)
        self.parts += [
            PointPart(len(self.points), number, *window) for number, window in enumerate(windows)
        ]
        self.points.append(
            Point(
                architecture=model.architecture,
                size=model.size,
                engine=entry.engine,
                precision=entry.precision,
                batch=batch,
                repeat=self.repeats[key],
                outcome=outcome,
                items=batches * batch,
                start_ns=windows[0][1] if windows else self.now_ns,
                end_ns=windows[-1][2] if windows else self.now_ns,
                peak_bytes=round((2 * model.params_m + 2 * batch * model.macts) * 1e6),
                flops=round(2e9 * model.gmac),
                params=round(1e6 * model.params_m),
                activations=round(1e6 * model.macts),
                kind=kind,
                session=self.number,
                accelerator=self.board,
            )
        )
        self.repeats[key] += 1

    def climb(self, entry: _Entry) -> tuple[int, ...]:
        """Measure a ladder. Returns the batch sizes of least energy."""
        steps: list[LadderStep] = []
        while batch := choose_next_batch(steps, LIMITS):
            steps.append(LadderStep(batch, self.measure(entry, batch, LADDER)))
        return choose_long_batches(steps)

    def make_samples(self) -> pd.DataFrame:
        """The samples from the start of the session to now."""
        self.phases.append((self.now_ns, IDLE_W, False))
        count = (self.now_ns - self.zero_ns) // (100 * MS) + 2
        ticks = np.arange(count)
        scheduled_ns = self.zero_ns + ticks * 100 * MS
        read_ns = scheduled_ns + self.delay_ns[ticks]
        starts_ns = np.array([start for start, _, _ in self.phases])
        powers_w = np.array([power for _, power, _ in self.phases])
        phase = np.clip(np.searchsorted(starts_ns, read_ns, side="right") - 1, 0, None)
        power_w = self.read_power_w(powers_w[phase], ticks)
        ends_ns = np.append(starts_ns[1:], read_ns[-1] + 100 * MS)
        used_j = np.concatenate(([0.0], np.cumsum((ends_ns - starts_ns) / 1e9 * powers_w)))
        energy_j = 3e6 + np.interp(read_ns, np.append(starts_ns, ends_ns[-1]), used_j)
        energy_j += np.cumsum(np.abs(self.random.normal(0, 0.02, count)))
        active = np.array([is_active for _, _, is_active in self.phases])[phase]
        average_w = pd.Series(powers_w[phase]).rolling(10, min_periods=1).mean().to_numpy()
        table = {
            "scheduled_ns": scheduled_ns,
            "read_ns": read_ns,
            "node": f"session{self.number}",
            "accelerator": self.board,
            "power_mw": np.round(power_w * 1e3),
            "power_avg_mw": np.round(average_w * 1e3),
            "energy_mj": np.round(energy_j * 1e3),
            "sm_mhz": np.where(active, 1980.0 - 15 * self.random.integers(0, 3, count), 345.0),
            "mem_mhz": 3201.0,
            "temp_c": np.where(active, 50.0 + ticks // 300 % 4, 38.0),
            "mem_temp_c": np.where(active, 60.0, 40.0),
            "power_state": "P0",
            "slowdown": np.where(active, 0.0, 1.0),
            "util_pct": np.where(active, 100.0, 0.0),
            "cap_mw": float(CAP_MW),
            "status": "ok",
        }
        return pd.DataFrame(table)[list(SAMPLE_COLUMNS)]


def make_study_frames(
    models: Sequence[BoardModel] = MODELS,
    setups: Sequence[Setup] = (("cudagraph", "bf16"),),
    sessions: int = 1,
    seed: int = 7,
) -> StudyFrames:
    """The evidence of a good study. Each session measures its share of the entries on a board of
    its own, between two anchors."""
    entries = order_work([_Entry(model, *setup) for model in models for setup in setups], seed)
    random = np.random.default_rng(seed)
    points: list[Point] = []
    parts: list[PointPart] = []
    repeats: Counter[tuple[object, ...]] = Counter()
    anchor = _Entry(ANCHOR_MODEL, entries[0].engine, entries[0].precision)
    anchor_batch = 0
    work: list[Json] = []
    records: list[Json] = []
    samples: list[pd.DataFrame] = []
    for number, share in enumerate(np.array_split(np.arange(len(entries)), sessions)):
        session = _Session(number, BOARDS[number], random, points, parts, repeats)
        session.spend(3, IDLE_W, active=False)
        session.spend(30, ANCHOR_MODEL.power_w(32))  # burn-in
        anchor_batch = anchor_batch or session.climb(anchor)[0]
        session.measure(anchor, anchor_batch, ANCHOR)
        moments = ["before"]
        for count, place in enumerate(share):
            if count and count % ANCHOR_EVERY == 0:
                session.measure(anchor, anchor_batch, ANCHOR)
            entry = entries[place]
            for batch in session.climb(entry):
                session.measure(entry, batch, LONG)
            work.append(_make_work(entry, session))
            moments.append(f"entry-{place}")
        session.measure(anchor, anchor_batch, ANCHOR)
        session.spend(2, IDLE_W, active=False)
        samples.append(session.make_samples())
        span_ns = (int(samples[-1]["read_ns"].iloc[0]), int(samples[-1]["read_ns"].iloc[-1]))
        records.append(
            make_session(number, session.board, span_ns, len(samples[-1]), [*moments, "after"])
        )
    study = StudyFrames(
        make_study(seed, work, records),
        make_system({f"session{number}": BOARDS[number] for number in range(sessions)}),
        make_environment(),
        pd.concat(samples, ignore_index=True),
        pd.DataFrame(map(astuple, points), columns=list(POINT_COLUMNS)),
        pd.DataFrame(map(astuple, parts), columns=list(STUDY_BATCH_COLUMNS)),
        "study done\n",
    )
    state_figures(study)
    return study


def state_figures(study: StudyFrames) -> None:
    """State the figures that follow from the tables. Raises MetricsError."""
    bundle = StudyBundle(Path(), (), study.evidence())
    figures = compute_study_figures(bundle, read_shipped_table())
    study.study["figures"] = study_figures_to_json(figures)


def _make_work(entry: _Entry, session: _Session) -> Json:
    return {
        "architecture": entry.architecture,
        "size": entry.size,
        "engine": entry.engine,
        "precision": entry.precision,
        "status": "measured",
        "reason": "",
        "session": session.number,
        "accelerator": session.board,
    }
