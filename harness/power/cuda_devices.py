"""Which GPUs of NVML a value of CUDA_VISIBLE_DEVICES names.

NVML counts GPUs that a cgroup forbids, as Slurm's `ConstrainDevices=yes` does, and CUDA does not. A
number in CUDA_VISIBLE_DEVICES then counts within the job, and only CUDA can tell which board it is.
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from harness.errors import MeterError

CUDA_TIMEOUT_S = 60
LIST_UUIDS = """
import ctypes, uuid
cuda = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int()
for code in (cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(count))):
    if code:
        raise SystemExit(f"CUDA error {code}")
for number in range(count.value):
    device, octets = ctypes.c_int(), ctypes.create_string_buffer(16)
    code = cuda.cuDeviceGet(ctypes.byref(device), number)
    if code := code or cuda.cuDeviceGetUuid(octets, device):
        raise SystemExit(f"CUDA error {code}")
    print(f"GPU-{uuid.UUID(bytes=octets.raw)}")
"""
"""Prints the UUIDs of the GPUs that CUDA sees, in its order. Source: CUDA driver API, device
management."""


def choose_boards(
    uuids: Sequence[str], errors: Mapping[int, str], visible: str | None
) -> list[int]:
    """Return the indices into `uuids` (in the order of NVML) of the GPUs that a value of
    CUDA_VISIBLE_DEVICES names. `errors` has the reason for each GPU without access.

    Raises MeterError if one of them has no access, or if nobody can tell which GPUs are meant.
    """
    accessible = [n for n in range(len(uuids)) if n not in errors]
    if visible is None:
        # A GPU that nobody named must not keep the others from being read and restored.
        if accessible or not errors:
            return accessible
        _refuse(errors, "choose others with CUDA_VISIBLE_DEVICES, or ask an administrator")
    of_node = visible_devices(uuids, visible)
    of_job = [accessible[n] for n in visible_devices([uuids[n] for n in accessible], visible)]
    if of_node == of_job:
        return of_node
    try:
        of_cuda = list_cuda_uuids()
    except MeterError as error:
        _refuse(
            errors,
            f"CUDA_VISIBLE_DEVICES={visible} may count without it, and {error}; name the GPUs of "
            "the job by UUID (nvidia-smi -L)",
        )
    known = {uuids[n]: n for n in accessible}
    if not of_cuda or any(uuid not in known for uuid in of_cuda):
        _refuse(
            errors,
            f"CUDA_VISIBLE_DEVICES={visible} lets CUDA compute on "
            f"{', '.join(of_cuda) or 'no GPU'}; choose others with CUDA_VISIBLE_DEVICES, or ask an "
            "administrator",
        )
    return [known[uuid] for uuid in of_cuda]


def _refuse(errors: Mapping[int, str], advice: str) -> NoReturn:
    number, reason = min(errors.items())
    raise MeterError(f"NVML gives no access to GPU {number} ({reason}); {advice}")


def list_cuda_uuids() -> list[str]:
    """Return the UUIDs of the GPUs that CUDA sees in this environment, in its order. Raises
    MeterError if CUDA does not tell."""
    try:
        # In a process of its own, because CUDA keeps what it found as long as a process lives.
        process = subprocess.run(
            [sys.executable, "-c", LIST_UUIDS],
            capture_output=True,
            text=True,
            timeout=CUDA_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MeterError(f"CUDA does not tell its GPUs ({type(error).__name__})") from None
    if process.returncode != 0:
        reason = (process.stderr.strip().splitlines() or ["no reason"])[-1]
        raise MeterError(f"CUDA does not tell its GPUs ({reason})")
    return process.stdout.split()


def visible_devices(uuids: Sequence[str], visible: str | None) -> list[int]:
    """Indices into `uuids` (in PCI order) that a value of CUDA_VISIBLE_DEVICES names. As in CUDA,
    the first invalid entry ends the list.

    A number counts in PCI order. CUDA's order is the same if all GPUs of a node are of one model;
    the workers receive UUIDs. Source: CUDA programming guide, environment variables.
    """
    if visible is None:
        return list(range(len(uuids)))
    indices: list[int] = []
    for token in (t.strip() for t in visible.split(",")):
        matches = [
            i for i, uuid in enumerate(uuids) if token.startswith("GPU-") and uuid.startswith(token)
        ]
        if token.isdigit() and int(token) < len(uuids):
            matches = [int(token)]
        if len(matches) != 1:
            break
        indices.append(matches[0])
    return indices
