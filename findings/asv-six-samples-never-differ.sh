#!/usr/bin/env bash
# asv: with six samples a side, no difference between two commits is significant, however large.
#
# Guess: two sets of samples that do not overlap, 100 W against 200 W, differ significantly with five samples a side, and
# all the more with six.
# What happens: with six samples a side the answer is no; with three to five, and from seven on, it is yes. With small sets
# asv compares intervals. With larger ones it takes the Mann-Whitney U test at p < 0.002, once the smallest p is below
# that. It takes the one-sided smallest p, 1/924 for six and six, and then compares the two-sided p, 2/924, which cannot
# be below. So it is with four and nine, and with five and seven.
# Source: asv 0.6.6 and asv_runner 0.3.2 on PyPI, `is_different` in asv/_stats.py, which `asv compare` and
# `asv continuous` ask.
# Why it matters: who adds a sixth repeat of a power or throughput measurement, to be surer, hides every regression.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check asv==0.6.6 asv_runner==0.3.2 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" - << 'END'
from importlib.metadata import version

from asv._stats import is_different
from asv_runner.statistics import compute_stats


def differ(count_a, count_b):
    """Whether 100.00, 100.01, … and 200.00, 200.01, … differ."""
    sides = [[level + i / 100 for i in range(n)] for level, n in ((100, count_a), (200, count_b))]
    return is_different(*sides, *(compute_stats(samples, 1)[1] for samples in sides))


SIZES = range(3, 12)
print(f"asv {version('asv')}, asv_runner {version('asv_runner')}")
for size in SIZES:
    print(f"{size} samples of 100 against {size} of 200: {'differ' if differ(size, size) else 'do not differ'}")
assert [size for size in SIZES if not differ(size, size)] == [6]
missed = [(a, b) for a in SIZES for b in SIZES if a <= b and not differ(a, b)]
print("sizes at which the two are told to be equal:", *missed)
assert missed == [(4, 9), (5, 7), (6, 6)]
END
echo "as described"
