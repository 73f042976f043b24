#!/usr/bin/env bash
# MLPerf training: the energy of a run is not that of the time between run_start and run_stop.
#
# Guess: a node that is idle at 1 000 W for 100 s and then trains at 5 000 W for 100 s has spent 500 kJ on
# the training of 100 s.
# What happens: mlperf-logging 4.1.68 takes the mean over the whole power log, from power_measurement_start
# to power_measurement_stop, times the time to train: 300 kJ. A log that begins early lowers the energy. A
# log whose two marks have one time, as some published ones of version 4.0 have, ends in a ZeroDivisionError.
# Source: mlperf-logging 4.1.68 on PyPI, mlperf_logging.result_summarizer.result_summarizer.
# Why it matters: two results with equal readings while they train differ by when their meters were started.
# Integrate the readings between run_start and run_stop of the log of the run.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check mlperf-logging==4.1.68 2> "$place/log" || cat "$place/log"
"$place/env/bin/pip" list 2> /dev/null | grep -i '^mlperf'
"$place/env/bin/python" - "$place/node_0.txt" << 'END'
import json
import sys

from mlperf_logging.compliance_checker.mlp_parser import parse_file
from mlperf_logging.result_summarizer.result_summarizer import _compute_power_node

START_S, TRAIN_S = 1_700_000_000, 100


def write_log(first_s, last_s):
    events = [(first_s, "power_measurement_start", None)]
    events += [
        (time_s, "power_reading", 1000 if time_s <= 0 else 5000)
        for time_s in range(first_s + 1, last_s + 1)
    ]
    events.append((last_s, "power_measurement_stop", None))
    with open(sys.argv[1], "w") as file:
        for time_s, key, value in events:
            line = {
                "namespace": "",
                "time_ms": 1000 * (START_S + time_s),
                "event_type": "POINT_IN_TIME",
                "key": key,
                "value": value,
                "metadata": {"file": "read.py", "lineno": 1},
            }
            print(f":::MLLOG {json.dumps(line)}", file=file)


def compute():
    lines, _ = parse_file(sys.argv[1], "4.1.0")
    # The time to train, in ms, is that of the log of the run: run_start at 0 s, run_stop at 100 s.
    return _compute_power_node(lines, 1000 * TRAIN_S)


found = {}
for first_s in (0, -100, -300):
    write_log(first_s, TRAIN_S)
    found[first_s] = compute()
    print(f"meter started {-first_s} s before run_start: {found[first_s]:.0f}")
assert found == {0: 500_000, -100: 300_000, -300: 200_000}, found

text = open(sys.argv[1]).read().splitlines()
stop = json.loads(text[-1].removeprefix(":::MLLOG "))
stop["time_ms"] = 1000 * (START_S - 300)
with open(sys.argv[1], "w") as file:
    print("\n".join([*text[:-1], f":::MLLOG {json.dumps(stop)}"]), file=file)
try:
    compute()
except ZeroDivisionError as error:
    print(f"both marks at one time: ZeroDivisionError: {error}")
else:
    raise SystemExit("no error")
END
echo "as described"
