"""Power sources, one file each. The harness finds a source by its file name.

How to write one (docs/write-a-meter.md has a complete example):

1. Create `harness/power/sources/NAME.py`, or put `NAME.py` into a directory that the environment
   variable WATTMARK_SOURCES names (several directories are separated by colons).
2. Define one public subclass of `harness.power.source.PowerSource` in it, with the methods `open`,
   `devices` and `read`. Import a vendor's library inside `open`, because the harness imports the
   file also on machines without this library.
3. If the source can read power limits, add `SettingsReader`; if it can set them, add `CapControl`.
   Without cap control, runs work at the cap that is in force.

No list needs an entry: `bench-submit doctor` shows the source, `--meter NAME` or
`--meter NAME:ARGUMENT` chooses it, and without `--meter` the first source that opens is used.

A meter is what the user names: `nvidia`, `rapl` or `simulated:h200`, the file and an optional
argument. A power source is the object that this name opens.
"""

import math
import os
import sys
from collections.abc import Container

from harness.errors import MeterError
from harness.power.discovery import Plugins, list_missing_methods
from harness.power.source import PowerSource

SEARCH_VARIABLE = "WATTMARK_SOURCES"

# A source of the package wins over one of the same name in another directory, because it is first
# on the path. The sampler and the watchdog inherit the variable, so they find the same files.
__path__ += [place for place in os.environ.get(SEARCH_VARIABLE, "").split(os.pathsep) if place]

# Mypy forbids abstract classes as values of `type[...]`; `Plugins` makes no instance of it.
_PLUGINS = Plugins(sys.modules[__name__], PowerSource, "meter")  # type: ignore[type-abstract]


def source_names() -> list[str]:
    """The names of all sources, sorted. A file whose name starts with an underscore is none."""
    return _PLUGINS.list_names()


def source_class(meter: str) -> type[PowerSource]:
    """The class of the source that `meter` names (`NAME` or `NAME:ARGUMENT`).

    Raises MeterError if there is no such source or its file defines no usable class.
    """
    return _PLUGINS.load_class(meter.partition(":")[0])


def open_source(meter: str) -> PowerSource:
    """Open the source that `meter` names. Raises MeterError if it cannot be used here."""
    source = source_class(meter)
    if missing := list_missing_methods(source):
        raise MeterError(f"the meter {meter} lacks the methods {', '.join(missing)}")
    try:
        return source.open(meter.partition(":")[2])
    except MeterError:
        raise
    except Exception as error:  # a mistake in a user's source must not stop runs with another one
        raise MeterError(
            f"the meter {meter} cannot be opened ({type(error).__name__}: {error})"
        ) from error


def measuring_meters(torch_devices: Container[str] = ("cuda", "cpu")) -> list[str]:
    """The sources that measure accelerators of these kinds, in the order of the automatic choice.

    A file that cannot be loaded comes last: opening it raises MeterError that tells the mistake.
    """
    order: list[tuple[float, str]] = []
    for name in source_names():
        try:
            source = source_class(name)
        except MeterError:
            # Last, so that a broken file does not stop the automatic choice of another meter.
            order.append((math.inf, name))
            continue
        if not source.simulated and source.torch_device in torch_devices:
            order.append((source.priority, name))
    return [name for _, name in sorted(order)]
