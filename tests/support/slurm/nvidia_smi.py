"""nvidia-smi for `scripts/wattmark-cap`, on the real nvidia-ml-py over the C library of the tests.

It has the calls of that script only. Processes of a job thus see the limits that a prolog sets.
"""

import sys

import pynvml

MIN_MW, MAX_MW, DEFAULT_MW, REQUESTED_MW = 187, 188, 189, 192
"""NVML_FI_DEV_POWER_…: field values of a board."""


def read_limit_w(handle: object, field: int) -> str:
    (value,) = pynvml.nvmlDeviceGetFieldValues(handle, [field])
    return f"{value.value.uiVal / 1e3:.2f}"


def find_board(name: str) -> object:
    """The board with this index or UUID."""
    for index in range(pynvml.nvmlDeviceGetCount()):
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        if name in (str(index), pynvml.nvmlDeviceGetUUID(handle)):
            return handle
    raise SystemExit(f"no board {name}")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["-L"]:
            print(pynvml.nvmlDeviceGetCount())
        case ["-i", name, "-pl", watts]:
            pynvml.nvmlDeviceSetPowerManagementLimit(find_board(name), 1000 * int(watts))
        case ["-i", name, "-rgc"]:
            pynvml.nvmlDeviceResetGpuLockedClocks(find_board(name))
        case ["-i", name, "--query-gpu=power.limit", *_]:
            print(read_limit_w(find_board(name), REQUESTED_MW))
        case [query, *_] if "power.min_limit" in query:
            for index in range(pynvml.nvmlDeviceGetCount()):
                handle = pynvml.nvmlDeviceGetHandleByIndex(index)
                limits = (read_limit_w(handle, field) for field in (MIN_MW, MAX_MW, DEFAULT_MW))
                print(f"{index}, {', '.join(limits)}, Enabled")
        case _:
            raise SystemExit(f"not understood: {arguments}")


pynvml.nvmlInit()
try:
    main(sys.argv[1:])
except pynvml.NVMLError as error:
    raise SystemExit(str(error)) from None
