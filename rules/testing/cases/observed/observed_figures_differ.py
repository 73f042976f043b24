"""Ways to state other figures that the rule `observed-figures-differ` must find."""

from rules.checks.observed.observed_figures_differ import RULE
from rules.testing.case import observation_mutation
from rules.testing.frames import ObservationFrames


@observation_mutation(RULE, rederive=False)
def energy_lowered(frames: ObservationFrames) -> None:
    frames.observation["figures"]["energy_j"] *= 0.99


@observation_mutation(RULE, rederive=False)
def more_items_than_divided_by(frames: ObservationFrames) -> None:
    frames.observation["job"]["items"]["count"] *= 2


@observation_mutation(RULE, "O106", rederive=False)
def readings_lowered(frames: ObservationFrames) -> None:
    frames.power["power_mw"] *= 0.98


@observation_mutation(RULE, rederive=False)
def peak_left_out(frames: ObservationFrames) -> None:
    frames.observation["figures"]["max_60s_w"] = None
