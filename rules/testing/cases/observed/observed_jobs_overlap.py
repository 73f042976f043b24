"""Ways to count the energy of one node twice that the rule `observed-jobs-overlap` must find."""

from rules.checks.observed.observed_jobs_overlap import RULE
from rules.testing.case import observation_pairing
from rules.testing.frames import ObservationFrames
from rules.testing.observations import DAY_S, shift_observation


@observation_pairing(RULE)
def same_window_of_another_meter(job: ObservationFrames, other: ObservationFrames) -> None:
    shift_observation(job, -DAY_S + 1)


@observation_pairing(RULE)
def half_an_hour_in_common(job: ObservationFrames, other: ObservationFrames) -> None:
    shift_observation(job, 1800 - DAY_S)
