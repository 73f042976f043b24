"""A run over several nodes: one `bench-submit` on each. They meet at the address of the head, node
0, and exchange JSON.

The nodes exchange messages through torch's TCPStore. The workers use torchrun's rendezvous, at the
next port. All waiting is done in short steps, so that signals are handled between them.
"""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from harness.run.plan import PlanError
from rules.bundle_format.records import Json

TIMEOUT_S = 300.0
FAREWELL_TIMEOUT_S = 10.0
STEP_S = 0.2
CONNECT_STEP = timedelta(seconds=2)
PORTS = range(1024, 65535)


class ClusterError(Exception):
    """The nodes did not connect, or one of them ended. The message says which and what to do."""


def address(head: str) -> tuple[str, int]:
    """Host and port of a head written HOST:PORT. Raises PlanError."""
    host, _, port = head.rpartition(":")
    if not host or not port.isdecimal() or int(port) not in PORTS:
        raise PlanError(f"--head {head}: give HOST:PORT with a port from {PORTS[0]} to {PORTS[-1]}")
    # Brackets surround an IPv6 address.
    return host.strip("[]"), int(port)


class Cluster:
    """This node's end of the exchange between `nodes` nodes. Raises ClusterError where the head
    does not answer in time."""

    def __init__(self, nodes: int, node: int, head: str) -> None:
        self._nodes, self._node = nodes, node
        self._store = _connect(*address(head), is_head=node == 0)

    def tell(self, name: str, value: Json) -> None:
        """Store a value of this node under the key `name`, for other nodes to read."""
        try:
            # A key per node, because the store has one name space for all nodes.
            self._store.set(f"{name}/{self._node}", json.dumps(value))
        except RuntimeError:
            raise ClusterError("node 0 ended; its last output tells why") from None

    def hear(self, name: str, node: int, timeout_s: float = TIMEOUT_S) -> Json:
        """Wait for the value that `node` stores under the key `name`, and return it. Raises
        ClusterError after `timeout_s`."""
        key = f"{name}/{node}"
        try:
            # `get` alone would block in C++ code, where Python cannot handle a signal.
            _wait_until(lambda: self._store.check([key]), timeout_s)
            value: Json = json.loads(self._store.get(key))
        except TimeoutError:
            raise ClusterError(
                f"node {node} sent nothing for {timeout_s:.0f} s: it ended, or was not started"
            ) from None
        except RuntimeError:
            raise ClusterError("node 0 ended; its last output tells why") from None
        return value

    def exchange(self, name: str, value: Json) -> list[Json]:
        """Return the values of all nodes under the key `name`, in the order of the nodes. Every
        node calls this. All have read the values when it returns."""
        self.tell(name, value)
        values = [self.hear(name, node) for node in range(self._nodes)]
        self.part()
        return values

    def part(self) -> None:
        """Wait on the head, for a short time, until the other nodes have received everything. The
        store ends with the process of the head."""
        if self._node > 0:
            self.tell("heard", {})
            return
        for node in range(1, self._nodes):
            # A node that died after its last word does not cost the run, which is complete.
            with suppress(ClusterError):
                self.hear("heard", node, FAREWELL_TIMEOUT_S)
            # `exchange` parts, and the run parts again at its end. That must not see the old
            # answer.
            self._store.delete_key(f"heard/{node}")


def _connect(host: str, port: int, is_head: bool) -> Any:
    from torch.distributed import TCPStore

    deadline_s = time.monotonic() + TIMEOUT_S
    while True:
        try:
            # `wait_for_workers` would block until all nodes are there, and no signal would be
            # handled meanwhile.
            return TCPStore(
                host, port, is_master=is_head, timeout=CONNECT_STEP, wait_for_workers=False
            )
        except RuntimeError as error:
            # The head cannot open its port: waiting does not help. Other nodes may only be early.
            if is_head or time.monotonic() > deadline_s:
                reason = str(error).split("\n", maxsplit=1)[0]
                advice = (
                    "start bench-submit on every node, with --node 0 on the machine of that "
                    "address, where the port is free"
                )
                raise ClusterError(
                    f"--head {host}:{port}: no meeting there ({reason}); {advice}"
                ) from None
            time.sleep(STEP_S)


def _wait_until(done: Callable[[], bool], timeout_s: float) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not done():
        if time.monotonic() > deadline_s:
            raise TimeoutError
        time.sleep(STEP_S)
