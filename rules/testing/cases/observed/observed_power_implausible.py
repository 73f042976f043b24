"""Ways to state impossible power that the rule `observed-power-implausible` must find."""

from rules.checks.observed.observed_power_implausible import RULE
from rules.testing.case import observation_mutation
from rules.testing.frames import ObservationFrames


@observation_mutation(RULE, "O106")
def readings_of_zero(frames: ObservationFrames) -> None:
    frames.power.loc[2000:2010, "power_mw"] = 0.0


@observation_mutation(RULE, "O106")
def a_negative_reading(frames: ObservationFrames) -> None:
    frames.power.loc[3000, "power_mw"] = -3_400_000.0


@observation_mutation(RULE)
def rating_of_a_smaller_node(frames: ObservationFrames) -> None:
    frames.observation["node"]["rated_w"] = 5600


@observation_mutation(RULE)
def each_feed_counted_twice(frames: ObservationFrames) -> None:
    frames.power["power_mw"] *= 2


@observation_mutation(RULE)
def kilowatts_read_as_watts(frames: ObservationFrames) -> None:
    frames.power["power_mw"] = (frames.power["power_mw"] / 1000).round()
