"""Starts the worker processes of a run on this node."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from checker.judging.cpu import count_cores
from harness.power.node_reader import NodeReaders
from harness.power.rocm_devices import VISIBLE_VARIABLES
from harness.power.source import Device
from harness.processes import Workers
from harness.run.cluster import parse_address
from harness.run.plan import Plan
from harness.run.progress import View


def make_node_readers(plan: Plan, directory: Path, view: View) -> NodeReaders:
    """Return the reading processes of this node's meters, not yet started."""
    access_file = Path(plan.meters_file or "")
    return NodeReaders(plan.node_meters, plan.node_name, directory, access_file, view.print_line)


def make_workers(plan: Plan, directory: Path, view: View) -> Workers:
    """Return the workers of a plan, not yet started. Their output goes to the log."""
    arguments = ["harness.run.workers.worker", str(directory.resolve())]

    def log_output(line: str) -> None:
        # A full disk ends the run elsewhere. Here it must not stop the reader, because workers
        # block when nobody reads their output.
        with suppress(OSError):
            view.log_line(f"| {line}")

    # A single process needs no rendezvous. Without torchrun, which imports torch, it starts seconds
    # faster.
    is_single = plan.processes == plan.nodes == 1
    rendezvous = None if is_single else _make_rendezvous_arguments(plan)
    return Workers(plan.processes, rendezvous, arguments, make_worker_environment(plan), log_output)


def _make_rendezvous_arguments(plan: Plan) -> list[str]:
    """Return the options of torchrun that name the address at which the nodes meet."""
    if plan.head is None:
        return ["--standalone", "--nnodes=1"]
    host, port = parse_address(plan.head)
    # The exchange between the nodes uses the named port itself (`harness.run.cluster`).
    endpoint = [f"--master-addr={host}", f"--master-port={port + 1}"]
    # Static: the ranks follow from --node, so they match `Plan.ranks`. With other backends torchrun
    # assigns them.
    return [
        "--rdzv-backend=static",
        f"--nnodes={plan.nodes}",
        f"--node-rank={plan.node}",
        *endpoint,
    ]


def make_worker_environment(plan: Plan) -> dict[str, str]:
    """Return the environment variables of the workers. They select the GPUs, and the number of
    threads if the plan has one or the workers compute on the CPU."""
    variables = make_environment(plan.machine.torch_device, plan.devices, plan.processes)
    if plan.configuration.cpu_threads is not None:
        variables["OMP_NUM_THREADS"] = str(plan.configuration.cpu_threads)
    return variables


def make_board_environment(
    torch_device: str, devices: Sequence[Device], index: int
) -> tuple[dict[str, str], str]:
    """Return the environment variables of a worker that computes on the device with this index
    only, and the name of the device in torch there. `torch_device` is `cuda` or `cpu`."""
    if torch_device == "cpu":
        return make_environment(torch_device, devices, len(devices)), torch_device
    environment = make_environment(torch_device, (devices[index],), 1)
    # Without a UUID for ROCm's variables, the worker sees all GPUs of the node.
    return environment, f"cuda:{index if _lacks_uuids(devices) else 0}"


def make_environment(
    torch_device: str, devices: Sequence[Device], processes: int
) -> dict[str, str]:
    """Return the environment variables of `processes` workers on these devices."""
    uuids = ",".join(d.uuid for d in devices)
    if torch_device == "cpu":
        # Torch starts a thread per core in each process. Several processes would then slow each
        # other down.
        threads = max(1, count_cores() // processes)
        variables = {
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(threads)),
        }
        return {**os.environ, **variables}
    if devices[0].vendor != "AMD":
        # UUIDs instead of numbers, because CUDA and NVML may count in different orders.
        return {**os.environ, "CUDA_VISIBLE_DEVICES": uuids}
    if _lacks_uuids(devices):
        return dict(os.environ)
    # A HIP or CUDA variable of the user would select once more among the GPUs that ROCr leaves.
    return {k: v for k, v in os.environ.items() if k not in VISIBLE_VARIABLES} | {
        "ROCR_VISIBLE_DEVICES": uuids
    }


def _lacks_uuids(devices: Sequence[Device]) -> bool:
    # GPUs of virtual machines have no UUID but a PCI address, which ROCm's variables do not take.
    return any(d.uuid.startswith("PCI-") for d in devices)
