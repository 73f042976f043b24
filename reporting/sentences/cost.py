"""What energy costs in money and carbon, under the assumptions of the what-if analysis."""

from dataclasses import dataclass

from reporting.report_table import NO_BREAK, format_number
from reporting.sections.planning import DEFAULTS
from rules.metrics.comparison import site_kwh
from rules.workloads import Workload, pluralize_item

_AMOUNTS = f"{{eur}}{NO_BREAK}EUR and {{gco2e}}{NO_BREAK}g{NO_BREAK}CO2e"
COST_SENTENCE = (
    f"{_AMOUNTS} for the energy of {{scope}}, at the assumed {{price}}{NO_BREAK}EUR/kWh, "
    f"{{carbon}}{NO_BREAK}g{NO_BREAK}CO2e/kWh and a PUE of {{pue}}."
)
"""The page fills it in again when the reader changes the assumptions of the what-if analysis."""
COST_IN_BRIEF = f"{_AMOUNTS}."
"""The same beside fields that show the assumptions."""


@dataclass(frozen=True)
class Cost:
    """The cost of a million items under the default assumptions."""

    subject: str
    """`Electricity for a million images`."""
    joules_per_item: float
    """The page computes the cost under other assumptions from it."""
    is_of_nodes: bool = False

    @property
    def sentence(self) -> str:
        return self._fill(COST_SENTENCE)

    @property
    def brief(self) -> str:
        return self._fill(COST_IN_BRIEF)

    def _fill(self, template: str) -> str:
        kwh = site_kwh(self.joules_per_item, 1e6, DEFAULTS.pue)
        return template.format(
            eur=format_number(kwh * DEFAULTS.price_per_kwh),
            gco2e=format_number(kwh * DEFAULTS.gco2e_per_kwh),
            price=f"{DEFAULTS.price_per_kwh:g}",
            carbon=f"{DEFAULTS.gco2e_per_kwh:g}",
            pue=f"{DEFAULTS.pue:g}",
            scope="whole nodes" if self.is_of_nodes else "the accelerators",
        )


def estimate_cost(workload: Workload, joules_per_item: float, is_of_nodes: bool = False) -> Cost:
    """The cost of a million items of a workload."""
    return Cost(
        f"Electricity for a million {pluralize_item(workload.item_name)}",
        joules_per_item,
        is_of_nodes,
    )
