"""Check and report run without what only Linux has: functions of os, select and signal that macOS
lacks, and files below /proc and /sys."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROUND = ROOT / "submissions"
RUNS = (
    ROUND / "reference/h200/20261120T173553Z-resnet50-train-tuned-x1-700W-648e25",
    ROUND / "reference/h200/20261121T173410Z-resnet50-train-tuned-x1-700W-85582f",
)
WITHOUT_LINUX = """
import os, select, signal, sys

for module, names in {
    os: (
        "sched_getaffinity sched_setaffinity sched_getscheduler memfd_create pidfd_open eventfd "
        "copy_file_range splice setns unshare posix_fadvise posix_fallocate getxattr listxattr "
        "getrandom O_TMPFILE O_PATH O_DIRECT O_NOATIME SEEK_DATA"
    ),
    select: "epoll poll",
    signal: "sigtimedwait sigwaitinfo pidfd_send_signal",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)


def refuse_linux_files(event, arguments):
    if event in ("open", "os.listdir", "os.scandir"):
        path = arguments[0]
        if isinstance(path, str | bytes) and os.fsdecode(path).startswith(("/proc/", "/sys/")):
            raise FileNotFoundError(2, "hidden by the test", path)


sys.addaudithook(refuse_linux_files)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which every Python process lacks what only Linux has."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_LINUX)
    return {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}


def run(environment: dict[str, str], *arguments: str | Path) -> str:
    process = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_linux_is_hidden(environment: dict[str, str]) -> None:
    code = "import os; print(hasattr(os, 'sched_getaffinity'), os.path.exists('/tmp'))"
    assert run(environment, "-c", code) == "False True\n"
    with pytest.raises(AssertionError, match="hidden by the test"):
        run(environment, "-c", "open('/proc/self/stat')")


def test_check_gives_the_same_verdicts(environment: dict[str, str]) -> None:
    command = ("-m", "checker", ROUND)
    assert run(environment, *command) == run(dict(os.environ), *command)


def test_report_is_written(environment: dict[str, str], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    printed = run(environment, "-m", "reporting", *RUNS, "--out", page)
    assert ": 2 passed, 0 failed" in printed
    assert page.read_text("utf-8").count("<svg") >= 5


def test_runs_are_compared(environment: dict[str, str]) -> None:
    assert "1 setting: 1 not told apart" in run(environment, "-m", "reporting", "compare", *RUNS)
