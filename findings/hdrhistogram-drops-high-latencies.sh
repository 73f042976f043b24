#!/usr/bin/env bash
# hdrhistogram: latencies above the range leave the histogram, and its percentiles become lower.
#
# Guess: a value above the highest trackable one is counted in the last bucket, or raises an error.
# What happens: with hdrhistogram 0.10.8 record_value returns False and counts nothing. Of 90 answers after
# 10 ms and 10 after 5 s, in a histogram up to 1 s, the 99th percentile is 10 ms.
# Source: hdrhistogram 0.10.8 on PyPI.
# Why it matters: a load generator shows its best tail when the server stalls. Check what record_value
# returns, or choose a range above the time-out.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check hdrhistogram==0.10.8 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" - << 'END'
from importlib.metadata import version

from hdrh.histogram import HdrHistogram

print("hdrhistogram", version("hdrhistogram"))
latencies_ms = [10] * 90 + [5000] * 10
for highest_ms, expected_count, expected_p99 in ((1000, 90, 10), (60_000, 100, 5000)):
    histogram = HdrHistogram(1, highest_ms, 3)
    answers = {histogram.record_value(latency_ms) for latency_ms in latencies_ms}
    count, p99 = histogram.get_total_count(), histogram.get_value_at_percentile(99)
    print(f"up to {highest_ms} ms: {count} of 100 values, 99th percentile {p99} ms, returned {answers}")
    assert count == expected_count and abs(p99 - expected_p99) <= 0.002 * expected_p99
END
echo "as described"
