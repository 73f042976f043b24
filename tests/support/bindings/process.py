"""A process that loads the libraries of this directory, in which tests open power sources."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.managers import BaseManager
from unittest import mock

from harness.power.node_meter import MeterAccess, NodeMeter
from harness.power.nodes import open_node_meter
from harness.power.source import PowerSource
from harness.power.sources import open_source


class LibraryProcess(BaseManager):
    """The process. A source that it opens stays in it; its methods are called from here, with the
    same values and errors."""

    # `register` makes both methods.
    open_source: Callable[[str], PowerSource]
    open_node_meter: Callable[[MeterAccess], NodeMeter]
    set_user: Callable[[int], None]


LibraryProcess.register(
    "open_source",
    open_source,
    exposed=(
        *("devices", "hidden", "read", "read_state", "read_counter", "read_buffer"),
        *("readback", "set_cap", "set_state", "close"),
        *("list_sm_clocks", "lock_sm_clock", "reset_sm_clock"),
    ),
)
LibraryProcess.register("open_node_meter", open_node_meter, exposed=("read", "close"))
LibraryProcess.register("set_user", os.seteuid)


@contextmanager
def start_library_process(environment: dict[str, str]) -> Iterator[LibraryProcess]:
    # Spawned and not forked: the dynamic linker reads LD_LIBRARY_PATH when a program starts.
    process = LibraryProcess(ctx=get_context("spawn"))
    with mock.patch.dict(os.environ, environment, clear=True):
        process.start()
    with process:
        yield process
