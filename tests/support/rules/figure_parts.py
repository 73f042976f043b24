"""Samples, batches and results made by hand, for the tests of the figures."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rules.bundle_format.records import BATCH_COLUMNS, SAMPLE_COLUMNS, Json
from rules.bundle_format.table import Floats, Table
from rules.declarations.run import RunDeclaration
from rules.declarations.system import SystemDeclaration
from rules.metrics import run as run_metrics
from rules.metrics.figures import RunFigures
from rules.metrics.parts import Part, split_into_parts
from rules.protocol import CURRENT
from rules.testing.frames import table_of

S = 1_000_000_000
STEP_NS = S // 10


def make_samples(
    accelerator: str, power_w: Floats, zero_ns: int = 0, **columns: object
) -> pd.DataFrame:
    """Samples every 100 ms; the counter is the exact integral of the piecewise linear power."""
    times_ns = zero_ns + STEP_NS * np.arange(len(power_w))
    energy_j = np.concatenate(([0.0], np.cumsum(0.1 * (power_w[1:] + power_w[:-1]) / 2)))
    empty = dict.fromkeys(SAMPLE_COLUMNS, np.nan)
    required = {
        "scheduled_ns": times_ns,
        "read_ns": times_ns,
        "node": "n",
        "accelerator": accelerator,
        "power_state": "P0",
    }
    table = (
        empty
        | required
        | {"power_mw": power_w * 1e3, "energy_mj": energy_j * 1e3, "status": "ok"}
        | columns
    )
    return pd.DataFrame(table)[list(SAMPLE_COLUMNS)]


def compute_figures(
    result: Json, system: Json, parts: Sequence[Part], requests: Table | None = None
) -> RunFigures:
    """The figures of JSON documents."""
    run, nodes = RunDeclaration.from_document(result), SystemDeclaration.from_document(system)
    return run_metrics.compute_figures(run, nodes, parts, requests)


def make_parts(result: Json, samples: pd.DataFrame, batches: pd.DataFrame) -> list[Part]:
    return split_into_parts(result, table_of(samples), table_of(batches))


def make_batches(*windows: tuple[int, int, int, float, float, int]) -> pd.DataFrame:
    """Windows as (epoch, batch, rank, start in s, end in s, items)."""
    rows = [
        (e, b, r, round(start * S), round(end * S), items) for e, b, r, start, end, items in windows
    ]
    return pd.DataFrame(rows, columns=list(BATCH_COLUMNS)).astype("int64")


def make_result(*accelerators: str, cap_w: float | None = None) -> Json:
    return {
        "protocol": CURRENT.version,
        "workload": "resnet50-train",
        "size": "full",
        "implementation": {"precision": "bf16"},
        "settings": {},
        "power": {"cap_w": cap_w},
        "ranks": [
            {"rank": r, "node": "n", "accelerators": [a]} for r, a in enumerate(accelerators)
        ],
    }


def make_system(*accelerators: str, name: str = "NVIDIA H200") -> Json:
    return {
        "nodes": [{"name": "n", "accelerators": [{"uuid": a, "name": name} for a in accelerators]}]
    }
