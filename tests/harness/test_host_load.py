"""The load of the host beside a control run."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.kills import read_command_line

from checker.judging.cpu import count_cores
from harness import host_load
from harness.host_load import HostLoad, HostLoadError, choose_program, compute_free_memory
from harness.processes import list_descendants


def wait_for(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def list_loads() -> list[int]:
    """The processes that load the host."""
    return [
        pid
        for pid in list_descendants([os.getpid()])[1:]
        if b"harness.host_load" in read_command_line(pid)
    ]


def has_ended(pid: int) -> bool:
    """Whether a process has ended. A zombie has ended, and waits for its new parent."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def install_stress_ng(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = directory / "stress-ng"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")


def test_without_affinity_every_core_of_the_machine_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert count_cores() == os.cpu_count()


def test_without_stress_ng_every_core_multiplies_until_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program = choose_program()
    assert program == "numpy matrix product on every core"
    with HostLoad(program):
        wait_for(lambda: len(list_loads()) == count_cores())
        pids = list_loads()
        own = os.getpriority(os.PRIO_PROCESS, 0)
        lowered = min(own + host_load.NICENESS, 19)
        assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in pids} <= {own, lowered}
    wait_for(lambda: all(map(has_ended, pids)))


def test_stress_ng_gets_the_cores_and_the_memory_and_ends_with_the_block(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = '[ "$1" = --version ] && echo "stress-ng, version 0.17.06 (gcc)" && exit\n'
    script += f'cd {tmp_path}\necho "$$ $@" > arguments.new\nmv arguments.new arguments\n'
    install_stress_ng(tmp_path, monkeypatch, script + "exec sleep 1000")
    free_bytes = [compute_free_memory()]
    program = choose_program()
    assert program == "stress-ng 0.17.06"
    with HostLoad(program):
        wait_for((tmp_path / "arguments").exists)
        pid, *arguments = (tmp_path / "arguments").read_text().split()
        assert arguments[:4] == ["--matrix-3d", str(count_cores()), "--vm", "1"]
        # Other processes change the free memory meanwhile.
        free_bytes.append(compute_free_memory())
        used_bytes = int(arguments[5]) / host_load.MEMORY_SHARE
        assert 0.9 * min(free_bytes) < used_bytes < 1.1 * max(free_bytes)
    assert has_ended(int(pid))


def test_a_load_that_ends_early_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_stress_ng(tmp_path, monkeypatch, "exit 3")
    load = HostLoad("stress-ng 0.17.06")
    message = r"stress-ng 0.17.06 ended with status 3.*leave out --host-load"
    with pytest.raises(HostLoadError, match=message), load:
        assert load._process is not None
        load._process.wait(120)


def test_the_error_of_the_block_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_stress_ng(tmp_path, monkeypatch, "exit 3")
    load = HostLoad("stress-ng")
    with pytest.raises(KeyError), load:
        assert load._process is not None
        load._process.wait(120)
        raise KeyError


def test_free_memory_is_limited_by_the_cgroup(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 2000 kB\nMemAvailable: 1000 kB\n")
    monkeypatch.setattr(host_load, "MEMINFO", meminfo)
    monkeypatch.setattr(host_load, "CGROUP", tmp_path)
    assert compute_free_memory() == 1024_000
    (tmp_path / "memory.max").write_text("max\n")
    assert compute_free_memory() == 1024_000
    (tmp_path / "memory.max").write_text("500000\n")
    (tmp_path / "memory.current").write_text("200000\n")
    assert compute_free_memory() == 300_000


def test_no_program_loads_nothing() -> None:
    with HostLoad(None):
        assert not list_loads()


def test_the_load_ends_if_the_harness_is_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = "import time, harness.host_load as h\nh.HostLoad('numpy').__enter__()\ntime.sleep(600)"
    monkeypatch.setenv("PATH", str(tmp_path))
    harness = subprocess.Popen([sys.executable, "-c", script])
    wait_for(lambda: len(list_loads()) >= count_cores())
    pids = list_loads()
    harness.kill()
    harness.wait()
    wait_for(lambda: all(map(has_ended, pids)))
