"""Which GPUs ROCm's environment variables select, how torch names them, what the kernel reads of
them, and which values of AMD SMI are missing ones."""

import contextlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import MeterError

PCI_DEVICES = Path("/sys/bus/pci/devices")
NOT_SUPPORTED = (2, 3)  # AMDSMI_STATUS_NOT_SUPPORTED, AMDSMI_STATUS_NOT_YET_IMPLEMENTED
VISIBLE_VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def visible_gpus(uuids: Sequence[str], environment: Mapping[str, str]) -> list[int]:
    """Indices into `uuids` (in HIP's order) of the GPUs that a HIP process sees, in its order.

    ROCR_VISIBLE_DEVICES selects first; empty, it selects none. HIP_VISIBLE_DEVICES, or
    CUDA_VISIBLE_DEVICES if that is empty, selects among these and counts them from 0. Both take
    numbers and UUIDs; the first invalid entry ends the list. Source: ROCm documentation, GPU
    isolation techniques; ROCr's amd_filter_device.cpp and CLR's rocdevice.cpp.
    """
    # An empty ROCR_VISIBLE_DEVICES hides all GPUs, so it differs from an unset one. An empty HIP or
    # CUDA variable is as good as unset.
    rocr, hip, cuda = (environment.get(variable) for variable in VISIBLE_VARIABLES)
    indices = list(range(len(uuids))) if rocr is None else _parse_visible(uuids, rocr)
    if narrower := hip or cuda:
        # HIP counts from 0 among the GPUs that ROCr left visible.
        indices = [indices[i] for i in _parse_visible([uuids[i] for i in indices], narrower)]
    return indices


def uuid_of_torch(text: str) -> str | None:
    """The UUID, as in `devices`, of the GPU whose `torch.cuda.get_device_properties(i).uuid` is
    `text` on ROCm; None if the GPU has no UUID.

    HIP puts the 16 hexadecimal digits into the 16 bytes of its UUID as ASCII, and torch prints
    these bytes in hexadecimal once more. Source: Score-P's adapter for HIP, and CLR's
    hip_device.cpp.
    """
    digits = bytes.fromhex(text.replace("-", "")).decode("ascii", "replace").lower()
    return f"GPU-{digits}" if re.fullmatch(r"[0-9a-f]{16}", digits) else None


def _parse_visible(uuids: Sequence[str], value: str) -> list[int]:
    indices: list[int] = []
    for token in (t.strip().lower() for t in value.split(",")):
        matches = [
            i
            for i, uuid in enumerate(uuids)
            if token.startswith("gpu-") and uuid.lower().startswith(token)
        ]
        if token.isdigit() and int(token) < len(uuids):
            matches = [int(token)]
        # An unknown, ambiguous or repeated entry ends the list, as in ROCm.
        if len(matches) != 1 or matches[0] in indices:
            break
        indices.append(matches[0])
    return indices


def refuse_numbers(environment: Mapping[str, str]) -> None:
    """Raise MeterError if a variable names GPUs by number, while HIP's order is not known."""
    for variable in VISIBLE_VARIABLES:
        if any(token.strip().isdigit() for token in environment.get(variable, "").split(",")):
            raise MeterError(
                f"{variable}={environment[variable]}: this AMD SMI does not tell in which "
                "order HIP counts (from ROCm 6.4 on it does); name the GPUs as GPU-…, which "
                "rocminfo shows, or unset it"
            )


def read_hwmon_mw(address: str) -> int | None:
    """The power in mW of the hwmon sensor of the board at this PCI address; None if the kernel has
    none."""
    # A kernel has one of the two files for a board, depending on its generation.
    for path in sorted((PCI_DEVICES / address).glob("hwmon/hwmon*/power1_[ai]*")):
        if path.name in ("power1_average", "power1_input"):
            with contextlib.suppress(OSError, ValueError):
                return round(int(path.read_text()) / 1000)
    return None


def known_number(value: Any) -> int | None:
    """A value of AMD SMI; None for its marks of a missing value: a text, or all ones in 32 or 64
    bits."""
    return (
        value
        if isinstance(value, int) and value not in (0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF)
        else None
    )


def known_milliwatts(watts: Any) -> int | None:
    """Power in W as mW; None also for all ones in 16 bits, and for 0, which a second die gives."""
    number = known_number(watts)
    return None if number in (None, 0, 0xFFFF) else number * 1000


def is_unsupported(error: Exception) -> bool:
    """Whether the board or this AMD SMI lacks the quantity for good."""
    return isinstance(error, AttributeError) or getattr(error, "err_code", None) in NOT_SUPPORTED


def join_lines(text: object) -> str:
    """The text in one line; messages of AMD SMI have several."""
    return " ".join(str(text).split())
