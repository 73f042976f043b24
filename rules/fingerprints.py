"""What a round keeps of the tables of a run, so that copies of it are found.

A *sequence* is `IN_A_ROW` successive values of a table, such as power readings. Equal sequences in
two runs prove a copy. Those whose salted hash is small are kept: two runs keep the same ones of the
sequences that they share. The salt is drawn for each check, so nobody can know which they are when
making a bundle.

A copy may be altered so that no sequence remains as it was. Its *noise* remains: the differences of
successive values, and what remains of them without the beat of the batches. All are kept, in one
byte each.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rules.bundle import Bundle
from rules.bundle_format.table import Floats, Ints
from rules.metrics.power.readings import to_whole_milliwatts
from rules.metrics.power.series import (
    IN_A_ROW,
    SIGNS,
    Series,
    find_patterns,
    hash_windows,
    repeat_themselves,
)

MIN_DISTINCT = 8
"""A sequence counts only with so many different values: a few that alternate repeat by chance."""
SEQUENCES_KEPT = 32
"""One of so many sequences is kept."""
PATTERNS_KEPT = 8
"""One of so many patterns of rises and falls is kept."""
FEW_PATTERNS = 512
"""All patterns of a series with fewer irregular ones are kept, unless it is `LONG`."""
LONG = 2**15
LIMIT = 127
"""Largest difference of noise, in either direction."""
LIMIT_IN_MEDIANS = 6
"""What `LIMIT` stands for, as a multiple of the median size of a difference. A few large steps,
such as those between epochs, must not dominate a correlation."""
ORDER = 64
"""Order of the linear prediction. The beat of batches in step with the sampling, which all runs of
a workload share, shows in fewer readings."""

HIGHEST = 2.0**53
"""Values beyond this are no measurements, and floats hold no whole numbers beyond it."""

Hashes = NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Multiplication by an odd number modulo 2**64 is a bijection, and mixes the bits upwards."""
_SEQUENCE = np.arange(IN_A_ROW)


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise of one series: of the power readings of an accelerator under load, or of the
    durations of the batches of a rank."""

    differences: NDArray[np.int8]
    """Of successive values, shape (n - 1,), scaled to `LIMIT`. Rises are positive, falls are
    negative and equal values are zero."""
    residuals: NDArray[np.int8]
    """The differences with a flat spectrum (`_whiten`), shape (n - 1,), scaled alike."""
    patterns: NDArray[np.uint32]
    """The first halves of patterns of rises and falls that do not repeat themselves, shape (m,)
    (`rules.metrics.power.series.find_patterns`)."""
    places: NDArray[np.uint32]
    """Where in `differences` each of the patterns begins."""


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """The sequences and the noise of a run. Sequences are salted hashes, sorted and distinct."""

    readings: Hashes
    """Of power readings under load, in mW."""
    delays: Hashes
    """Of the delays of readings after their scheduled times, in ns."""
    counter: Hashes
    """Of the steps of the energy counter between readings, in mJ."""
    clocks: Hashes
    """Of SM clocks under load, in MHz."""
    memory_power: Hashes
    """Of readings of the power of the memory under load, in mW."""
    durations: Hashes
    """Of the durations of batches, in ns."""
    power_noise: tuple[Noise, ...]
    """By accelerator."""
    duration_noise: tuple[Noise, ...]
    """By rank. Empty for serving and for control runs: the windows of requests are alike in all
    runs, and the products of a control run go round the blocks of the memory alike on all boards.
    """


def take_fingerprints(bundle: Bundle, salt: int) -> Fingerprints:
    """The fingerprints of a run under a salt of 64 bits. Only those under one salt can be
    compared."""
    durations_ns = list(_split_durations(bundle))
    has_noise = bundle.request_set is None and bundle.standing != "control"
    readings_w = select_readings(bundle)
    tables = [series.samples for series in bundle.series]
    return Fingerprints(
        readings=sample_sequences(map(to_whole_milliwatts, readings_w), salt),
        delays=sample_sequences(
            (table.ints("read_ns") - table.ints("scheduled_ns") for table in tables), salt
        ),
        counter=sample_sequences(
            (_to_counter_steps(series.counter_j) for series in bundle.series), salt
        ),
        clocks=sample_sequences((_select(series, "sm_mhz") for series in bundle.series), salt),
        memory_power=sample_sequences(
            (_select(series, "mem_power_mw") for series in bundle.series), salt
        ),
        durations=sample_sequences(durations_ns, salt),
        power_noise=tuple(take_noise(values, salt) for values in readings_w),
        duration_noise=tuple(
            take_noise(values.astype(np.float64), salt)
            for values in (durations_ns if has_noise else ())
        ),
    )


def select_readings(bundle: Bundle) -> list[Floats]:
    """For each accelerator, the readings from the first sample under load to the last one, in W;
    the averaged ones where there are no others. Those between batches are among them, so that
    altered batch windows do not change which readings are compared."""
    readings_w = []
    for series in bundle.series:
        loaded = np.flatnonzero(series.load)
        span = slice(loaded[0], loaded[-1] + 1)
        columns_w = (series.power_w[span], series.average_w[span])
        finite_w = [column_w[np.isfinite(column_w)] for column_w in columns_w]
        readings_w.append(finite_w[0] if len(finite_w[0]) else finite_w[1])
    return readings_w


def take_node_sequences(bundle: Bundle, salt: int) -> Hashes:
    """The salted hashes of all sequences of the readings of node meters. A meter that covers other
    nodes too may be in several bundles, and is left out."""
    feeds_mw = []
    for trace in bundle.feed_traces:
        nodes = {feed.node for feed in trace.meter.feeds}
        if not trace.meter.shared_psu and (trace.meter.nodes_covered or 0) <= len(nodes):
            feeds_mw.append(to_whole_milliwatts(trace.power_w))
    # A run has some hundred readings, so all are kept.
    return sample_sequences(feeds_mw, salt, kept=1)


def sample_sequences(columns: Iterable[Ints], salt: int, kept: int = SEQUENCES_KEPT) -> Hashes:
    """The salted hashes, sorted and distinct, of the sequences of some series that are kept: one
    of `kept`. A sequence has the same hash backwards."""
    # In one array, because a call of NumPy takes as long as hundreds of values.
    values = np.concatenate([np.empty(0, np.int64), *columns])
    if len(values) < IN_A_ROW:
        return np.empty(0, np.uint64)
    hashes = hash_windows(values, salt) + hash_windows(values[::-1], salt)[::-1]
    hashes = (hashes ^ hashes >> np.uint64(32)) * _ODD
    places = np.flatnonzero(hashes < np.uint64((2**64 - 1) // kept))
    sequences = np.sort(values[places[:, None] + _SEQUENCE], axis=1)
    distinct = np.count_nonzero(np.diff(sequences, axis=1), axis=1) + 1
    return np.unique(hashes[places[distinct >= MIN_DISTINCT]])


def take_noise(values: Floats, salt: int) -> Noise:
    """The noise of finite values of shape (n,)."""
    patterns = find_patterns(values)
    differences = _scale(np.diff(values))
    halves = (patterns >> np.uint64(SIGNS // 2)).astype(np.uint32)
    hashes = (halves ^ np.uint64(salt)) * _ODD
    places = np.flatnonzero(hashes < np.uint64(2**64 // PATTERNS_KEPT))
    places = places[~repeat_themselves(patterns[places])]
    if len(places) * PATTERNS_KEPT < FEW_PATTERNS and len(patterns) < LONG:
        places = np.flatnonzero(~repeat_themselves(patterns))
    return Noise(
        differences,
        _scale(_whiten(differences.astype(np.float64))),
        halves[places],
        places.astype(np.uint32),
    )


def _scale(differences: Floats) -> NDArray[np.int8]:
    """Differences, shape (n,), in units of which `LIMIT` is `LIMIT_IN_MEDIANS` medians."""
    sizes = np.abs(differences)
    middle = len(sizes) // 2
    # The upper median: `np.median` takes four times as long.
    median = float(np.partition(sizes, middle)[middle]) if len(sizes) else 0.0
    typical = median or float(sizes.sum()) / max(len(sizes), 1)
    scaled = differences * (LIMIT / LIMIT_IN_MEDIANS / (typical or 1.0))
    # Rounded away from zero, so that the smallest rise or fall remains one.
    scaled = np.copysign(np.ceil(np.abs(scaled)), scaled).clip(-LIMIT, LIMIT)
    return scaled.astype(np.int8)


def _whiten(differences: Floats) -> Floats:
    """The differences, shape (n,), with a flat spectrum. The beat of the batches, which all runs of
    a workload share, is in few frequencies, and noise is in all.

    The filter has the gain of a linear prediction of order `ORDER` (Yule and Walker) and no phase,
    so that a reversed series gives the same values in reverse.
    """
    count = len(differences)
    # Longer than the series, because the transform joins its end to its start.
    size = 1 << (count + ORDER).bit_length()
    spectrum = np.fft.rfft(differences, size)
    lags = np.arange(min(ORDER, count - 1) + 1)
    covariances = np.fft.irfft(np.abs(spectrum) ** 2, size)[: len(lags)]
    if len(lags) < 2 or not covariances[0]:
        return differences
    # A little noise, so that the equations of a periodic series have a solution.
    covariances[0] *= 1 + 1e-4
    table = covariances[np.abs(lags[1:, None] - lags[None, 1:])]
    weights = np.linalg.solve(table, covariances[1:])
    gain = np.abs(np.fft.rfft([1.0, *-weights], size))
    return np.fft.irfft(spectrum * gain, size)[:count]


def _split_durations(bundle: Bundle) -> Iterator[Ints]:
    """The durations of the batches of each rank in ns."""
    batches = bundle.batches
    ranks, durations_ns = batches.ints("rank"), batches.ints("end_ns") - batches.ints("start_ns")
    return (durations_ns[ranks == rank] for rank in np.unique(ranks))


def _select(series: Series, column: str) -> Ints:
    """The values of a column under load, as whole numbers; none if the samples lack it."""
    if column not in series.samples.columns:
        return np.empty(0, np.int64)
    values = series.samples.floats(column)[series.load]
    values = values[np.isfinite(values) & (np.abs(values) < HIGHEST)]
    return np.rint(values).astype(np.int64)


def _to_counter_steps(counter_j: Floats) -> Ints:
    return np.rint(np.diff(counter_j[np.isfinite(counter_j)]) * 1e3).astype(np.int64)
