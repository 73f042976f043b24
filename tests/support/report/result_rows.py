"""Result rows without bundles behind them, for tests of the report's tables."""

from pathlib import Path
from typing import Any

from reporting.results_model import Figure, ResultRow
from reporting.run_record import Provenance, RunRecord
from rules.declarations.system import Accelerator


def make_figure(value: float, half_width: float = 0.0) -> Figure:
    return Figure(value, "measured", 10, (value - half_width, value + half_width))


def make_run_row(rate: float, *boards: str, **fields: Any) -> ResultRow:
    """A run at 700 W on boards with these UUIDs. Throughput and energy have narrow intervals."""
    row: dict[str, Any] = {
        "workload": "resnet50-train",
        "standing": "closed",
        "system": "node",
        "accelerator": "NVIDIA H200",
        "model": "H200",
        "cap_w": 700.0,
        "cap_enforced": True,
        "items_per_s_per_accelerator": make_figure(rate, 0.1),
        "joules_per_item": make_figure(700 / rate, 0.0001),
        "items_per_joule": make_figure(rate / 700, 0.0001),
        "mfu": None,
        "implausible": None,
        "count": len(boards),
        "variant": "tuned",
        "precision": "bf16",
        "provenance": Provenance(make_record(*boards), "someone@example", ()),
    }
    return ResultRow(**row | fields)


def make_record(*boards: str) -> RunRecord:
    """A record that only names its boards. Tables that compare rows read nothing else of it."""
    unread: Any = None
    return RunRecord(
        path=Path("submissions") / "-".join(boards),
        kind=(),
        accelerators=tuple(
            Accelerator("", "node1", uuid, "NVIDIA H200", "NVIDIA", None, None, 700.0)
            for uuid in boards
        ),
        declaration=unread,
        system=unread,
        environment=unread,
        headline=unread,
        observed=(),
        energy_of_record="counter",
        serving=None,
        imbalance=None,
        clocks=unread,
        spread=None,
        node=None,
        idle=None,
    )
