#!/usr/bin/env bash
# SciPy: a 95 % bootstrap interval of the mean of three or five runs holds the true mean in about 75 or 84 %.
#
# Guess: about 95 % of the intervals hold the true mean, with the corrected method (BCa) above all.
# What happens: with scipy 1.17.0 and normal values all three methods cover too little for few values, BCa no
# more than the others. Student's t covers 95 %.
# Source: scipy 1.17.0 on PyPI, scipy.stats.bootstrap, 1 000 simulated sets of each size.
# Why it matters: benchmarks have three or five repeats. Bars made with it let runs seem different that are
# not. For means of few runs take Student's t.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check scipy==1.17.0 numpy==2.4.0 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" - << 'END'
import numpy as np
import scipy
from scipy import stats

print("scipy", scipy.__version__)
generator = np.random.default_rng(1)
SETS = 1000
for runs, least, most in ((3, 0.68, 0.82), (5, 0.78, 0.89), (30, 0.91, 0.97)):
    held = dict.fromkeys(("percentile", "basic", "BCa", "Student's t"), 0)
    for _ in range(SETS):
        values = generator.normal(0, 1, runs)
        for method in held:
            if method == "Student's t":
                low, high = stats.t.interval(0.95, runs - 1, values.mean(), stats.sem(values))
            else:
                low, high = stats.bootstrap(
                    (values,), np.mean, method=method, n_resamples=999, rng=generator
                ).confidence_interval
            held[method] += low <= 0 <= high
    shares = {method: count / SETS for method, count in held.items()}
    print(f"{runs} values: " + ", ".join(f"{m} {100 * s:.0f} %" for m, s in shares.items()))
    assert 0.93 <= shares.pop("Student's t") <= 0.97
    assert all(least <= share <= most for share in shares.values())
END
echo "as described"
