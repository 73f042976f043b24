"""The records of the bundle of a study, its file names, and the columns of its tables.

A study measures many models on a fixed system, such as the inference energy of image models. Its
bundle shares `system.json`, `environment.json`, `samples.csv.gz`, `log.txt.gz`, manifest and
signatures with the bundle of a run.
"""

from dataclasses import dataclass, fields

STUDY_FORMAT = "wattmark-study/1"
FIRST_BOOK_WITH_STUDIES = "1.7.0"
PUBLISHED_STUDY_FORMAT = "wattmark-published-study/1"

STUDY_FILE = "study.json"
POINTS_FILE = "points.csv.gz"
STUDY_BATCHES_FILE = "batches.csv.gz"
"""The file has the name of the batches of a run, and other columns."""

OUTCOMES = ("ok", "out-of-memory", "shape", "launch", "failed")
"""How a point ended. `shape`: the engine has no kernel for tensors of this size
(`canUse32BitIndexMath`). `launch`: the launch configuration is invalid. `failed`: any other error;
the log has its text."""

LADDER, LONG, ANCHOR = "ladder", "long", "anchor"
KINDS = (LADDER, LONG, ANCHOR)
"""Why a point was measured: one short window for each batch size, long windows at the two sizes of
least energy, and long windows of the anchor model, which show drift."""


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement: a model at an input size, on an engine, in a precision, at a batch size.
    Times are on the monotonic clock of the session. A point without the outcome `ok` has no items,
    and equal times."""

    architecture: str
    size: int
    """Side of the square input, in pixels."""
    engine: str
    precision: str
    batch: int
    """Images per batch."""
    repeat: int
    """Number of the measurement among those of the same kind, model, size, engine, precision and
    batch, from 0."""
    outcome: str
    """One of `OUTCOMES`."""
    items: int
    """Images in the window."""
    start_ns: int
    end_ns: int
    peak_bytes: int
    """Peak of the memory that the framework allocated on the accelerator; 0 on a CPU."""
    flops: int
    """Floating-point operations per image. A multiply-add counts as two."""
    params: int
    activations: int
    """Elements in the outputs of convolutions and matrix products, per image."""
    kind: str
    """One of `KINDS`."""
    session: int
    """Number of the session that measured it, from 0. A study that was resumed has several."""
    accelerator: str
    """UUID."""

    @property
    def key(self) -> tuple[str, int, str, str]:
        """Architecture, size, engine and precision."""
        return self.architecture, self.size, self.engine, self.precision

    @property
    def model(self) -> str:
        """The model for messages."""
        return f"{self.architecture}@{self.size} {self.engine} {self.precision}"

    @property
    def duration_s(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def images_per_s(self) -> float:
        """Throughput; the outcome must be `ok`."""
        return self.items / self.duration_s

    def __str__(self) -> str:
        return f"{self.model}, {self.kind} at batch {self.batch}"


@dataclass(frozen=True, slots=True)
class PointPart:
    """A part of the window of a point. Parts follow each other in time. A ladder point has one, a
    long point ten."""

    point: int
    """Number of the row in points.csv.gz, from 0."""
    part: int
    batches: int
    start_ns: int
    end_ns: int


POINT_COLUMNS = tuple(f.name for f in fields(Point))
STUDY_BATCH_COLUMNS = tuple(f.name for f in fields(PointPart))
