"""Reports of energy as one JSON object with keys of this project: figures of a text report.

The keys are `total_energy_j`, `total_time_s` and, as far as the report has them, `system`, `model`,
`total_energy_kwh`, `total_tokens`, `average_power_w`, `peak_power_w`, `energy_per_token_j`,
`throughput_tokens_per_s`, `idle_power_w`, `active_energy_j`, `total_requests` and
`successful_requests`.
"""

from collections.abc import Iterator

from checker.audit.folder import Folder, Json, require_number, take_number, take_text
from rules.audit.row import Basis, Check, Figure, Row, Topic

TITLE = "figures of a report (total_energy_j, total_time_s)"
_KEYS = {"total_energy_j", "total_time_s"}
_J_PER_KWH = 3.6e6


def find(folder: Folder) -> Iterator[str]:
    """JSON objects with these keys."""
    for name in folder.names:
        document = folder.peek_object(name) if name.endswith(".json") else None
        if document and document.keys() >= _KEYS:
            yield name


def read(folder: Folder, name: str) -> Iterator[Row]:
    """The row of the report."""
    report = folder.read_object(name)

    def take(key: str) -> float | None:
        return take_number(report, key, name)

    energy_j = require_number(report, "total_energy_j", name)
    duration_s = require_number(report, "total_time_s", name)
    tokens, requests = take("total_tokens"), take("total_requests")
    successful = take("successful_requests")
    failed = requests - successful if requests is not None and successful is not None else 0
    yield Row(
        source="energy-report",
        place=name,
        files=(name,),
        workload=take_text(report, "model"),
        board=take_text(report, "system"),
        boards=1,
        unit="token",
        duration_s=duration_s,
        energy_j=Figure(energy_j, Basis.STATED, "total_energy_j"),
        items=Figure(tokens, Basis.STATED, "total_tokens") if tokens is not None else None,
        mean_power_w=energy_j / duration_s if duration_s > 0 else None,
        peak_power_w=take("peak_power_w"),
        items_per_s=take("throughput_tokens_per_s"),
        checks=tuple(_check(report, name, energy_j, duration_s, tokens)),
        silent=("total_energy_j: 0 J",) if energy_j == 0 else (),
        unfinished=f"{failed:g} requests failed" if failed else "",
        missing=("samples", "window", "whether tokens are output or all", "power cap"),
        remarks=("active energy is without idle: never mix it with the whole energy",),
    )


def _check(
    report: Json, name: str, energy_j: float, duration_s: float, tokens: float | None
) -> Iterator[Check]:
    def take(key: str) -> float | None:
        return take_number(report, key, name)

    if (kwh := take("total_energy_kwh")) is not None:
        how = "total_energy_j / 3.6e6"
        computed = energy_j / _J_PER_KWH
        quantity = "total_energy_kwh"
        yield Check(Topic.PARTS, quantity, "kWh", kwh, computed, how, by_construction=True)
    if (power_w := take("average_power_w")) is not None:
        how = "average_power_w x total_time_s"
        computed = power_w * duration_s
        yield Check(Topic.POWER_TIMES_TIME, "total_energy_j", "J", energy_j, computed, how)
    if tokens and (per_token := take("energy_per_token_j")) is not None:
        how = "total_energy_j / total_tokens"
        quantity = "energy_per_token_j"
        yield Check(Topic.RATE, quantity, "J", per_token, energy_j / tokens, how)
    if tokens is not None and duration_s > 0 and (rate := take("throughput_tokens_per_s")):
        how = "total_tokens / total_time_s"
        quantity = "throughput_tokens_per_s"
        yield Check(Topic.RATE, quantity, "tokens/s", rate, tokens / duration_s, how)
    idle_w, active_j = take("idle_power_w"), take("active_energy_j")
    if idle_w is not None and active_j is not None:
        how = "total_energy_j - idle_power_w x total_time_s"
        computed = energy_j - idle_w * duration_s
        yield Check(Topic.PARTS, "active_energy_j", "J", active_j, computed, how)
