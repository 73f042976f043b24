"""State directories that a job, a login, a container or a cleaner of temporary files empties: the
user is warned before a limit is set."""

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from support.bindings.boards import FOUND_MW
from support.bindings.build import needs_cc
from support.bindings.fixtures import libraries as libraries
from support.bindings.sandbox import open_library_sandbox
from support.harness.cap_node import Node

from harness.doctor import examine
from harness.power.caps import host, lifetime
from harness.power.caps.apply import warn_before_caps
from harness.power.caps.lifetime import explain_loss, warn_of_state_directory
from harness.power.source import STATE_DIRECTORY
from harness.run.progress import View, announce

MOUNTS = """
28 1 8:1 / / rw - {root} /dev/sda1 rw
26 28 0:25 / /run rw,nosuid - tmpfs tmpfs rw
27 26 0:26 / /run/user/1000 rw - tmpfs tmpfs rw
29 28 0:27 / /local rw - tmpfs tmpfs rw
31 28 0:28 / /ram rw - ramfs ramfs rw
30 28 8:2 / /scratch rw - xfs /dev/sdb1 rw
"""


@pytest.fixture(autouse=True)
def on_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host with disks, and with cleaners of its own."""
    monkeypatch.setattr(host, "HOST_PID_NAMESPACE", str(Path("/proc/self/ns/pid").readlink()))
    monkeypatch.setattr(host, "HOST_ROOT", Path("/"))
    monkeypatch.setattr(host, "MOUNTS_FILE", tmp_path / "mountinfo")
    write_mounts(tmp_path, "ext4")
    cleaners = tmp_path / "etc", tmp_path / "lib"
    for directory in cleaners:
        directory.mkdir()
    monkeypatch.setattr(lifetime, "CLEANER_DIRECTORIES", cleaners)


def write_mounts(tmp_path: Path, root: str) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS.format(root=root).lstrip())


@pytest.mark.parametrize(
    ("directory", "environment", "reason"),
    [
        ("/tmp/wattmark", {}, "below /tmp"),
        ("/var/tmp/a/b", {}, "below /var/tmp"),
        ("/dev/shm/state", {}, "below /dev/shm"),
        ("/local/state", {}, r"in memory \(tmpfs on /local\)"),
        ("/ram/state", {}, r"in memory \(ramfs on /ram\)"),
        ("/run/user/1000/state", {}, r"in memory \(tmpfs on /run/user/1000\)"),
        ("/scratch/a/state", {"TMPDIR": "/scratch/a"}, "below TMPDIR, a temporary directory"),
        ("/scratch/a/state", {"SLURM_TMPDIR": "/scratch/a/"}, "below SLURM_TMPDIR"),
        ("/scratch/a", {"JOB_TMPDIR": "/scratch/a"}, "below JOB_TMPDIR"),
        ("/scratch/a/state", {"PBS_JOBDIR": "/scratch/a"}, "below PBS_JOBDIR"),
        ("/scratch/a/state", {"_CONDOR_SCRATCH_DIR": "/scratch/a"}, "below _CONDOR_SCRATCH_DIR"),
        ("/scratch/u/1000/x", {"XDG_RUNTIME_DIR": "/scratch/u/1000"}, "below XDG_RUNTIME_DIR"),
        ("/scratch/job.812/x", {"SLURM_JOB_ID": "812"}, r"id of this job .*\(SLURM_JOB_ID\)"),
        ("/scratch/812_x/y", {"PBS_JOBID": "812.server"}, r"id of this job .*\(PBS_JOBID\)"),
    ],
)
def test_a_directory_that_is_emptied_is_named_with_the_reason(directory, environment, reason):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lifetime, "is_private", lambda _: False)  # not all of them exist here
        text = explain_loss(Path(directory), environment)
    assert text is not None and re.search(reason, text), text


@pytest.mark.parametrize("root", ["ext4", "tmpfs", "ramfs"])
@pytest.mark.parametrize(
    ("directory", "environment"),
    [
        (str(STATE_DIRECTORY), {"TMPDIR": "/tmp", "SLURM_JOB_ID": "812", "TEMP": "/"}),
        ("/run/wattmark-state", {"XDG_RUNTIME_DIR": "/run/user/1000"}),
        ("/scratch/state-8120", {"SLURM_JOB_ID": "812", "TMP": "", "JOB_ID": ""}),
        ("/tmpfiles/state", {}),
        ("/scratch/812/state", {"SLURM_JOB_ID": "x812", "TMPDIR_OLD": "/scratch"}),
    ],
)
def test_a_directory_that_lasts_until_the_next_boot_is_not_warned_of(
    tmp_path, root, directory, environment
):
    """Nodes without disks have their root in memory. A boot resets all limits too."""
    write_mounts(tmp_path, root)
    assert explain_loss(Path(directory), environment) is None


def test_a_directory_with_a_cleaner_of_its_own_is_named_with_file_and_age(tmp_path):
    (tmp_path / "lib/site.conf").write_text("# local\ne /scratch/* - - - 7d\nd /scratch 0755\n")
    directory = Path("/scratch/user/state")
    assert "below /scratch/*, from which" in explain_loss(directory, {})
    assert f"{tmp_path}/lib/site.conf removes files after 7d" in explain_loss(directory, {})
    # An administrator replaces a file of the distribution by one of the same name.
    (tmp_path / "etc/site.conf").write_text("e /scratch/* - - - -\n")
    assert explain_loss(directory, {}) is None


def test_a_mount_that_only_the_job_sees_is_named(tmp_path, monkeypatch):
    """As Slurm's job_container/tmpfs makes one for a directory of any name."""
    monkeypatch.setattr(host, "HOST_ROOT", tmp_path / "host")
    (tmp_path / "host").mkdir()
    assert "a mount that only this job or service sees" in explain_loss(Path("/scratch/a"), {})


def test_a_directory_inside_a_container_is_named(monkeypatch):
    monkeypatch.setattr(host, "HOST_PID_NAMESPACE", "pid:[1]")
    assert "inside the container" in explain_loss(STATE_DIRECTORY, {})
    assert explain_loss(Path("/scratch/state"), {}) is None


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    with Node(tmp_path, monkeypatch) as new_node:
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        yield new_node


def test_only_a_run_that_sets_limits_of_real_boards_is_warned(node):
    assert warn_before_caps(node.plan(700, found_mw={})) is None
    warning = warn_before_caps(node.plan())
    assert warning.startswith(f"{node.state}: the state directory is below TMPDIR")
    assert "with WATTMARK_STATE (default: /var/lib/wattmark)" in warning
    assert warn_of_state_directory("simulated:h200") is None


def test_the_log_of_a_run_has_the_warning(node):
    with View(Console(file=io.StringIO()), node.root / "log.txt") as view:
        announce(node.plan(), view)
    assert f"warning: {node.state}: the state directory" in (node.root / "log.txt").read_text()


def test_doctor_warns_who_may_set_limits(node, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (check,) = [check for check in examine("nvidia") if check.name == "state directory"]
    assert check.ok is None and "below TMPDIR" in check.advice
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "state directory" not in [check.name for check in examine("nvidia")]


@needs_cc
@pytest.mark.xdist_group("bindings")
def test_the_warning_is_on_the_terminal_before_a_limit_is_set(tmp_path, libraries):
    """The board refuses the limit, so that the run ends there."""
    with open_library_sandbox(tmp_path, libraries, "nvidia_on_cpu") as sandbox:
        sandbox.boards.board[0].fail("nvmlDeviceSetPowerManagementLimit", 4)
        os.environ["TMPDIR"] = str(tmp_path)
        result = sandbox.run_command(*sandbox.make_run_arguments())
        dry_run = sandbox.run_command(*sandbox.make_run_arguments(), "--dry-run")
        assert sandbox.caps_mw == {FOUND_MW}
    warning = f"warning: {sandbox.state}: the state directory is below TMPDIR"
    assert result.returncode == 3 and warning in result.stdout
    assert warning in dry_run.stdout
