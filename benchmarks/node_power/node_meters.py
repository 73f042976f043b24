"""Whether node meters and the sampler of the accelerators disturb each other.

    chrt -r 10 python benchmarks/node_power/node_meters.py [--seconds 60]

Reads a node meter of each kind every second, each in a process of its own against a real server of
its protocol, and eight simulated boards every 100 ms beside them. The power that the servers give
changes every 5 s. Prints a line per meter: readings, failed ones, missed ticks, mean, its
difference from the truth, the largest error of a reading, and the time per reading; then the
intervals of the sampler alone and beside the meters. Exits with 1 if a reading failed, a tick was
missed, a mean is not true within the step of the meter, or the 99th percentile is above 101 ms.
Needs the extras `dev` and `meters`, ipmitool and snmpd. chrt keeps other programs of a busy machine
out of the times.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.meters.side_by_side import Measurement, ServedMeter, measure, serve_meters

LONGEST_P99_MS = 101.0
"""Largest 99th percentile of the intervals of the sampler, which is due every 100 ms."""


def print_meter(measurement: Measurement, meter: ServedMeter, missed: int) -> bool:
    """Print the line of a meter, and return whether it read the truth every second."""
    rows = measurement.node_rows[meter.kind]
    failed = sum(row["status"] != "ok" for row in rows)
    mean_w = statistics.mean(measurement.power_w(meter.kind))
    difference_w = mean_w - statistics.mean(measurement.true_power_w(meter))
    took_ms = sorted((int(row["read_ns"]) - int(row["sent_ns"])) / 1e6 for row in rows)
    print(
        f"{meter.kind:8} {len(rows):4} {failed:6} {missed:6} {mean_w:10.3f} {difference_w:+8.3f} "
        f"{meter.resolution_w:7.3f} {measurement.largest_error_w(meter):8.3f} "
        f"{statistics.median(took_ms):9.2f} {took_ms[-1]:8.2f}"
    )
    return not failed and not missed and abs(difference_w) <= meter.resolution_w


def print_sampler(name: str, measurement: Measurement) -> bool:
    """Print the line of the sampler, and return whether it kept its rhythm."""
    intervals_ms = measurement.board_intervals_ms()
    p99_ms = intervals_ms[int(0.99 * len(intervals_ms))]
    counts = measurement.board_counts
    print(
        f"sampler {name}: {counts['ticks']} ticks, {counts['missed']} missed; intervals "
        f"{intervals_ms[0]:.2f} to {intervals_ms[-1]:.2f} ms, 99th percentile {p99_ms:.2f} ms"
    )
    return not counts["missed"] and p99_ms <= LONGEST_P99_MS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        with serve_meters(directory) as meters:
            measurement = measure(directory, meters, seconds)
            alone = measure(directory, {}, seconds)
    print("meter    read failed missed     mean W -truth W  step W  error W median ms  most ms")
    missed = {sampling.meter: sampling.missed for sampling in measurement.sampling}
    is_good = [print_meter(measurement, meter, missed[kind]) for kind, meter in meters.items()]
    print_sampler("alone", alone)
    is_good.append(print_sampler("beside the meters", measurement))
    sys.exit(not all(is_good))


if __name__ == "__main__":
    main()
