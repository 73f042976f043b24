"""Node meters, one file each. The harness finds a meter by its file name, which is its kind.

How to write one (docs/write-a-meter.md has a complete example):

1. Create `harness/power/nodes/KIND.py`, or put `KIND.py` into a directory that the environment
   variable WATTMARK_NODE_METERS names (several directories are separated by colons).
2. Define one public subclass of `harness.power.node_meter.NodeMeter` in it, with the methods `open`
   and `read`. Import libraries that wattmark does not require inside `open`.

No list needs an entry: `kind = "KIND"` in system.toml and meters.toml chooses it.
"""

import os
import sys

from harness.errors import MeterError
from harness.power.discovery import Plugins, list_missing_methods
from harness.power.node_meter import MeterAccess, NodeMeter

SEARCH_VARIABLE = "WATTMARK_NODE_METERS"

# The reading processes inherit the variable, so they find the same files.
__path__ += [place for place in os.environ.get(SEARCH_VARIABLE, "").split(os.pathsep) if place]

# Mypy forbids abstract classes as values of `type[...]`; `Plugins` makes no instance of it.
_PLUGINS = Plugins(sys.modules[__name__], NodeMeter, "kind of node meter")  # type: ignore[type-abstract]


def node_meter_names() -> list[str]:
    """All kinds, sorted. A file whose name starts with an underscore is none."""
    return _PLUGINS.list_names()


def node_meter_class(kind: str) -> type[NodeMeter]:
    """The class of the meters of a kind. Raises MeterError if there is no such kind or its file
    defines no usable class."""
    return _PLUGINS.load_class(kind)


def open_node_meter(access: MeterAccess) -> NodeMeter:
    """Open a meter. Raises MeterError, without address and secret, if it cannot be used."""
    meter = node_meter_class(access.kind)
    if missing := list_missing_methods(meter):
        raise MeterError(f"the node meter {access.kind} lacks the methods {', '.join(missing)}")
    try:
        return meter.open(access)
    except MeterError:
        raise
    # The texts of network libraries contain addresses.
    except Exception as error:
        raise MeterError(
            f"meter {access.id}: cannot be opened ({type(error).__name__}); run bench-submit "
            "doctor --meters"
        ) from None
