"""Ways to put other readings beside a log that the rule `observed-readings-differ` must find."""

from rules.checks.observed.observed_readings_differ import RULE
from rules.testing.case import observation_mutation
from rules.testing.frames import ObservationFrames
from rules.testing.observations import rederive_observation


def restate(frames: ObservationFrames) -> None:
    """State the figures of the readings beside the log as it was."""
    node_log, reading = frames.node_log, frames.observation["meter"]["reading"]
    logs = [dict(log) for log in reading["logs"]]
    rederive_observation(frames)
    frames.node_log, reading["logs"] = node_log, logs


@observation_mutation(RULE, rederive=False)
def readings_lowered(frames: ObservationFrames) -> None:
    frames.power["power_mw"] = (0.97 * frames.power["power_mw"]).round()
    restate(frames)


@observation_mutation(RULE, rederive=False)
def one_reading_lowered(frames: ObservationFrames) -> None:
    frames.power.loc[3000, "power_mw"] = 2_000_000.0
    restate(frames)


@observation_mutation(RULE, rederive=False)
def high_readings_left_out(frames: ObservationFrames) -> None:
    high = frames.power["power_mw"] > 3_520_000
    frames.power = frames.power[~high].reset_index(drop=True)
    restate(frames)


@observation_mutation(RULE, rederive=False)
def log_of_another_node(frames: ObservationFrames) -> None:
    frames.node_log = frames.node_log.replace(",psu1,3", ",psu1,2")


@observation_mutation(RULE, rederive=False)
def unit_of_the_map_a_thousandth(frames: ObservationFrames) -> None:
    reading = frames.observation["meter"]["reading"]
    reading["map"] = {**reading["map"], "power": {"column": "power", "unit": "uW"}}


@observation_mutation(RULE, rederive=False)
def mean_stated_as_instant(frames: ObservationFrames) -> None:
    frames.observation["meter"]["interval"] = "instant"
    restate(frames)


@observation_mutation(RULE, rederive=False)
def log_that_is_no_log(frames: ObservationFrames) -> None:
    frames.node_log = "a power log\n" * frames.node_log.count("\n")


@observation_mutation(RULE, rederive=False)
def log_cut(frames: ObservationFrames) -> None:
    frames.node_log = frames.node_log[: len(frames.node_log) // 2]


@observation_mutation(RULE, rederive=False)
def left_out_reading_concealed(frames: ObservationFrames) -> None:
    frames.node_log += "1767226000500000000,psu1,-3400000\n"
    frames.observation["meter"]["reading"]["logs"][0]["lines"] += 1
