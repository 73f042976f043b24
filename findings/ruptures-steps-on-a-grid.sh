#!/usr/bin/env bash
# ruptures: change points of a power trace lie on every fifth reading.
#
# Guess: a step without noise between the readings 102 and 103 is found there.
# What happens: with ruptures 1.1.10, Pelt and Binseg test every fifth reading only (`jump=5`) and
# find it at 100; KernelCPD tests each one and finds it at 103.
# Source: ruptures 1.1.10 on PyPI.
# Why it matters: with readings every 100 ms, the start of a job, or the shift between two meters, is off by up
# to 0.4 s, the same in every repeat, so that it looks exact. Give jump=1.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check ruptures==1.1.10 numpy==2.4.0 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" - << 'END'
from importlib.metadata import version

import numpy as np
import ruptures

print("ruptures", version("ruptures"))
STEP = 103
power_w = np.where(np.arange(300) < STEP, 80.0, 690.0)
for algorithm in (ruptures.Pelt, ruptures.Binseg):
    for arguments in ({}, {"jump": 1}):
        found = algorithm(model="l2", **arguments).fit(power_w).predict(pen=1000)[0]
        print(algorithm.__name__, arguments or "default", found)
        assert (found == STEP) == bool(arguments) and abs(found - STEP) < 5
found = ruptures.KernelCPD(kernel="linear").fit(power_w).predict(pen=1000)[0]
print("KernelCPD default", found)
assert found == STEP
END
echo "as described"
