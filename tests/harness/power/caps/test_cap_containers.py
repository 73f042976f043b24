"""Caps that are set in containers: they are restored, or they are not set."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.harness.cap_node import AS_FOUND, HOLD, SET, A, Node, find_watchdogs
from support.harness.session_runs import change_plan

from harness.cli import main
from harness.errors import MeterError
from harness.power.caps import apply as cap_apply
from harness.power.caps import host as cap_host
from harness.power.caps.apply import applied_cap, explain_refusal
from harness.power.caps.host import explain_container
from harness.power.caps.journal import Journal
from harness.power.sources.simulated import SimulatedSource
from harness.processes import list_descendants

UNSHARE = ("unshare", "--uts", "--pid", "--fork", "--mount", "--mount-proc")


@pytest.fixture
def node(monkeypatch) -> Iterator[Node]:
    """A node in a directory that a state directory may have above it."""
    directory = Path(tempfile.mkdtemp(prefix="wattmark-"))
    directory.chmod(0o755)
    with Node(directory, monkeypatch) as new_node:
        yield new_node
    shutil.rmtree(directory)


def can_unshare() -> bool:
    return (
        shutil.which("unshare") is not None
        and subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0
    )


needs_namespaces = pytest.mark.skipif(
    not can_unshare(), reason="this process may not make PID, mount and UTS namespaces"
)


@contextmanager
def start_container(node: Node, command: str) -> "Iterator[subprocess.Popen[str]]":
    """Run a shell command in PID, mount and UTS namespaces of its own, where `$HOLD` sets caps as
    PID 1 when the shell executes it."""
    node.plan().save(node.root)
    (node.root / "hold.py").write_text(HOLD)
    hold = f"{sys.executable} {node.root}/hold.py {node.root}"
    process = subprocess.Popen(
        [*UNSHARE, "sh", "-c", f"hostname inside-a-container; {command}"],
        env={**os.environ, "HOLD": hold},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        for pid in list_descendants([process.pid]):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()


@needs_namespaces
@pytest.mark.parametrize("command", ["exec $HOLD", "$HOLD; exit $?"])
def test_pid_1_of_a_container_and_its_child_set_no_cap_with_a_journal_in_the_container(
    node, command
):
    """The kernel kills the watchdog together with PID 1, and a journal inside is lost with it."""
    node.state.mkdir(0o755)
    mount = f"mount -t tmpfs -o mode=755 none {node.state}"
    with start_container(node, f"{mount} && {command}") as container:
        output, error = container.communicate(timeout=60)
    assert output == "" and "PID 1 of a container" in error, error
    assert f"{node.state} is inside" in error and "docs/caps.md" in error
    assert node.limits == AS_FOUND


@needs_namespaces
def test_a_container_with_registrations_of_its_own_sets_no_cap(node):
    """Two such containers would set limits on the same board: the second one would find the limit
    of the first, and restore it after the first has restored its own."""
    node.state.mkdir(0o755)
    node.boards_directory.mkdir(0o755)
    mounts = " && ".join(
        f"mount -t tmpfs -o mode=755 none {directory}"
        for directory in (node.state, node.boards_directory)
    )
    # Not as PID 1 and not as its child.
    command = f"{mounts} && sh -c '$HOLD; exit $?'; exit $?"
    with start_container(node, command) as container:
        assert container.stdout.read(5) == "", "it has set the cap"
        error = container.stderr.read()
    assert f"{node.boards_directory} is not that of the host" in error, error
    assert "docs/caps.md" in error and node.limits == AS_FOUND


@needs_namespaces
def test_the_journal_of_a_container_that_was_killed_is_restored_on_the_host(node):
    """The container has another host name. State directory and registrations are those of the
    host."""
    node.state.mkdir(0o755)
    node.boards_directory.mkdir(0o755)
    mounts = " && ".join(f"mount --bind {d} {d}" for d in (node.state, node.boards_directory))
    with start_container(node, f"{mounts} && exec $HOLD") as container:
        assert container.stdout.readline() == "held\n", container.stderr.read()
        assert node.limits == SET
        (pid_1,) = [
            pid
            for pid in list_descendants([container.pid])
            if Path(f"/proc/{pid}/status").read_text().split("NSpid:")[1].split()[1] == "1"
        ]
        # The kernel kills the watchdog last. It must not begin to restore before.
        for watchdog in find_watchdogs(node):
            os.kill(watchdog, signal.SIGSTOP)
        os.kill(pid_1, signal.SIGKILL)
        container.wait(60)
    assert node.limits == SET and Journal.read(node.journal).host == "inside-a-container"
    result = CliRunner().invoke(main, ["restore"])
    assert (result.exit_code, node.limits) == (0, AS_FOUND), result.output


def test_a_container_with_the_process_ids_of_the_host_shares_the_registrations_or_sets_no_cap(
    node, monkeypatch
):
    """As with Apptainer. A directory stands in for the file system that PID 1 of the host sees."""
    host_root = node.root / "host"
    host_directory = Path(f"{host_root}{node.boards_directory}")
    host_directory.parent.mkdir(parents=True)
    monkeypatch.setattr(cap_host, "HOST_ROOT", host_root)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    # Neither has the directory yet, and the directories above are not the same.
    assert f"{node.boards_directory} is not that of the host" in explain_refusal("nvidia")
    node.boards_directory.mkdir()
    assert f"{node.boards_directory} is not that of the host" in explain_refusal("nvidia")
    host_directory.symlink_to(node.boards_directory)
    assert explain_refusal("nvidia") is None
    assert explain_refusal("simulated:h200") is None


def test_a_container_does_not_refuse_caps_of_simulated_boards(node, monkeypatch):
    """Here the boards of the plan are not the simulator's, which is noticed after the container."""
    monkeypatch.setattr(cap_apply, "explain_container", lambda *_: "in a container")
    monkeypatch.setattr(SimulatedSource, "journal_directory", lambda: node.state)
    plan = change_plan(node.plan(), meter="simulated:h200")
    with pytest.raises(MeterError, match=A):
        applied_cap(plan).__enter__()


def test_doctor_and_sweep_know_of_the_container_before_a_run(node, monkeypatch):
    monkeypatch.setattr(cap_host, "_dies_with_namespace", lambda: True)
    monkeypatch.setattr(cap_host, "_is_on_host", lambda directory: False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "PID 1 of a container" in explain_refusal("nvidia")
    assert explain_refusal("simulated:h200") is None


MOUNTS = r"""
26 28 0:25 / /run rw,nosuid shared:5 - tmpfs tmpfs rw
27 26 8:1 /srv/run /run/wattmark rw shared:1 - ext4 /dev/sda1 rw
28 1 8:1 /containers/1 / rw - ext4 /dev/sda1 rw
29 28 8:2 / /scratch rw - ext4 /dev/sdb1 rw
30 28 8:1 /srv/old /mnt/state\040of\040caps rw - tmpfs tmpfs rw
31 28 8:1 /srv/of\040caps /mnt/state\040of\040caps rw - ext4 /dev/sda1 rw
"""
"""As in /proc/self/mountinfo. The mount of the root may follow those on it (switch_root(8))."""


@pytest.mark.parametrize(
    ("directory", "is_on_host", "is_shared"),
    [
        ("/run/wattmark/state", True, True),
        ("/run/wattmark-2", False, False),
        ("/var/lib/wattmark", False, False),
        ("/scratch/wattmark", True, False),
        ("/mnt/state of caps", True, True),
    ],
)
def test_mounts_tell_whether_a_directory_is_that_of_the_host(
    tmp_path, monkeypatch, directory, is_on_host, is_shared
):
    """The journal must outlive the container, so any disk serves. Registered boards must be seen
    by the host, so only a part of a file system of the host serves, as in a bind mount."""
    (tmp_path / "mountinfo").write_text(MOUNTS.lstrip())
    monkeypatch.setattr(cap_host, "MOUNTS_FILE", tmp_path / "mountinfo")
    monkeypatch.setattr(cap_host, "HOST_PID_NAMESPACE", "pid:[1]")
    monkeypatch.setattr(cap_host, "_dies_with_namespace", lambda: True)
    path = Path(directory)
    assert (explain_container(path, None) is None) is is_on_host
    monkeypatch.setattr(cap_host, "_dies_with_namespace", lambda: False)
    assert (explain_container(path, path) is None) is is_shared


def test_a_user_without_the_right_to_look_at_the_files_of_the_host_is_not_refused(
    node, monkeypatch
):
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "samefile", refuse)
    assert explain_container(node.state, node.boards_directory) is None
