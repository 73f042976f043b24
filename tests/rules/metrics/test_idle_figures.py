"""Idle power and phases of samples whose energy is known."""

import numpy as np
import pandas as pd
import pytest

from rules.bundle_format.events import PhaseEnded
from rules.bundle_format.records import BATCH_COLUMNS, SAMPLE_COLUMNS
from rules.bundle_format.table import Table
from rules.declarations.run import RunDeclaration
from rules.metrics.energy import MetricsError
from rules.metrics.figures import IdleFigures
from rules.metrics.idle import compute_idle_figures
from rules.metrics.parts import split_into_parts
from rules.testing.frames import table_of

S = 1_000_000_000
LEVELS_W = {0: 70.0, 10: 90.0, 20: 100.0, 30: 120.0, 40: 600.0}
"""Power from each second on."""
PHASES = {"bare": (2, 8), "start-up": (8, 20), "build": (20, 28), "resident": (31, 39)}
END_S = 70


def make_samples(uuid: str, factor: float = 1.0, interval_ms: int = 100) -> pd.DataFrame:
    """Samples of a board whose power is that of `LEVELS_W`, with an exact energy counter."""
    times_s = np.arange(0, END_S + 1e-9, interval_ms / 1e3)
    power_w = np.array([LEVELS_W[max(s for s in LEVELS_W if s <= t)] for t in times_s]) * factor
    energy_j = np.concatenate(([0.0], np.cumsum(np.diff(times_s) * power_w[:-1])))
    frame = pd.DataFrame(dict.fromkeys(SAMPLE_COLUMNS, np.nan), index=range(len(times_s)))
    frame["scheduled_ns"] = frame["read_ns"] = np.round(times_s * S).astype("int64")
    frame["node"], frame["accelerator"], frame["status"] = "node0", uuid, "ok"
    frame["power_state"] = ""
    frame["power_mw"], frame["energy_mj"] = 1e3 * power_w, 1e3 * energy_j
    return frame


def compute(
    phases: dict[str, tuple[float, float]] = PHASES, unused: pd.DataFrame | None = None
) -> IdleFigures:
    samples = table_of(make_samples("A"))
    # Epoch 0 lasts from 40 to 50 s, epoch 1 from 50 to 60 s.
    rows = [(epoch, 0, 0, (40 + 10 * epoch) * S, (50 + 10 * epoch) * S, 1) for epoch in (0, 1)]
    batches = table_of(pd.DataFrame(rows, columns=list(BATCH_COLUMNS)))
    result = {
        "protocol": "1.1",
        "attempt": 1,
        "ranks": [{"rank": 0, "node": "node0", "accelerators": ["A"]}],
    }
    events = [
        PhaseEnded(
            node="node0",
            attempt=1,
            time_ns=0,
            phase=phase,
            start_ns=round(start_s * S),
            end_ns=round(end_s * S),
        )
        for phase, (start_s, end_s) in phases.items()
    ]
    unused_samples: dict[str, Table] = {} if unused is None else {"node0": table_of(unused)}
    parts = split_into_parts(result, samples, batches)
    run = RunDeclaration.from_document(result)
    return compute_idle_figures(run, events, parts, batches, "counter", unused_samples)


def test_power_and_energy_of_known_phases() -> None:
    idle = compute()
    (board,) = idle.boards
    assert (board.bare_w, board.resident_w) == pytest.approx((70.0, 120.0))
    total_j = 10 * (70 + 90 + 100 + 120) + 30 * 600
    assert (board.energy_j, board.mean_w) == pytest.approx((total_j, total_j / END_S))
    phases = {phase.phase: (phase.seconds, phase.energy_j) for phase in idle.phases}
    assert phases["start-up"] == pytest.approx((12.0, 2 * 70 + 10 * 90))
    assert phases["discarded"] == pytest.approx((10.0, 6000.0))
    assert phases["scored"] == pytest.approx((10.0, 6000.0))
    # From second 8 to 50, without the 8 s of the resident phase.
    spent_j = 2 * 70 + 10 * (90 + 100 + 120) + 10 * 600
    assert phases["preparation"] == pytest.approx((42.0 - 8.0, spent_j - 8 * 120))
    assert phases["all"] == pytest.approx((70.0, total_j))


def test_unused_boards_are_read_at_their_own_rate() -> None:
    unused = make_samples("B", factor=0.5, interval_ms=1000)
    board = compute(unused=unused).boards[1]
    assert (board.accelerator, board.used) == ("B", False)
    assert (board.bare_w, board.resident_w) == pytest.approx((35.0, 60.0))
    assert board.energy_j == pytest.approx(0.5 * (10 * 380 + 30 * 600))


def test_power_of_unused_boards_is_unknown_if_readings_cover_less_than_half_of_a_phase() -> None:
    unused = make_samples("B", interval_ms=1000)
    board = compute(unused=unused[unused["read_ns"] >= 6 * S]).boards[1]
    assert board.bare_w is None
    assert board.resident_w == pytest.approx(120.0)


def test_unused_boards_without_readings_have_no_figures() -> None:
    unused = make_samples("B", interval_ms=1000)
    unused[["power_mw", "energy_mj"]] = np.nan
    board = compute(unused=unused).boards[1]
    assert (board.bare_w, board.resident_w, board.mean_w, board.energy_j) == (None,) * 4


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        ({**PHASES, "bare": (-5, 8)}, "outside the samples"),
        ({**PHASES, "resident": (39, 39)}, "a phase ends at"),
        ({name: PHASES[name] for name in ("bare", "start-up", "build")}, "no event of the phase"),
    ],
)
def test_phases_that_the_evidence_does_not_allow_are_refused(
    phases: dict[str, tuple[float, float]], message: str
) -> None:
    with pytest.raises(MetricsError, match=message):
        compute(phases)
