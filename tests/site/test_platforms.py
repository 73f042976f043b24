"""Check and report run without what only Linux has: functions and constants of the standard library
that macOS lacks, files below /proc and /sys, and processes that begin as a copy of their parent."""

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

# First, because selectors chooses one of them when it is imported.
del select.epoll, select.poll
import fcntl, multiprocessing, resource, socket, time

for module, names in {
    fcntl: "F_ADD_SEALS F_GET_SEALS F_NOTIFY F_OFD_SETLK F_OFD_SETLKW F_SETLEASE F_SETPIPE_SZ",
    os: (
        "sched_getaffinity sched_setaffinity sched_getscheduler memfd_create pidfd_open eventfd "
        "copy_file_range splice setns unshare posix_fadvise posix_fallocate getxattr setxattr "
        "listxattr removexattr getrandom fdatasync pipe2 getresuid setresuid getresgid setresgid "
        "sched_param sched_setscheduler O_TMPFILE O_PATH O_DIRECT O_NOATIME O_RSYNC SEEK_DATA "
        "POSIX_FADV_WILLNEED RWF_NOWAIT"
    ),
    resource: "prlimit RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_RTPRIO RLIMIT_RTTIME RLIMIT_SIGPENDING",
    signal: "sigtimedwait sigwaitinfo pidfd_send_signal SIGPWR SIGSTKFLT SIGRTMIN SIGRTMAX",
    socket: "AF_ALG AF_NETLINK AF_PACKET AF_VSOCK MSG_NOSIGNAL SO_PEERCRED SO_BINDTODEVICE",
    time: "CLOCK_BOOTTIME CLOCK_TAI clock_settime pthread_getcpuclockid",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

# As on macOS, where a process begins with nothing of its parent.
if multiprocessing.get_start_method(allow_none=True) is None:
    multiprocessing.set_start_method("spawn")


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


IMPORT_ALL = """
import importlib, pkgutil

for package in ("checker", "reporting", "rules"):
    for module in pkgutil.walk_packages([package], f"{package}."):
        importlib.import_module(module.name)
        print(module.name)
"""
"""Imports each module, also those that a command imports only when it needs them."""


def run(environment: dict[str, str], *arguments: str | Path) -> str:
    process = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_linux_is_hidden(environment: dict[str, str]) -> None:
    code = (
        "import multiprocessing, os; print(hasattr(os, 'sched_getaffinity'), "
        "os.path.exists('/tmp'), multiprocessing.get_start_method())"
    )
    assert run(environment, "-c", code) == "False True spawn\n"
    with pytest.raises(AssertionError, match="hidden by the test"):
        run(environment, "-c", "open('/proc/self/stat')")


def test_each_module_is_imported(environment: dict[str, str]) -> None:
    names = run(environment, "-c", IMPORT_ALL).split()
    assert {"checker.trust.acceptance_log", "reporting.charts"} <= set(names) and len(names) > 300


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
