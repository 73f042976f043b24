"""Ways to leave a window without readings that the rule `observed-window-uncovered` must find."""

from rules.checks.observed.observed_window_uncovered import RULE
from rules.testing.case import observation_mutation
from rules.testing.frames import ObservationFrames
from rules.testing.observations import MARGIN_S, START_NS


@observation_mutation(RULE, "O103", "O106")
def window_of_another_day(frames: ObservationFrames) -> None:
    frames.observation |= {
        "started_at": "2026-01-02T00:00:00Z",
        "ended_at": "2026-01-02T01:00:00Z",
    }


@observation_mutation(RULE, "O103", "O106")
def window_longer_than_the_log(frames: ObservationFrames) -> None:
    frames.observation["ended_at"] = "2026-01-01T02:00:00Z"


@observation_mutation(RULE, "O103", "O106")
def zone_an_hour_off(frames: ObservationFrames) -> None:
    frames.power["time_ns"] += 3600 * 10**9


@observation_mutation(RULE)
def two_minutes_missing(frames: ObservationFrames) -> None:
    seconds = (frames.power["time_ns"] - START_NS) / 1e9
    is_missing = seconds.between(1000, 1000 + 2 * MARGIN_S)
    frames.power = frames.power[~is_missing].reset_index(drop=True)


@observation_mutation(RULE)
def one_feed_failed_for_a_while(frames: ObservationFrames) -> None:
    seconds = (frames.power["time_ns"] - START_NS) / 1e9
    failed = (frames.power["feed"] == "psu2") & seconds.between(500, 900)
    frames.power.loc[failed, "power_mw"] = float("nan")
