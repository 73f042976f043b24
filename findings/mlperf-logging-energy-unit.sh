#!/usr/bin/env bash
# MLPerf training: the energy of a node log is in joules where the summary says kJ, and ends with the last
# reading.
#
# Guess: 1 000 W for 60 s are 60 kJ, however often the meter is read.
# What happens: mlperf-logging 4.1.68 computes 60000 if a reading falls on the stop line, and compute_score
# prints this value as "Energy (kJ)". Each reading counts for the time before it, and the time after the last
# one counts as 0 W: with readings every 25 s, a minute at constant 1 000 W is 50000.
# Source: mlperf-logging 4.1.68 on PyPI, mlperf_logging.result_summarizer and its example for power.
# Why it matters: read as printed, a result is a thousand times too high, and a slow meter lowers it by up
# to one interval. Recompute energy from the node logs.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check mlperf-logging==4.1.68 2> "$place/log" || cat "$place/log"
"$place/env/bin/pip" list 2> /dev/null | grep -i '^mlperf'
compute() {
    "$place/env/bin/python" - "$1" > "$place/node_0.txt" << 'END'
import json
import sys

interval_s = int(sys.argv[1])
events = [(0, "power_measurement_start", None), (60, "power_measurement_stop", None)]
events += [(time_s, "power_reading", 1000) for time_s in range(interval_s, 61, interval_s)]
for time_s, key, value in sorted(events, key=lambda event: (event[0], event[1] != "power_reading")):
    line = {
        "namespace": "",
        "time_ms": 1_700_000_000_000 + 1000 * time_s,
        "event_type": "POINT_IN_TIME",
        "key": key,
        "value": value,
        "metadata": {"file": "read.py", "lineno": 1},
    }
    print(f":::MLLOG {json.dumps(line)}")
END
    "$place/env/bin/python" -m mlperf_logging.mllog.examples.power.compute_metric_example \
        --input-log "$place/node_0.txt" --ruleset 4.1.0 | sed "s/^/read every $1 s: /" | tee "$place/out"
    grep -q "$2" "$place/out"
}
compute 10 'consumed: 60000'
compute 25 'consumed: 50000'
package=$("$place/env/bin/python" -c 'import mlperf_logging; print(mlperf_logging.__path__[0])')
grep -h -m 1 -o 'Power Score - Energy (kJ): {power_score}' "$package/result_summarizer/compute_score/__main__.py"
echo "as described"
