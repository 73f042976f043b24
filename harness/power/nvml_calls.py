"""Calls of NVML, repeated while they fail for a moment."""

import time
from collections.abc import Callable
from typing import Any

PASSING_CODES = frozenset({10, 19, 23, 27, 999})
"""NVML_ERROR_TIMEOUT, …_IN_USE, …_INSUFFICIENT_RESOURCES, …_NOT_READY and …_UNKNOWN; older bindings
lack some of the names. Source: NVML's API reference, nvmlReturn_t."""
ATTEMPTS = 3
PAUSE_S = 0.002
"""Three attempts fit into a sampling interval of 100 ms."""


def repeat_passing(call: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `call` returns. Repeat it while it raises an error of NVML that can pass, at most
    ATTEMPTS times. Raises the last error."""
    for _ in range(ATTEMPTS - 1):
        try:
            return call(*arguments)
        except Exception as error:  # the class is that of the binding, which may be missing here
            if getattr(error, "value", None) not in PASSING_CODES:
                raise
            time.sleep(PAUSE_S)
    return call(*arguments)


def read_field(nvml: Any, handle: Any, field: int, scope: int | None = None) -> int:
    """The value of an NVML field, of the GPU or of another scope (nvmlPowerScopeType_t). Raises
    NVMLError."""
    value = nvml.nvmlDeviceGetFieldValues(handle, [field if scope is None else (field, scope)])[0]
    # The call itself succeeds even if the field cannot be read.
    if value.nvmlReturn != nvml.NVML_SUCCESS:
        raise nvml.NVMLError(value.nvmlReturn)
    return int(value.value.uiVal)
