#!/usr/bin/env bash
# DDSketch: the 99th percentile of up to a hundred requests leaves the slowest out.
#
# Guess: with a relative accuracy of 1 %, the p99 of 50 latencies is within 1 % of the slowest, which is
# their p99 by nearest rank, or of a value just below it, by interpolation as in NumPy.
# What happens: ddsketch 3.0.1 takes the value at rank floor(q (n - 1)), without interpolation. Of up to 100
# values, p99 is that of the second slowest, whatever the slowest took: the accuracy is one of the value
# at this rank. Here one of 50 answers takes 10 s and the others 0.1 s: p99 is 0.1 s.
# Source: ddsketch 3.0.1 on PyPI, the sketch of Datadog's clients.
# Why it matters: a short serving run, or a minute of a dashboard, hides its one stalled request, and two
# tools give p99 of the same latencies that differ hundredfold.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check ddsketch==3.0.1 numpy==2.3.5 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" - << 'END'
from importlib.metadata import version

import numpy as np
from ddsketch import DDSketch

print("ddsketch", version("ddsketch"), "numpy", version("numpy"))


def p99(latencies_s):
    sketch = DDSketch(relative_accuracy=0.01)
    for latency_s in latencies_s:
        sketch.add(latency_s)
    return sketch.get_quantile_value(0.99)


for count in (50, 1000):
    # One answer in fifty stalls.
    latencies_s = [10.0 if number % 50 == 49 else 0.1 for number in range(count)]
    nearest_s = float(np.percentile(latencies_s, 99, method="inverted_cdf"))
    linear_s = float(np.percentile(latencies_s, 99))
    print(f"{count} latencies: DDSketch {p99(latencies_s):.2f} s, NumPy {linear_s:.2f} s, nearest rank {nearest_s:.2f} s")
    if count == 50:
        assert p99(latencies_s) < 0.11 and linear_s > 5 and nearest_s == 10
    else:
        assert abs(p99(latencies_s) / 10 - 1) <= 0.011

# The slowest of a hundred is left out, whatever it took; one more latency brings it back.
assert p99([0.1] * 99 + [1000.0]) < 0.11
assert p99([0.1] * 98 + [10.0, 1000.0]) < 10.2
END
echo "as described"
