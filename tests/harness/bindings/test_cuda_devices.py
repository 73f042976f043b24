"""CUDA_VISIBLE_DEVICES in a job whose cgroup forbids GPUs of the node, as Slurm's
`ConstrainDevices=yes` makes it: NVML counts all GPUs, CUDA those of the job."""

from pathlib import Path

import pynvml
import pytest
from support.bindings.boards import Boards, map_boards
from support.bindings.build import CUDA_LIBRARY, needs_cc, run_code
from support.bindings.fixtures import libraries as libraries

from harness.errors import MeterError
from harness.power import cuda_devices
from harness.power.cuda_devices import choose_boards

UUIDS = [f"GPU-0000000{n}-0000-0000-0000-000000000000" for n in range(4)]
NO_PERMISSION = "Insufficient Permissions"
CODE = """
import os
os.environ["CUDA_VISIBLE_DEVICES"] = {visible!r}
from harness.power.sources import open_source
try: print([device.uuid for device in open_source("nvidia").devices()])
except Exception as error: print(error)
"""
pytestmark = pytest.mark.xdist_group("bindings")


def forbid(boards: Boards, *numbers: int) -> None:
    for number in numbers:
        code = pynvml.NVML_ERROR_NO_PERMISSION
        boards.board[number].fail("nvmlDeviceGetHandleByIndex_v2", code)


def open_meter(libraries: Path, boards: Path, visible: str) -> str:
    return run_code(libraries, boards, CODE.format(visible=visible)).strip()


@needs_cc
@pytest.mark.parametrize(
    ("forbidden", "visible", "measured"),
    [
        ((0, 1), "0,1", UUIDS[2:]),
        ((0, 1), "1,0", [UUIDS[3], UUIDS[2]]),
        ((0, 2), "1", [UUIDS[3]]),
        ((2, 3), "0,1", UUIDS[:2]),
        ((0, 1), UUIDS[3], [UUIDS[3]]),
        ((), "0,1", UUIDS[:2]),
    ],
)
def test_the_boards_on_which_cuda_computes_are_measured(
    libraries: Path, tmp_path: Path, forbidden: tuple[int, ...], visible: str, measured: list[str]
) -> None:
    boards = map_boards(tmp_path / "boards", count=4)
    forbid(boards, *forbidden)
    assert open_meter(libraries, tmp_path / "boards", visible) == str(measured)


@needs_cc
def test_without_cuda_numbers_that_may_count_within_the_job_are_refused(
    libraries: Path, tmp_path: Path
) -> None:
    only_nvml = tmp_path / "libraries"
    only_nvml.mkdir()
    for path in libraries.iterdir():
        if path.name != CUDA_LIBRARY:
            (only_nvml / path.name).symlink_to(path)
    forbid(map_boards(tmp_path / "boards", count=4), 0, 1)
    message = open_meter(only_nvml, tmp_path / "boards", "0,1")
    assert message.startswith(
        f"NVML gives no access to GPU 0 ({NO_PERMISSION}); CUDA_VISIBLE_DEVICES=0,1 may count "
        "without it, and CUDA does not tell its GPUs (OSError: libcuda.so.1"
    )
    assert message.endswith("name the GPUs of the job by UUID (nvidia-smi -L)")
    assert open_meter(only_nvml, tmp_path / "boards", UUIDS[2]) == str([UUIDS[2]])


@pytest.mark.parametrize("of_cuda", [[UUIDS[0]], []])
def test_a_board_that_nvml_forbids_and_cuda_uses_is_refused(
    monkeypatch: pytest.MonkeyPatch, of_cuda: list[str]
) -> None:
    monkeypatch.setattr(cuda_devices, "list_cuda_uuids", lambda: of_cuda)
    with pytest.raises(MeterError, match=r"GPU 0 \(no\); CUDA_VISIBLE_DEVICES=0 lets CUDA compute"):
        choose_boards(["", UUIDS[1]], {0: "no"}, "0")
