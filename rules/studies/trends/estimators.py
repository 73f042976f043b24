"""Two estimators of the energy of an inference from its FLOPs. Publications compare them, and they
differ by a factor of several.

- The trend estimator takes the efficiency that the trend of boards has at a date (Desislavov et
  al. 2023).
- The board estimator takes the dense peak and the power of the board at hand (Yang et al. 2024
  test it; `rules.studies.metrics.naive.estimate_by_board`).
"""

from dataclasses import dataclass
from datetime import date

from rules.studies.trends.regressions import TrendLine

DAY_S = 86_400
KILOCALORIE_J = 4_184
HUMAN_POWER_W = 2_000 * KILOCALORIE_J / DAY_S
"""Mean power of a person who eats 2 000 kcal a day."""
_KILOWATT_HOUR_J = 3.6e6
HUMAN_EXTERNAL_POWER_W = 79_897 * _KILOWATT_HOUR_J / (365 * DAY_S)
"""Mean power of all that a person uses beside food, from the 79 897 kWh a year of the publication,
which rounds it to 10 000 W."""


@dataclass(frozen=True)
class TrendEstimate:
    """FLOPs over the efficiency of the trend of boards at a date."""

    line: TrendLine
    """Efficiency in GFLOP/s per W."""
    when: date

    @property
    def gflops_per_w(self) -> float:
        return self.line.compute_value(self.when)

    def compute_joules(self, gflops: float) -> float:
        """Energy of an inference with these GFLOPs, a multiply-add counted as two."""
        return gflops / self.gflops_per_w


def compute_person_power_w(joules: float, inferences_per_s: float) -> float:
    """Power, in W per person, of so many inferences per person and second."""
    return joules * inferences_per_s
