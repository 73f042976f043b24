"""Search the runs of a round for noise that occurs twice, however it was disguised."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import comb
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rules.copies.search import join_with_first, list_copies, order_runs
from rules.fingerprints import Noise
from rules.metrics.power.series import SIGNS, find_patterns, repeat_themselves
from rules.run_summary import RunSummary
from rules.settings import ConfigurationKey

MIN_PATTERNS = 32
"""Number of patterns in common from which on a run is a copy; measured boards share none."""
ALIGNMENTS_TRIED = 8
"""How many alignments with earlier runs are tried for each run: those with most patterns."""
MAX_EXHAUSTIVE = 10_000
"""Up to so many pairs of series, runs of one setting are compared at all alignments."""
MAX_ALIGNED = 8192
"""At most so many of the first residuals are compared at all alignments, so that a long series
takes no longer."""
MIN_PEAK = 0.2
"""Correlation of whole series from which on their alignment is tried."""
STEPS = 4
"""The correlation is computed for parts that begin a quarter of their length apart."""
compared: dict[str, tuple[tuple[int, bool], ...]] = {}
"""The alignments, as lag and direction, of pairs of series whose residuals were compared at all of
them, by the hashes of both. A check may begin with those of an earlier one."""
_PATTERN_AGREES = np.ones(SIGNS, dtype=bool).tobytes()

Differences = NDArray[np.int8]
NoiseOf = Callable[[RunSummary], tuple[Noise, ...]]


@dataclass(frozen=True)
class LeastLikeness:
    """From which correlation on two series of one kind are a copy."""

    length: int
    """How many residuals in a row are correlated."""
    correlation: float


@dataclass(frozen=True)
class Likeness:
    """What the noise of a run has in common with that of another run."""

    run: RunSummary
    other: RunSummary
    correlation: float
    """Of their most similar parts."""
    patterns: int
    """How many patterns of rises and falls occur in both."""


@dataclass(frozen=True)
class _Series:
    """One series of a run."""

    run: int
    """The number of the run, in the order of `order_runs`."""
    noise: Noise


@dataclass(frozen=True)
class _Alignment:
    """Two series that may be copies if one of them is shifted. Both are numbers of series."""

    later: int
    earlier: int
    lag: int
    """Place in the later series that belongs to the start of the earlier one."""
    is_reversed: bool = False
    """Whether the earlier series is taken backwards."""


def find_copied_noise(
    runs: Sequence[RunSummary], noise_of: NoiseOf, least: LeastLikeness
) -> Iterator[Likeness]:
    """Each run to be reported because its noise occurs in another run, with the run that is most
    alike."""
    ordered = order_runs(runs)
    series = [_Series(i, noise) for i, run in enumerate(ordered) for noise in noise_of(run)]
    correlations: dict[tuple[int, int], float] = defaultdict(float)
    patterns: Counter[tuple[int, int]] = Counter()
    for alignment in {*_align_by_patterns(series), *_align_by_correlation(series, ordered)}:
        later, earlier = series[alignment.later], series[alignment.earlier]
        pair = (earlier.run, later.run)
        correlations[pair] = max(
            correlations[pair],
            correlate_parts(
                *_overlap(later.noise.residuals, earlier.noise.residuals, alignment), least.length
            ),
        )
        patterns[pair] += count_shared_patterns(
            *_overlap(later.noise.differences, earlier.noise.differences, alignment)
        )
    likest: dict[Path, Likeness] = {}
    for pair, correlation in sorted(correlations.items(), key=itemgetter(1)):
        if correlation >= least.correlation or patterns[pair] >= MIN_PATTERNS:
            earlier_run, later_run = ordered[pair[0]], ordered[pair[1]]
            for run in list_copies(earlier_run, later_run):
                other = earlier_run if run is later_run else later_run
                # In order of correlation, so that the last one is the most similar.
                likest[run.path] = Likeness(run, other, correlation, patterns[pair])
    return iter(likest.values())


def correlate_parts(first: Differences, second: Differences, length: int) -> float:
    """The largest correlation, in either direction, of parts of `length` of two aligned series,
    shape (n,). Zero if they are shorter."""
    # Parts consist of `STEPS` blocks. The sum of a block is exact in 32 bits.
    block = length // STEPS
    count = len(first) // block
    if count < STEPS:
        return 0.0
    first_blocks, second_blocks = (
        values[: count * block].astype(np.float32).reshape(count, block)
        for values in (first, second)
    )
    block_sums = np.array(
        [
            np.einsum("ij,ij->i", left, right)
            for left, right in (
                (first_blocks, second_blocks),
                (first_blocks, first_blocks),
                (second_blocks, second_blocks),
            )
        ],
        np.float64,
    )
    covariances, first_squares, second_squares = np.sum(
        [block_sums[:, step : count - STEPS + 1 + step] for step in range(STEPS)], axis=0
    )
    scales = np.sqrt(first_squares * second_squares)
    return float(np.max(np.abs(covariances) / np.where(scales > 0, scales, np.inf)))


def count_shared_patterns(first: Differences, second: Differences) -> int:
    """How many patterns of `SIGNS` rises and falls two aligned series, shape (n,), have in the same
    places. Those that repeat themselves do not count."""
    agrees = (first > 0) == (second > 0)
    # Most series share no pattern, and this search takes a third of the time of the rest.
    if _PATTERN_AGREES not in agrees.tobytes():
        return 0
    differs = np.flatnonzero(~agrees)
    borders = np.concatenate([[-1], differs, [len(first)]])
    pairs = np.stack([borders[:-1], borders[1:]], axis=1)
    # Between two borders, all signs agree.
    pairs = pairs[np.diff(borders) > SIGNS]
    if not len(pairs):
        return 0
    patterns = find_patterns(np.cumsum(np.where(np.append(False, first > 0), 1.0, -1.0)))
    return sum(
        int(np.count_nonzero(~repeat_themselves(patterns[begin + 1 : end - SIGNS + 1])))
        for begin, end in pairs.tolist()
    )


def _overlap(
    later: Differences, earlier: Differences, alignment: _Alignment
) -> tuple[Differences, Differences]:
    """The parts of two series that overlap in an alignment."""
    lag = alignment.lag
    begin = max(0, lag)
    end = max(begin, min(len(later), len(earlier) + lag))
    shifted = earlier[::-1] if alignment.is_reversed else earlier
    return later[begin:end], shifted[begin - lag : end - lag]


def _align_by_patterns(series: Sequence[_Series]) -> Iterator[_Alignment]:
    """For each run, the alignments at which most of its patterns occur in earlier runs.

    Two patterns meet if their first halves agree, so that a copy with much jitter is found too.
    """
    later, earlier, later_places, earlier_places = join_with_first(
        [item.noise.patterns for item in series]
    )
    runs = np.array([item.run for item in series], dtype=np.int64)
    is_other = runs[later] != runs[earlier]
    if not is_other.any():
        return
    starts = np.cumsum([0, *(len(item.noise.patterns) for item in series)])
    places = np.concatenate([item.noise.places for item in series]).astype(np.int64)
    later, earlier = later[is_other], earlier[is_other]
    lags = (
        places[starts[later] + later_places[is_other]]
        - places[starts[earlier] + earlier_places[is_other]]
    )
    span = 2 * int(places.max()) + 1
    # One number for each alignment, because numbers are sorted faster than triples.
    keys, counts = np.unique(
        (later * len(series) + earlier) * span + (lags + span // 2), return_counts=True
    )
    pairs, lags = keys // span, keys % span - span // 2
    later, earlier = pairs // len(series), pairs % len(series)
    order = np.lexsort((-counts, runs[later]))
    _, begins = np.unique(runs[later[order]], return_index=True)
    ranks = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    for i in order[ranks < ALIGNMENTS_TRIED].tolist():
        yield _Alignment(int(later[i]), int(earlier[i]), int(lags[i]))


def _align_by_correlation(
    series: Sequence[_Series], ordered: Sequence[RunSummary]
) -> Iterator[_Alignment]:
    """The best alignment of each pair of series, forwards and backwards, of the runs that are few
    enough."""
    for group in _choose_groups(series, ordered):
        residuals = [series[i].noise.residuals[:MAX_ALIGNED] for i in group]
        backwards = [series[i].noise.residuals[::-1][:MAX_ALIGNED] for i in group]
        # Two series of this length meet at one lag less than twice as many.
        size = 1 << (2 * max(map(len, residuals)) - 1).bit_length()
        hashes = [_hash(series[i].noise.residuals) for i in group]
        new = [
            [n for n in range(place + 1, len(group)) if f"{hashes[n]}{own}{size}" not in compared]
            for place, own in enumerate(hashes)
        ]
        if any(new):
            found = _compare_at_all_lags(residuals, backwards, new, size)
            for place, later_places in enumerate(new):
                for n in later_places:
                    key = f"{hashes[n]}{hashes[place]}{size}"
                    compared[key] = tuple(found.get((n, place), ()))
        for place, own in enumerate(hashes):
            for n in range(place + 1, len(group)):
                for lag, is_reversed in compared[f"{hashes[n]}{own}{size}"]:
                    if series[group[place]].run != series[group[n]].run:
                        yield _Alignment(group[n], group[place], lag, is_reversed)


def _compare_at_all_lags(
    forwards: Sequence[Differences],
    backwards: Sequence[Differences],
    later: Sequence[Sequence[int]],
    size: int,
) -> dict[tuple[int, int], list[tuple[int, bool]]]:
    """The alignments of high correlation, as lag and direction, by the numbers of the later and the
    earlier series. `later` has the later series to compare with each; `size` that of the
    transforms."""
    found: dict[tuple[int, int], list[tuple[int, bool]]] = defaultdict(list)
    scales = np.array([np.sqrt(values @ values) for values in map(_to_floats, forwards)])
    spectra = np.array([np.fft.rfft(_to_floats(values), size) for values in forwards])
    # With all later series at once, because a call of NumPy takes as long as a transform.
    for earlier, places in enumerate(later):
        if not places:
            continue
        for is_reversed, spectrum in (
            (False, spectra[earlier]),
            (True, np.fft.rfft(_to_floats(backwards[earlier]), size)),
        ):
            covariances = np.abs(np.fft.irfft(spectra[places] * np.conj(spectrum), size))
            lags = covariances.argmax(axis=1)
            peaks = covariances[np.arange(len(lags)), lags]
            least = MIN_PEAK * scales[places] * scales[earlier]
            for i in np.flatnonzero((peaks >= least) & (least > 0)).tolist():
                # Lags beyond the middle are negative.
                lag = int(lags[i]) - (size if lags[i] > size // 2 else 0)
                found[places[i], earlier].append((lag, is_reversed))
    return found


def _hash(residuals: Differences) -> str:
    return sha256(residuals.tobytes()).hexdigest()[:32]


def _to_floats(residuals: Differences) -> NDArray[np.float32]:
    return residuals.astype(np.float32)


def _choose_groups(
    series: Sequence[_Series], ordered: Sequence[RunSummary]
) -> Iterator[Sequence[int]]:
    """The numbers of all series if they make at most `MAX_EXHAUSTIVE` pairs, else those of each
    setting as long as there are not more."""
    if comb(len(series), 2) <= MAX_EXHAUSTIVE:
        groups = [list(range(len(series)))]
    else:
        by_setting: dict[ConfigurationKey, list[int]] = {}
        for i, item in enumerate(series):
            by_setting.setdefault(ordered[item.run].setting, []).append(i)
        groups = sorted(by_setting.values(), key=len)
    pairs = 0
    for group in groups:
        pairs += comb(len(group), 2)
        if pairs > MAX_EXHAUSTIVE:
            return
        if len(group) > 1:
            yield group
