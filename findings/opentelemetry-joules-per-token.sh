#!/usr/bin/env bash
# OpenTelemetry to Prometheus: joules per token arrive as joules.
#
# Guess: a gauge with the UCUM unit `J/{token}` keeps its denominator in the name that Prometheus shows, as `J/s` does,
# which becomes `_joules_per_second`.
# What happens: what is in braces is dropped together with the stroke, and `J/{token}` becomes `_J`, the name of an energy.
# `{token}/J` becomes `_per_J`. `J` alone becomes `_joules`, and `W` becomes `_watts`, but kJ, kW, mW, Wh and kWh stay as
# they are, so energies of one fleet have names with several units.
# Source: opentelemetry-exporter-prometheus 0.66b2, opentelemetry-sdk 1.45.2 and prometheus-client 0.26.0 on PyPI.
# Why it matters: a query that sums `*_J` adds joules per token to joules. Who exports efficiency through OpenTelemetry
# writes the denominator into the name of the instrument.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
    opentelemetry-sdk==1.45.2 opentelemetry-exporter-prometheus==0.66b2 prometheus-client==0.26.0 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" - << 'END'
from importlib.metadata import version

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY

EXPECTED = {
    "J": "_joules",
    "J/s": "_joules_per_second",
    "J/{token}": "_J",
    "{token}/J": "_per_J",
    "W": "_watts",
    "kJ": "_kJ",
    "kW": "_kW",
    "mW": "_mW",
    "Wh": "_Wh",
    "kWh": "_kWh",
}
meter = MeterProvider(metric_readers=[PrometheusMetricReader()]).get_meter("node")
for number, unit in enumerate(EXPECTED):
    meter.create_gauge(f"gauge{number}", unit=unit).set(1.0)
names = {family.name for family in REGISTRY.collect()}
packages = "opentelemetry-exporter-prometheus", "opentelemetry-sdk", "prometheus-client"
print(", ".join(f"{package} {version(package)}" for package in packages))
for number, (unit, end) in enumerate(EXPECTED.items()):
    (name,) = (name for name in names if name.startswith(f"gauge{number}"))
    print(f"{unit:9} -> {name}")
    assert name == f"gauge{number}{end}", (unit, name)
END
echo "as described"
