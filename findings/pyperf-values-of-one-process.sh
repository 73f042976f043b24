#!/usr/bin/env bash
# pyperf: two equal programs differ "significantly" in about a quarter of comparisons if processes differ.
#
# Guess: compare_to calls about 5 % of comparisons of equal programs significant. pyperf starts 20 processes
# because processes differ, and takes 3 values from each.
# What happens: pyperf 2.11.0 tests all 60 values as independent ones. Where processes differ by 1 % and the
# values of a process by 0.2 %, more than 15 % of comparisons of equal programs are significant, and more
# than 60 % with 30 values of each of 10 processes; with one value of each it is the expected 5 %.
# Source: pyperf 2.11.0 on PyPI, `python -m pyperf compare_to`, 300 simulated benchmarks.
# Why it matters: the same holds for runs of a GPU, which have a board and a temperature each, and epochs
# within. A gate on regressions fails without one. Compare the means of runs.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check pyperf==2.11.0 2> "$place/log" || cat "$place/log"
"$place/env/bin/pip" list 2> /dev/null | grep '^pyperf'
cd "$place"
compare() {
    "$place/env/bin/python" - "$1" "$2" << 'END'
import random
import sys

import pyperf

processes, values_per_process = map(int, sys.argv[1:])
generator = random.Random(1)


def simulate(name):
    runs = []
    for _ in range(processes):
        mean_s = generator.gauss(1, 0.01)
        values_s = [generator.gauss(mean_s, 0.002) for _ in range(values_per_process)]
        metadata = {"name": name, "unit": "second"}
        runs.append(pyperf.Run(values_s, metadata=metadata, collect_metadata=False))
    return pyperf.Benchmark(runs)


for path in ("first.json", "second.json"):
    suite = pyperf.BenchmarkSuite([simulate(f"b{number}") for number in range(300)])
    suite.dump(path, replace=True)
END
    "$place/env/bin/python" -m pyperf compare_to -v first.json second.json > out
    local significant
    significant=$(grep -c '^Significant' out)
    echo "$1 processes, $2 values of each: $significant of 300 comparisons of equal programs are significant"
    ((significant >= $3 && significant <= $4))
}
compare 20 1 3 30
compare 20 3 45 100
compare 10 30 180 260
echo "as described"
