"""What rules need of the two tables: columns as arrays, the names of rows, and the rows that break a condition."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

SAMPLES, BATCHES = "samples.csv.gz", "batches.csv.gz"
RESULT, SYSTEM, ENVIRONMENT = "result.json", "system.json", "environment.json"

POWER_COLUMNS = ("power_mw", "power_avg_mw")

# What drivers return for "not available": all ones in 16 and 32 bits, as they are and taken for watts.
SENTINELS_MW = (65_535.0, 65_535_000.0, 4_294_967_295.0, 4_294_967_295_000.0)

Mask = NDArray[np.bool_]


def floats(table: "pd.DataFrame", column: str) -> NDArray[np.float64]:
    """A column as float64, shape (n,), NaN for an empty cell."""
    return table[column].to_numpy(np.float64)


def whole(table: "pd.DataFrame", column: str) -> NDArray[np.int64]:
    """A column without empty cells as int64, shape (n,)."""
    return table[column].to_numpy(np.int64)


def of_each(samples: "pd.DataFrame", values: Mapping[str, float]) -> NDArray[np.float64]:
    """For each sample the value of its accelerator, shape (n,), NaN where there is none."""
    of = samples["accelerator"].to_numpy()
    found = np.full(len(of), np.nan)
    for accelerator, value in values.items():
        found[of == accelerator] = value
    return found


def rows(table: "pd.DataFrame", where: Mask) -> str:
    """The name of the rows of a (part of a) table where `where`, shape (n,), holds; rows of a file count from 1."""
    index = table.index.to_numpy()[where]
    first, last = int(index.min()) + 1, int(index.max()) + 1
    return f"row {first}" if first == last else f"rows {first}-{last}"


def offenders(samples: "pd.DataFrame", wrong: Mask) -> Iterator[tuple[str, str, int]]:
    """For each accelerator with samples where `wrong`, shape (n,), holds: its name, those rows, and how many they are."""
    if not wrong.any():
        return
    of = samples["accelerator"].to_numpy()
    for accelerator in dict.fromkeys(of[wrong]):
        own = wrong & (of == accelerator)
        yield str(accelerator), rows(samples, own), int(own.sum())


def implausible(power_mw: NDArray[np.float64]) -> Mask:
    """Which powers, shape (n,), are no readings at all: a driver's mark for "not available", or negative."""
    found: Mask = np.isin(power_mw, SENTINELS_MW) | (power_mw < 0)
    return found
