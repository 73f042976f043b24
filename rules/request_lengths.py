"""The lengths of the requests of a request set. Seed and number of a request determine them, so the
load generator draws them and the rules compute them again."""

import numpy as np

from rules.bundle_format.table import Ints
from rules.contract import RequestSet


def compute_prompt_tokens(requests: RequestSet, seed: int, numbers: Ints) -> Ints:
    """Return the length of the prompt of each request in `numbers`. `seed` is that of the rank."""
    return _compute_lengths(requests.uniform, requests.prompt_tokens, 2 * seed, numbers)


def compute_output_tokens(requests: RequestSet, seed: int, numbers: Ints) -> Ints:
    """Return the length of the answer of each request in `numbers`, after the opening requests of a
    closed loop. `seed` is that of the rank."""
    return _compute_lengths(requests.uniform, requests.output_tokens, 2 * seed + 1, numbers)


def _compute_lengths(uniform: bool, longest: int, stream: int, numbers: Ints) -> Ints:
    """Return `longest` for each number, or uniform draws from 1 to `longest` by SplitMix64 (Steele,
    Lea and Flood, OOPSLA 2014)."""
    if not uniform:
        return np.full(len(numbers), longest, dtype=np.int64)
    state = np.asarray(numbers).astype(np.uint64) + (np.uint64(stream) << np.uint64(30))
    state = (state + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return 1 + (state % np.uint64(longest)).astype(np.int64)
