"""The models of simulated boards, and the faults that they can have.

The argument of a simulator names a model and faults, as in `h200,disobey=400,drop`.
docs/simulated.md lists the faults with the rule that finds each. All except `disobey` act only
during simulated work. `harness/simulation/sensor.py` has further settings, of the sensors.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from harness.errors import MeterNameError
from harness.simulation.sensor import SENSOR_SETTINGS
from rules.suggestions import suggest

FAULTS: Mapping[str, float | None] = {
    "disobey": None,
    "drift": 20.0,
    "drop": 10.0,
    "sentinel": 10.0,
    "freeze-counter": 5.0,
    "backward-counter": 5.0,
    "slow-state": 5.0,
    "throttle": 5.0,
    "vanish": 5.0,
}
"""Each fault and its default value. `disobey` has watts and no default, `drift` % per minute,
`drop` and `sentinel` % of the readings, and the others seconds of work after which the fault
begins."""


COUNTER_READ, COUNTER_READ_MS = "counter-read", 3.7
"""The setting with the mean time in ms that reading an energy counter takes, and its default: that
of a busy H200."""


@dataclass(frozen=True)
class Model:
    """The constants of a simulated board model. A board starts in the first of its power states;
    the second one is slower."""

    name: str
    idle_w: float
    min_w: float
    max_w: float
    sm_mhz: int
    mem_mhz: int
    states: tuple[str, ...]
    locked_from_mhz: int | None = None
    """The lowest SM clock to which the board can be locked. None if it has no lock."""


MODELS = {
    "h100": Model("H100", 75, 200, 700, 1980, 2619, ("P0", "P2"), 345),
    "h200": Model("H200", 78, 200, 700, 1980, 3201, ("P0", "P2"), 345),
    # Highest caps of the data sheets in `rules.boards`, and clocks, in whole steps, of
    # https://hmc-tech.com/gpus/nvidia-b200-vs-nvidia-gb200. Idle and lowest cap are assumed.
    "b200": Model("B200", 140, 200, 1000, 1980, 3750, ("P0", "P2"), 345),
    "gb200": Model("GB200", 170, 200, 1200, 2100, 3900, ("P0", "P2"), 345),
    "mi300x": Model("MI300X", 140, 0, 750, 2100, 1300, ("auto", "low")),
}


def parse_argument(argument: str) -> tuple[Model, dict[str, float]]:
    """Parse an argument such as `h200,disobey=400,drop` into the model and the values of faults and
    settings of the sensors. Raises MeterNameError."""
    name, *fault_texts = argument.split(",")
    model = MODELS.get(name)
    if model is None:
        raise MeterNameError(
            f"there is no simulated accelerator {name!r}; there are {', '.join(MODELS)}"
            f"{suggest(name, MODELS)}"
        )
    defaults = {**FAULTS, **SENSOR_SETTINGS, COUNTER_READ: COUNTER_READ_MS}
    faults = {}
    for text in fault_texts:
        fault, _, value = text.partition("=")
        if fault not in defaults:
            raise MeterNameError(
                f"simulated accelerators have no fault {fault!r}; they have {', '.join(defaults)}"
                f"{suggest(fault, defaults)}"
            )
        try:
            number = defaults[fault] if not value else float(value)
        except ValueError:
            number = None
        if number is None or not 0 <= number < math.inf:
            raise MeterNameError(
                f"simulated accelerators: {text!r}: give a number, as in "
                f"{fault}={defaults[fault] or 400:g}"
            )
        faults[fault] = number
    return model, faults
