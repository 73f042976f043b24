#!/usr/bin/env bash
# statsmodels: the confidence interval of a time-weighted mean depends on the unit of time.
#
# Guess: the interval of a mean of power readings, weighted by how long each lasted, is the same for
# durations in seconds and in milliseconds. The mean is.
# What happens: with statsmodels 0.15.0 the interval of DescrStatsW is about 47 times narrower with
# milliseconds: weights count as numbers of observations.
# Source: statsmodels 0.15.0 on PyPI, statsmodels.stats.weightstats.DescrStatsW.
# Why it matters: 50 uneven power readings seem to give a mean within 0.1 %. Scale the weights to the
# number of readings, or better to the number of independent ones.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check statsmodels==0.15.0 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" - << 'END'
from importlib.metadata import version

import numpy as np
from statsmodels.stats.weightstats import DescrStatsW

print("statsmodels", version("statsmodels"))
generator = np.random.default_rng(0)
power_w = generator.normal(600, 20, 50)
duration_s = generator.uniform(0.05, 0.15, 50)
half_widths = []
for unit, factor in (("readings", 50 / duration_s.sum()), ("seconds", 1), ("milliseconds", 1000)):
    mean = DescrStatsW(power_w, weights=duration_s * factor)
    low, high = mean.tconfint_mean()
    half_widths.append((high - low) / 2)
    print(f"weights in {unit}: mean {mean.mean:.1f} W, 95 % interval ± {half_widths[-1]:.2f} W")
readings, seconds, milliseconds = half_widths
assert 3 < seconds / readings < 6
assert 40 < seconds / milliseconds < 55
END
echo "as described"
