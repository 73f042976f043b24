"""Ways to submit a log twice that the rule `observed-log-shared` must find."""

from rules.checks.observed.observed_log_shared import RULE
from rules.testing.case import observation_pairing
from rules.testing.frames import ObservationFrames
from rules.testing.observations import WINDOW_S


def copy_readings(job: ObservationFrames, other: ObservationFrames) -> None:
    job.power["power_mw"] = other.power["power_mw"].to_numpy()


@observation_pairing(RULE)
def log_of_another_day(job: ObservationFrames, other: ObservationFrames) -> None:
    copy_readings(job, other)


@observation_pairing(RULE)
def half_of_the_log(job: ObservationFrames, other: ObservationFrames) -> None:
    half = slice(WINDOW_S, None)
    job.power.loc[half, "power_mw"] = other.power.loc[half, "power_mw"]


@observation_pairing(RULE, "O105")
def same_job_under_another_name(job: ObservationFrames, other: ObservationFrames) -> None:
    copy_readings(job, other)
    job.power["time_ns"] = other.power["time_ns"].to_numpy()
    for name in ("started_at", "ended_at"):
        job.observation[name] = other.observation[name]
