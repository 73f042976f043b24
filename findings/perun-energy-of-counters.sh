#!/usr/bin/env bash
# perun: the energy of an energy counter is not the difference of its readings.
#
# Guess: a counter that rises from 0 to 1750 J gives 1750 J.
# What happens: perun 1.0.0 makes powers of the differences, sets each to the end of its second, and
# integrates them by trapezoids. 5 s at 300 W, then 5 s at 50 W, read each second, give 1875 J; in the
# other order 1625 J. Only a constant power gives the difference. The error is half a sampling period of
# the difference between the first and the last power.
# Source: perun 1.0.0 on PyPI, perun.processing.processEnergyData, as used for RAPL and NVML counters.
# Why it matters: a short region that begins under load and ends idle has too much energy, and the other
# way round too little: 7 % of ten seconds. For counters, take the difference of two readings.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check perun==1.0.0 numpy==2.4.0 2> "$place/log" || cat "$place/log"
"$place/env/bin/pip" list 2> /dev/null | grep -E '^(perun|numpy) '
cd "$place"
"$place/env/bin/python" - << 'END'
import numpy as np
from perun.data_model.data import RawData
from perun.data_model.measurement_type import Magnitude, MetricMetaData, Unit
from perun.processing import processEnergyData


def integrate(power_w):
    counter_uj = np.concatenate([[0], np.cumsum(power_w) * 1_000_000]).astype("uint64")
    times_s = np.arange(len(counter_uj), dtype="float32")
    largest = np.uint64(262_143_328_850)
    of_time = MetricMetaData(Unit.SECOND, Magnitude.ONE, np.dtype("float32"), 0, 1e9, -1)
    of_energy = MetricMetaData(
        Unit.JOULE, Magnitude.MICRO, np.dtype("uint64"), np.uint64(0), largest, np.uint64(0)
    )
    energy_j, _ = processEnergyData(RawData(times_s, counter_uj, of_time, of_energy))
    return int(counter_uj[-1]) / 1e6, float(energy_j)


found = {}
for name, power_w in (
    ("constant 300 W", [300] * 10),
    ("300 W, then 50 W", [300] * 5 + [50] * 5),
    ("50 W, then 300 W", [50] * 5 + [300] * 5),
):
    counted_j, energy_j = integrate(power_w)
    found[name] = round(energy_j)
    print(f"{name}: the counter rose by {counted_j:.0f} J, perun gives {energy_j:.0f} J")
assert list(found.values()) == [3000, 1875, 1625], found
END
echo "as described"
