"""What users and faults of a node can do to `wattmark-cap`, Slurm's prolog and epilog."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.harness.cap_site import Site
from support.kills import wait_for

from harness.power.caps.journal import SavedLimit, new_journal

SLOW_SMI = """#!/bin/sh
# Wait before GPU 2 is set to 400 W, until the test allows it.
case "$*" in
"-i 2 -pl 400") touch {root}/waiting; while [ ! -e {root}/go ]; do sleep 0.05; done ;;
esac
exec {root}/bin/plain-smi "$@"
"""


@pytest.fixture
def site(tmp_path) -> Site:
    return Site(tmp_path)


def start_slow_cap(site: Site) -> "subprocess.Popen[bytes]":
    """Start `wattmark-cap 400`, which waits before it sets GPU 2 until the file `go` exists."""
    (site.bin / "nvidia-smi").rename(site.bin / "plain-smi")
    site.program("nvidia-smi", SLOW_SMI.format(root=site.root))
    process = subprocess.Popen(
        # Where nohup or a shell in the background started the tests, children ignore these signals.
        ["env", "--default-signal=INT,HUP", site.bin / "wattmark-cap", "400"],
        process_group=0,
    )
    wait_for((site.root / "waiting").exists)
    return process


def restore_default_meanwhile(site: Site) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([site.bin / "wattmark-cap", "default"])


def test_two_cap_commands_at_once_leave_no_cap_without_a_stamp(site):
    """A user can start both. Without the stamp, the epilog would leave the cap to the next job."""
    slow_cap = start_slow_cap(site)
    default = restore_default_meanwhile(site)
    with pytest.raises(subprocess.TimeoutExpired):
        default.wait(1)
    (site.root / "go").touch()
    assert (slow_cap.wait(60), default.wait(60)) == (0, 0)
    assert site.limits == ["700.00"] * 4 and not site.stamp.exists()


def test_a_cap_command_that_hangs_does_not_keep_the_epilog_from_restoring(site):
    """And what it still sets afterwards has a stamp again."""
    site.install("wattmark-cap", LOCK_TIMEOUT_S="1")
    slow_cap = start_slow_cap(site)
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.limits == ["700.00"] * 4
    (site.root / "go").touch()
    assert slow_cap.wait(60) == 0
    assert site.stamp.exists()
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="8").returncode == 0
    assert site.limits == ["700.00"] * 4 and not site.stamp.exists()


def test_a_second_cap_is_not_set_while_a_cap_command_hangs(site):
    site.install("wattmark-cap", LOCK_TIMEOUT_S="1")
    slow_cap = start_slow_cap(site)
    result = site.run("wattmark-cap", "300")
    (site.root / "go").touch()
    slow_cap.wait(60)
    assert result.returncode == 1 and "another wattmark-cap is running" in result.stderr
    assert site.limits == ["400.00"] * 4


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU])
def test_a_terminal_does_not_stop_the_cap_command(site, number):
    """Keys of a terminal signal also programs that run as root."""
    slow_cap = start_slow_cap(site)
    os.killpg(slow_cap.pid, number)
    (site.root / "go").touch()
    try:
        assert slow_cap.wait(60) == 0
    except subprocess.TimeoutExpired:
        os.killpg(slow_cap.pid, signal.SIGKILL)
        raise


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_a_cap_command_that_is_killed_leaves_its_stamp_for_the_epilog(site, number):
    slow_cap = start_slow_cap(site)
    os.killpg(slow_cap.pid, number)
    slow_cap.wait(60)
    (site.root / "go").touch()
    assert site.limits[0] == "400.00" and site.stamp.exists()
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.limits == ["700.00"] * 4 and not site.stamp.exists()


@pytest.mark.parametrize("limit", ["-f 0", "-n 8", "-s 64"])
def test_resource_limits_of_the_caller_leave_no_cap_without_a_stamp(site, limit):
    """sudo passes the limits of the caller on."""
    subprocess.run(["sh", "-c", f"ulimit {limit}; exec {site.bin}/wattmark-cap 400"], check=False)
    assert site.stamp.exists() or site.limits == ["700.00"] * 4
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.limits == ["700.00"] * 4


def test_the_default_is_restored_where_no_stamp_can_be_written(site):
    """As on a full /run."""
    for gpu in range(4):
        (site.boards / str(gpu)).write_text("400.00\n")
    site.install("wattmark-cap", STAMP=f"{site.root}/missing/stamp")
    assert site.run("wattmark-cap", "default").returncode == 0
    assert site.limits == ["700.00"] * 4
    assert site.run("wattmark-cap", "400").returncode != 0
    assert site.limits == ["700.00"] * 4


def test_the_epilog_restores_where_the_lock_cannot_be_opened(site):
    """As where the file system of the journal has no inode left for a lock."""
    site.run("wattmark-cap", "400")
    (site.root / "caps.lock").mkdir()
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.limits == ["700.00"] * 4 and not site.stamp.exists()
    assert "restoring without it" in site.log


def leave_journal(site: Site, path: Path) -> None:
    """Leave the journal and the registrations of a run that has set 400 W on two boards."""
    for gpu in range(4):
        (site.boards / str(gpu)).write_text("400.00\n")
    path.parent.mkdir(exist_ok=True)
    limits = tuple(SavedLimit(f"GPU-{gpu}", 700_000, None) for gpu in range(2))
    new_journal("nvidia", "a-run", limits).write(path)
    site.registered_boards.mkdir()
    for limit in limits:
        (site.registered_boards / limit.uuid).symlink_to(path)


@pytest.mark.parametrize("directory", [".", "a directory of the job"])
def test_the_epilog_restores_after_a_run_with_another_state_directory(site, directory):
    path = site.root / directory / "caps.json"
    leave_journal(site, path)
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.limits == ["700.00"] * 4
    assert not path.exists() and not list(site.registered_boards.iterdir())


def test_the_epilog_restores_boards_whose_journal_is_lost(site):
    """Slurm removes the temporary directory of a job before the epilog."""
    path = site.root / "of-the-job" / "caps.json"
    leave_journal(site, path)
    path.unlink()
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.limits == ["700.00"] * 4 and not list(site.registered_boards.iterdir())


def test_prolog_and_epilog_that_run_twice_leave_the_default(site):
    for _ in range(2):
        site.run("slurm-prolog.sh", SLURM_JOB_ID="7", SLURM_JOB_COMMENT="wattmark-cap=400")
        assert site.limits == ["400.00"] * 4
    for _ in range(2):
        assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
        assert site.limits == ["700.00"] * 4 and not site.stamp.exists()


@pytest.mark.parametrize(
    "comment",
    [
        "x\nwattmark-cap=400",
        "*/../* wattmark-cap=400",
        "'\"`;$(touch fooled) wattmark-cap=400",
        "é\xff" * 20_000 + " wattmark-cap=400",
    ],
)
def test_a_comment_of_any_bytes_is_read(site, comment):
    result = site.run("slurm-prolog.sh", SLURM_JOB_ID="7", SLURM_JOB_COMMENT=comment)
    assert result.returncode == 0 and site.limits == ["400.00"] * 4
    assert not Path("fooled").exists()
