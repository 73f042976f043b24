#!/usr/bin/env bash
# pymannkendall: the modification of Yue and Wang finds a trend in a third to a half of series without one.
#
# Guess: a test at 5 % finds a trend in about 5 % of series of independent values; a modification for
# correlated values finds fewer, not more.
# What happens: with pymannkendall 1.4.3 original_test finds 5 %, yue_wang_modification_test about 35 % of
# series of 10 values and 48 % of those of 30 and 100.
# Source: pymannkendall 1.4.3 on PyPI, 400 simulated series of each length.
# Why it matters: throughput or power over epochs seems to drift. Test the test on series without a trend,
# or estimate the slope with its interval.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check pymannkendall==1.4.3 scipy==1.17.0 numpy==2.4.0 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" -W ignore - << 'END'
from importlib.metadata import version

import numpy as np
import pymannkendall

print("pymannkendall", version("pymannkendall"))
generator = np.random.default_rng(2)
SERIES = 400
for length in (10, 30, 100):
    found = {"original_test": 0, "yue_wang_modification_test": 0}
    for _ in range(SERIES):
        throughput = generator.normal(600, 5, length)
        for name in found:
            found[name] += bool(getattr(pymannkendall, name)(throughput).h)
    original, modified = (count / SERIES for count in found.values())
    print(f"{length} values: original {100 * original:.0f} %, Yue and Wang {100 * modified:.0f} %")
    assert original < 0.09 and modified > 0.28
END
echo "as described"
