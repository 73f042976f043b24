"""The exchange between the nodes of a run. One `bench-submit` runs on each node; node 0 is the
head.

The nodes exchange JSON messages through torch's TCPStore at the address of the head. The workers
use torchrun's rendezvous at the next port. All waiting is done in short steps, so that Python
handles signals between them.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from harness.errors import PlanError
from harness.power.rocm_devices import VISIBLE_VARIABLES
from harness.run.plan import Plan
from harness.system import describe_environment
from rules.bundle_format.records import Json
from rules.json_record import from_json, to_json

TIMEOUT_S = 300.0
FAREWELL_TIMEOUT_S = 10.0
STEP_S = 0.2
CONNECT_STEP = timedelta(seconds=2)
PORTS = range(1024, 65535)
HEAD_ENDED = "node 0 ended; look at its output for the reason"
NODE_FIELDS = (
    "run_id",
    "devices",
    "system",
    "node",
    "found_mw",
    "found_state",
    "unused_boards",
    "installed",
    "job",
)
"""The fields of a plan that differ between the nodes of a run."""


class ClusterError(Exception):
    """The nodes did not connect, or one of them ended. The message names the node and says what to
    do."""


def parse_address(head: str) -> tuple[str, int]:
    """Return host and port of an address HOST:PORT. Raises PlanError."""
    host, _, port = head.rpartition(":")
    if not host or not port.isdecimal() or int(port) not in PORTS:
        raise PlanError(f"--head {head}: give HOST:PORT with a port from {PORTS[0]} to {PORTS[-1]}")
    # Brackets surround an IPv6 address.
    return host.strip("[]"), int(port)


class Cluster:
    """The connection of the node `node` to the store that all `nodes` nodes share. Raises
    ClusterError if the head does not answer in time."""

    def __init__(self, nodes: int, node: int, head: str) -> None:
        self._nodes, self._node = nodes, node
        self._store = _connect(*parse_address(head), is_head=node == 0)

    def send(self, name: str, value: Json) -> None:
        """Store a value of this node under the key `name`, for other nodes to read."""
        try:
            # A key per node, because the store has one name space for all nodes.
            self._store.set(f"{name}/{self._node}", json.dumps(value))
        except RuntimeError:
            raise ClusterError(HEAD_ENDED) from None

    def receive(self, name: str, node: int, timeout_s: float = TIMEOUT_S) -> Json:
        """Wait for the value that `node` stores under the key `name`, and return it. Raises
        ClusterError after `timeout_s`."""
        key = f"{name}/{node}"
        try:
            # `get` alone would block in C++ code, where Python cannot handle a signal.
            _wait_until(lambda: self._store.check([key]), timeout_s)
            value: Json = json.loads(self._store.get(key))
        except TimeoutError:
            raise ClusterError(
                f"node {node} sent nothing for {timeout_s:.0f} s: it ended, or was not started; "
                "look at its output"
            ) from None
        except RuntimeError:
            raise ClusterError(HEAD_ENDED) from None
        return value

    def exchange(self, name: str, value: Json) -> list[Json]:
        """Return the values of all nodes under the key `name`, in the order of the nodes.

        Every node must call this. When it returns on the head, all nodes have read the values.
        """
        self.send(name, value)
        values = [self.receive(name, node) for node in range(self._nodes)]
        self.finish_exchange()
        return values

    def finish_exchange(self) -> None:
        """Let the head wait, for a short time, until the other nodes have received everything. The
        store ends with the process of the head."""
        if self._node > 0:
            self.send("heard", {})
            return
        for node in range(1, self._nodes):
            # The run is complete. A node that dies now must not make it fail.
            with suppress(ClusterError):
                self.receive("heard", node, FAREWELL_TIMEOUT_S)
            # `exchange` calls this, and the run calls it again at its end. The second call must not
            # see the old answer.
            self._store.delete_key(f"heard/{node}")


@dataclass(frozen=True)
class NodePlan:
    """What a node plans, as it sends it to the others."""

    settings: Json
    """Plan and software, which must be equal on all nodes."""
    uuids: list[str]
    """The accelerators of the node, which must differ from those of the others."""
    run_id: str


def agree_on_run_id(plan: Plan, environment: Mapping[str, str], cluster: Cluster) -> str:
    """Exchange the plans of all nodes and return the run id of the head. `environment` has the
    environment variables of the workers.

    Raises PlanError if the nodes do not plan the same run with the same software, or if two of them
    plan with the same accelerator. Raises ClusterError.
    """
    software = describe_environment(plan.machine.driver, plan.source_sha256, environment)
    for variable in VISIBLE_VARIABLES:
        # Each node has GPUs of its own, so these differ by design.
        software["variables"].pop(variable, None)
    run_settings = {k: v for k, v in plan.to_json().items() if k not in NODE_FIELDS}
    models = [device.name for device in plan.devices]
    local_plan = NodePlan(
        {**run_settings, **software, "accelerators": models},
        [device.uuid for device in plan.devices],
        plan.run_id,
    )
    node_plans = [
        from_json(NodePlan, message) for message in cluster.exchange("plan", to_json(local_plan))
    ]
    head = node_plans[0]
    for node, node_plan in enumerate(node_plans):
        keys = head.settings.keys() | node_plan.settings.keys()
        # The hash of the code comes first: other code explains most other differences.
        for key in sorted(keys, key=lambda k: k != "source_sha256"):
            value, head_value = node_plan.settings.get(key), head.settings.get(key)
            if value != head_value:
                raise PlanError(
                    f"node {node} has {key} {value}, node 0 has {head_value}; "
                    "start bench-submit with the same arguments, code and software on every node"
                )
    uuids = [uuid for node_plan in node_plans for uuid in node_plan.uuids]
    # Two harnesses on one machine can see the same GPU. Its energy would then count twice.
    if len(set(uuids)) < len(uuids):
        raise PlanError(
            "an accelerator is in the plan of two nodes; give every node its own with "
            "CUDA_VISIBLE_DEVICES, on AMD with ROCR_VISIBLE_DEVICES"
        )
    return head.run_id


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
            # Waiting does not help a head that cannot open its port. Other nodes may be early.
            if is_head or time.monotonic() > deadline_s:
                reason = str(error).split("\n", maxsplit=1)[0]
                advice = (
                    "start bench-submit on every node, with --node 0 on the machine of that "
                    "address, and name a port that is free there"
                )
                raise ClusterError(
                    f"--head {host}:{port}: the nodes cannot connect there ({reason}); {advice}"
                ) from None
            time.sleep(STEP_S)


def _wait_until(is_done: Callable[[], bool], timeout_s: float) -> None:
    """Wait until the condition is true. Raises TimeoutError."""
    deadline_s = time.monotonic() + timeout_s
    while not is_done():
        if time.monotonic() > deadline_s:
            raise TimeoutError
        time.sleep(STEP_S)
