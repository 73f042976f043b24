"""Idle power or phases contradict the evidence

## What it does
Recomputes `idle` and `phases` of result.json from the events `phase-ended`, the samples and the
batches, and compares every value. It checks that the boards of the run and no others are marked as
used, and that the workers start after the phase `bare`, are built before the phase `resident`, and
run no batch before its end. Boards that the run does not use have no samples in the bundle. Of
these, it checks that their energy is at most their mean power over the time of the run.

The rule also reports a bundle whose events state the phases and whose result.json does not. A
bundle with neither is not judged: rule books before 1.6.0 had no phases.

## Why it is bad
Idle power explains how efficiency falls at low caps, and the preparation of a run costs energy that
no epoch counts. Readers compare systems by both.

## What to do
Submit result.json, events and tables as `bench-submit` wrote them, or run again.

## Source
Protocol, idle power and phases; `rules/metrics/idle.py`.
"""

import math
from collections.abc import Iterable, Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import EVENTS_FILE
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.metrics.figures import BoardIdle, IdleFigures, PhaseFigures
from rules.metrics.figures_json import idle_from_json
from rules.metrics.idle import ALL, BARE, BUILD, RESIDENT, START_UP, Window, find_phase_windows
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N118", Severity.ERROR, added="1.6.0", waivable=False)

UNUSED_TOLERANCE_S = 5.0
"""The readings of unused boards may go on for this long after those of the other boards."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.figures is None:  # T101 reports it
        return
    windows = find_phase_windows(bundle.events or (), bundle.declaration.attempt)
    stated = idle_from_json(bundle.result)
    if stated is None and not windows:
        return
    computed = bundle.idle_figures_or_reason
    if isinstance(computed, str):
        # The harness leaves out the figures if the phases of its own run do not allow them.
        if stated is not None:
            yield Violation(RESULT, "/phases", "idle power and phases", f"none: {computed}")
        return
    if stated is None:
        found = f"no idle power and phases, which {EVENTS_FILE} allows to compute"
        yield Violation(RESULT, "", found, "`idle` and `phases`")
        return
    yield from _compare_phases(stated.phases, computed.phases, bundle)
    yield from _compare_boards(stated, computed, bundle)
    for node in dict.fromkeys(rank.node for rank in bundle.ranks):
        yield from _check_order(bundle, node, windows[node])


def _compare_phases(
    stated: tuple[PhaseFigures, ...], computed: tuple[PhaseFigures, ...], bundle: Bundle
) -> Iterator[Violation]:
    places = {(phase.node, phase.phase): i for i, phase in enumerate(stated)}
    expected = {(phase.node, phase.phase): phase for phase in computed}
    if len(places) < len(stated) or places.keys() != expected.keys():
        yield Violation(RESULT, "/phases", _join(places), f"{_join(expected)}, each once")
        return
    for key, i in places.items():
        yield from _compare(
            f"/phases/{i}", stated[i], expected[key], ("seconds", "energy_j"), bundle
        )


def _join(keys: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} of {node}" for node, name in keys) or "none"


def _compare_boards(
    stated: IdleFigures, computed: IdleFigures, bundle: Bundle
) -> Iterator[Violation]:
    expected = {(board.node, board.accelerator): board for board in computed.boards}
    durations_s = {p.node: p.seconds for p in computed.phases if p.phase == ALL}
    places = {(board.node, board.accelerator): i for i, board in enumerate(stated.boards)}
    if len(places) < len(stated.boards) or expected.keys() - places.keys():
        yield Violation(RESULT, "/idle", _join(places), f"{_join(expected)} and others, each once")
        return
    for key, i in places.items():
        board, pointer = stated.boards[i], f"/idle/{i}"
        if board.used != (key in expected):
            found = f"{board.accelerator}: {board.used}"
            yield Violation(RESULT, f"{pointer}/used", found, f"{not board.used}, as in `ranks`")
        elif board.used:
            names = ("bare_w", "resident_w", "mean_w", "energy_j")
            yield from _compare(pointer, board, expected[key], names, bundle)
        elif board.mean_w is not None and board.energy_j is not None:
            duration_s = durations_s.get(board.node, 0.0) + UNUSED_TOLERANCE_S
            if board.energy_j > board.mean_w * duration_s:
                yield Violation(
                    RESULT,
                    f"{pointer}/energy_j",
                    f"{board.energy_j:.6g} J",
                    f"at most {board.mean_w * duration_s:.6g} J, the mean power over the run",
                )


def _compare(
    pointer: str,
    stated: BoardIdle | PhaseFigures,
    computed: BoardIdle | PhaseFigures,
    names: tuple[str, ...],
    bundle: Bundle,
) -> Iterator[Violation]:
    for name in names:
        value, expected = getattr(stated, name), getattr(computed, name)
        if value is None or not math.isclose(
            value, expected, rel_tol=bundle.protocol.recompute_tolerance
        ):
            yield Violation(
                RESULT, f"{pointer}/{name}", str(value), f"{expected}, recomputed from the evidence"
            )


def _check_order(bundle: Bundle, node: str, windows: dict[str, Window]) -> Iterator[Violation]:
    """Yield a violation for each idle phase of a node during which its boards may have worked."""
    ranks = [rank.rank for rank in bundle.ranks if rank.node == node]
    first_batch_ns = min(start for (_, rank), (start, _) in bundle.spans.items() if rank in ranks)
    limits = (
        (BARE, windows[BARE][1], START_UP, windows[START_UP][0]),
        (BUILD, windows[BUILD][1], RESIDENT, windows[RESIDENT][0]),
        (RESIDENT, windows[RESIDENT][1], "the first batch", first_batch_ns),
    )
    for name, end_ns, next_name, next_ns in limits:
        if end_ns > next_ns:
            yield Violation(
                EVENTS_FILE,
                "",
                f"{node}: {name} ends {(end_ns - next_ns) / 1e9:.3f} s after {next_name} starts",
                f"{name} ends first",
            )
