"""Which power logs of MLPerf results can be read.

    python benchmarks/node_power/mlperf_power_logs.py DIRECTORY

DIRECTORY is a checkout of results of MLPerf inference or training. Prints a line for each power log
in it: readings, mean power, share left out, or the reason why it is refused; and then how many are
read. Exits with 1 if a log fails in another way.
"""

import argparse
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from harness.power_logs.read import read_log
from harness.power_logs.summary import summarise
from rules.power_logs.read import LogRequest
from rules.power_logs.records import PowerLogError

_NAMES = re.compile(r"(spl|ptd_logs|node_\d+|sw_\d+)\.txt(\.gz)?")


def find_logs(directory: Path) -> Iterator[Path]:
    """The power logs below a directory, by the names that MLPerf's rules give them."""
    for path in sorted(directory.rglob("*.txt*")):
        if _NAMES.fullmatch(path.name) and path.is_file():
            yield path


def describe(path: Path) -> tuple[str, str]:
    """Whether a log is `read`, `refused` or `failed`, and its figures or the reason."""
    try:
        summary = summarise(read_log(LogRequest(path)))
    except PowerLogError as error:
        reason = str(error).removeprefix(str(path)).lstrip(":, ")
        return "refused", reason.splitlines()[0]
    except Exception:  # what this script looks for
        return "failed", traceback.format_exc(limit=-1).replace("\n", " ")
    power = "not added" if summary.total is None else f"{summary.total.mean_w:.1f} W"
    kinds = sorted({problem.kind for problem in summary.problems})
    return "read", (
        f"{summary.format}, {summary.samples} readings of {len(summary.feeds)} feeds, {power}, "
        f"{summary.left_out_share:.1%} left out; {', '.join(kinds) or 'no problem'}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Formatter)
    parser.add_argument("directory", type=Path)
    directory: Path = parser.parse_args().directory
    counts = dict.fromkeys(("read", "refused", "failed"), 0)
    for path in find_logs(directory):
        outcome, text = describe(path)
        counts[outcome] += 1
        print(f"{outcome:8} {path.relative_to(directory)}: {text}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if counts["failed"] else 0


_Formatter = argparse.RawDescriptionHelpFormatter

if __name__ == "__main__":
    sys.exit(main())
