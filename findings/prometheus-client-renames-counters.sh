#!/usr/bin/env bash
# prometheus_client: energy counters of DCGM get another name when their exposition is read and passed on.
#
# Guess: samples that the parser reads have the names of the text, and a relay exposes them again as they were.
# What happens: prometheus_client 0.26.0 appends `_total` to every counter that has none, on reading:
# DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION becomes DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total. Gauges, such as
# the power, keep their names.
# Source: prometheus_client 0.26.0 on PyPI, prometheus_client.parser and generate_latest; dcgm-exporter types its
# energy as a counter.
# Why it matters: behind a relay or a filter written with it, queries for the energy of a job find nothing,
# while those for power go on. Query both names.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check prometheus_client==0.26.0 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" - << 'END'
from importlib.metadata import version

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

print("prometheus_client", version("prometheus_client"))
ENERGY, POWER = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_POWER_USAGE"
TEXT = f"""# TYPE {ENERGY} counter
{ENERGY}{{gpu="0"}} 123456789
# TYPE {POWER} gauge
{POWER}{{gpu="0"}} 691.5
"""


class Relay:
    def collect(self):
        return text_string_to_metric_families(TEXT)


read = [sample.name for family in Relay().collect() for sample in family.samples]
print("read:", *read)
assert read == [f"{ENERGY}_total", POWER]
registry = CollectorRegistry()
registry.register(Relay())
lines = [line for line in generate_latest(registry).decode().splitlines() if line[0] != "#"]
print("exposed:", *lines, sep="\n  ")
assert [line.split("{")[0] for line in lines] == [f"{ENERGY}_total", POWER]
END
echo "as described"
