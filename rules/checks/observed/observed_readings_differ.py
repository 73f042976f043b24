"""The readings of an observed job are not those of its power log

## What it does
Parses node_log.gz again, as `meter.reading` in observation.json records it: format, map of the
columns, time zone. Compares readings and what `meter` states with power.csv.gz. Powers may differ
by 1 mW. A bundle without `meter.reading`, which older versions wrote, gets a warning.

## Why it is bad
The figures follow from power.csv.gz. Other readings than those of the log are invented.

## What to do
Restore the bundle, or observe the job again.

## Source
Own derivation. O103 compares the figures with power.csv.gz.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.files import shorten
from rules.bundle_format.observation_records import OBSERVATION_FILE, POWER_FILE
from rules.bundle_format.records import NODE_LOG_FILE
from rules.bundle_format.table import Table
from rules.finding import Severity, Violation, format_count
from rules.observations.bundle import ObservationBundle
from rules.power_logs.local_time import format_time
from rules.power_logs.observed import make_power_table, read_again
from rules.power_logs.records import PowerLogError
from rules.rule import ObservationRule

RULE = ObservationRule(__name__, "O106", Severity.ERROR, added="1.13.0", waivable=False)

TOLERANCE_MW = 1.0
_MOST_CHARACTERS = 500


@RULE.check
def check(bundle: ObservationBundle) -> Iterator[Violation]:
    reading = bundle.declaration.meter.reading
    if reading is None:
        yield Violation(
            OBSERVATION_FILE,
            "/meter",
            "no reading",
            "how the log was read",
            "The readings were not compared with the log. bench-submit observe records it now.",
            Severity.WARNING,
        )
        return
    try:
        again = read_again(bundle.node_log, reading)
        table = make_power_table(again.log, *bundle.window_ns)
    except PowerLogError as error:
        found = str(error)[:_MOST_CHARACTERS]
        yield Violation(NODE_LOG_FILE, "", found, "a log that can be read as recorded")
        return
    stated = bundle.observation["meter"]
    for name, value in again.describe().items():
        if stated[name] != value:
            expected = f"{shorten(value)}, as {NODE_LOG_FILE} gives"
            found = shorten(stated[name])
            yield Violation(OBSERVATION_FILE, f"/meter/{name}", found, expected)
    yield from _compare(bundle, table)


def _compare(bundle: ObservationBundle, table: Table) -> Iterator[Violation]:
    names, times_ns, power_mw = table.text("feed"), table.ints("time_ns"), table.floats("power_mw")
    for name, feed in bundle.feeds.items():
        rows = np.flatnonzero(names.equals(name))
        log_ns, log_mw, own_mw = times_ns[rows], power_mw[rows], 1e3 * feed.power_w
        if not np.array_equal(feed.times_ns, log_ns):
            odd_ns = np.setxor1d(feed.times_ns, log_ns)
            found = f"{format_count(len(own_mw), 'reading')} of feed {name}"
            place = f", one at {format_time(int(odd_ns[0]), True)}" if len(odd_ns) else ""
            expected = f"the {len(log_mw)} of the log; differing times{place}"
            yield Violation(POWER_FILE, "", found, expected)
        elif len(apart := np.flatnonzero(np.abs(own_mw - log_mw) > TOLERANCE_MW)):
            first = int(apart[0])
            yield Violation(
                POWER_FILE,
                "",
                f"{own_mw[first] / 1e3:.3f} W of feed {name} at "
                f"{format_time(int(log_ns[first]), True)}, and {len(apart)} of "
                f"{format_count(len(log_mw), 'reading')} differ",
                f"{log_mw[first] / 1e3:.3f} W, as the log has",
            )
