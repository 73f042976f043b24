"""Search the runs of a round for copies, and decide which run of a pair is the copy."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from rules.finding import Severity
from rules.fingerprints import Hashes
from rules.summaries.bundle_summary import Summary

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Repeat(Generic[Summary]):
    """A run or an observed job that repeats a part of another one."""

    run: Summary
    other: Summary
    share: float
    """How much of what is compared in `run` occurs in `other`."""


def order_runs(runs: Sequence[Summary]) -> list[Summary]:
    """Runs or studies in the order in which they are known to be: in the order of the lines of the
    LOG that first have their hash, then withdrawn ones, then the others by their end.

    A submitter states that end, so it decides only among runs of one center (`list_copies`).
    """
    return sorted(
        runs,
        key=lambda run: (
            run.first_line is None,
            run.first_line or 0,
            not run.withdrawn,
            # NaN, a date that does not exist, compares with nothing.
            run.until_s if run.until_s == run.until_s else float("inf"),
            run.path,
        ),
    )


def list_copies(earlier: Summary, later: Summary) -> tuple[Summary, ...]:
    """Which of two runs or studies that share something are to be reported: the later one.

    Both, if it is not known which is the later one (`is_order_known`). None, if they are of
    different centers and whoever runs the round has withdrawn one of them: that person has decided
    which is the copy.
    """
    if earlier.center != later.center and (earlier.withdrawn_by_round or later.withdrawn_by_round):
        return ()
    return (later,) if is_order_known(earlier, later) else (later, earlier)


def is_order_known(earlier: Summary, later: Summary) -> bool:
    """Whether `earlier`, the first of the two in `order_runs`, was there before `later`: both are
    of one center, or the LOG has it. Otherwise their order is what their submitters say, and proves
    nothing."""
    return earlier.center == later.center or earlier.first_line is not None


def choose_severity(run: Summary, other: Summary) -> Severity | None:
    """The severity of a finding that `run` shares something with `other`: a warning if nobody knows
    which of the two is the copy, None for that of the rule."""
    earlier, later = order_runs([run, other])
    return None if is_order_known(earlier, later) else Severity.WARNING


def find_repeats(
    runs: Sequence[Summary], sequences_of: Callable[[Summary], Hashes]
) -> Iterator[Repeat[Summary]]:
    """Each run to be reported because it shares sequences with another run, with the run that
    shares most of them.

    A run is compared with the first run that has a sequence. So the time grows with the number of
    sequences and not with the number of pairs.
    """
    ordered = order_runs(runs)
    hashes = [sequences_of(run) for run in ordered]
    repeats: dict[int, Repeat[Summary]] = {}
    for later, earlier, count in count_repetitions(hashes):
        copies = list_copies(ordered[earlier], ordered[later])
        for place, other in ((later, earlier), (earlier, later))[: len(copies)]:
            share = count / len(hashes[place])
            if place not in repeats or share > repeats[place].share:
                repeats[place] = Repeat(ordered[place], ordered[other], share)
    return iter(repeats.values())


def count_repetitions(
    hashes: Sequence[NDArray[np.unsignedinteger]],
) -> Iterator[tuple[int, int, int]]:
    """How many hashes of an array occurred before: the number of the array, that of the first array
    with the hashes, and their count."""
    owners, firsts = join_with_first(hashes)[:2]
    # As one number for each pair: `np.unique` takes ten times as long for pairs.
    pairs, counts = np.unique(owners * len(hashes) + firsts, return_counts=True)
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        yield *divmod(pair, len(hashes)), count


def join_with_first(
    hashes: Sequence[NDArray[np.unsignedinteger]],
) -> tuple[Indices, Indices, Indices, Indices]:
    """Where a hash occurs again in a later array.

    Returns four arrays of shape (m,): the number of the array with the repetition, that of the
    first array with the hash, and the places of the hash in both.
    """
    values = np.concatenate(hashes or [np.empty(0, np.uint64)])
    # Most hashes occur once and are left out after the first sort. It need not be stable, because
    # it is then several times faster.
    order = np.argsort(values)
    values = values[order]
    begins_group = np.diff(values, prepend=~values[:1]) != 0
    occurs_again = ~(begins_group & np.append(begins_group[1:], True)[: len(values)])
    order, begins_group = order[occurs_again], begins_group[occurs_again]
    # Equal hashes in the order of the arrays, as one number for group and place.
    offsets = np.cumsum(begins_group) * sum(map(len, hashes))
    order = np.sort(offsets + order) - offsets
    starts = np.flatnonzero(begins_group)
    firsts = np.repeat(order[starts], np.diff(starts, append=len(order)))
    owners = np.repeat(np.arange(len(hashes)), [len(own) for own in hashes])
    is_repeated = owners[order] != owners[firsts]
    order, firsts = order[is_repeated], firsts[is_repeated]
    begins = np.cumsum([0, *map(len, hashes)])
    later, earlier = owners[order], owners[firsts]
    return later, earlier, order - begins[later], firsts - begins[earlier]
