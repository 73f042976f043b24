"""The drift of a study: long windows of one model, repeated in each session on each board."""

from dataclasses import dataclass

import numpy as np

from rules.bundle_format.study_records import ANCHOR
from rules.bundle_format.table import Table
from rules.studies.metrics.points import PointFigures

MAX_DRIFT = 0.02
"""The largest drift that no rule reports, as a share of the energy of the first anchor."""


@dataclass(frozen=True)
class AnchorDrift:
    """The anchors of an accelerator in a session."""

    session: int
    accelerator: str
    joules_per_image: tuple[float, ...]
    """Of each anchor, in the order of time."""

    @property
    def drift(self) -> float:
        """The change from the first anchor to the one that differs most from it, as a signed share;
        0 for one anchor."""
        first = self.joules_per_image[0]
        return max((joules / first - 1 for joules in self.joules_per_image), key=abs)


def compute_drifts(points: Table, figures: PointFigures) -> tuple[AnchorDrift, ...]:
    """The anchors that ran, by session and accelerator."""
    ran = points.text("kind").equals(ANCHOR) & points.text("outcome").equals("ok")
    rows = np.flatnonzero(ran)
    rows = rows[np.argsort(points.ints("start_ns")[rows], kind="stable")]
    sessions, accelerators = points.ints("session")[rows], points.text("accelerator").at(rows)
    energies_j: dict[tuple[int, str], list[float]] = {}
    for session, accelerator, joules_per_image in zip(
        sessions.tolist(),
        accelerators.to_list(),
        (figures.energy_j[rows] / figures.images[rows]).tolist(),
        strict=True,
    ):
        energies_j.setdefault((session, accelerator), []).append(joules_per_image)
    return tuple(
        AnchorDrift(*key, joules_per_image=tuple(values))
        for key, values in sorted(energies_j.items())
    )
