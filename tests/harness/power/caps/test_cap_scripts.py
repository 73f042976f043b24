"""The scripts for administrators: `wattmark-cap`, Slurm's prolog and epilog; with stand-ins for
nvidia-smi, scontrol and sysfs."""

import os
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from support.harness.cap_site import NAMES, NVIDIA_SMI, SCRIPTS, Site
from support.harness.journal_faults import change_limits, remove, truncate

from harness.power.caps.journal import SavedLimit, lock_directory, new_journal


@pytest.fixture
def site(tmp_path) -> Site:
    return Site(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_posix_shell_without_a_fault_that_can_be_seen(name):
    for shell in ("sh", "bash"):
        subprocess.run([shell, "-n", SCRIPTS / name], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", SCRIPTS / name], check=True)
    assert os.access(SCRIPTS / name, os.X_OK)


def test_all_boards_are_set_and_put_back(site):
    assert site.run("wattmark-cap", "400").returncode == 0
    assert site.limits == ["400.00"] * 4 and site.stamp.exists()
    assert site.run("wattmark-cap", "default").returncode == 0
    assert site.limits == ["700.00"] * 4 and not site.stamp.exists()


MALFORMED = (
    *("", "400W", "-400", "0400", "4e2", "40000", "400;id", "$(id)", "400\n500", "*"),
    *("-pm", "DEFAULT"),
)


@pytest.mark.parametrize("arguments", [(), ("400", "500"), *((text,) for text in MALFORMED)])
def test_anything_but_one_number_or_default_is_refused(site, arguments):
    result = site.run("wattmark-cap", *arguments)
    assert result.returncode == 2 and "usage: wattmark-cap WATTS|default" in result.stderr
    assert (site.root / "calls").read_text() == "" and not site.stamp.exists()


@pytest.mark.parametrize("watts", ["199", "701", "1"])
def test_a_cap_outside_the_boards_limits_sets_no_board(site, watts):
    result = site.run("wattmark-cap", watts)
    assert (
        result.returncode == 1
        and f"GPU 0 can be set to 200 to 700 W, not to {watts}" in result.stderr
    )
    assert (site.root / "calls").read_text() == ""


def test_a_limit_that_would_not_last_is_not_set(site):
    (site.root / "persistence").write_text("Disabled")
    result = site.run("wattmark-cap", "400")
    assert (
        result.returncode == 1
        and "persistence mode is off" in result.stderr
        and site.limits == ["700.00"] * 4
    )


def test_a_board_that_refuses_is_named_and_keeps_no_other_from_its_limit(site):
    """Least of all when limits are restored. The stamp stays for the epilog."""
    (site.root / "broken").write_text("2")
    result = site.run("wattmark-cap", "400")
    assert (
        result.returncode == 1 and result.stderr == "wattmark-cap: GPU 2: 400 W could not be set\n"
    )
    assert site.limits == ["400.00", "400.00", "700.00", "400.00"] and site.stamp.exists()
    (site.root / "broken").write_text("0")
    result = site.run("wattmark-cap", "default")
    assert result.returncode == 1 and "GPU 0: 700 W could not be set" in result.stderr
    assert site.limits == ["400.00", "700.00", "700.00", "700.00"] and site.stamp.exists()


def test_the_callers_environment_changes_nothing(site, tmp_path):
    other_directory = tmp_path / "other"
    other_directory.mkdir()
    (other_directory / "nvidia-smi").write_text(f"#!/bin/sh\ntouch {tmp_path}/fooled\n")
    (other_directory / "nvidia-smi").chmod(0o755)
    result = site.run(
        "wattmark-cap",
        "400",
        PATH=str(other_directory),
        SYSFS="/nowhere",
        STAMP="/nowhere",
        ENV=str(other_directory / "nvidia-smi"),
    )
    assert (
        result.returncode == 0
        and site.limits == ["400.00"] * 4
        and not (tmp_path / "fooled").exists()
    )


def add_amd_board(site: Site, card: str, vendor: str = "0x1002") -> Path:
    device = site.root / "sys" / "class" / "drm" / card / "device"
    hwmon = device / "hwmon" / "hwmon3"
    hwmon.mkdir(parents=True)
    (device / "vendor").write_text(f"{vendor}\n")
    for name, watts in (("", 750), ("_min", 0), ("_max", 750), ("_default", 750)):
        (hwmon / f"power1_cap{name}").write_text(f"{watts}000000\n")
    return hwmon / "power1_cap"


def test_amds_boards_are_set_in_microwatts_and_others_left_alone(site):
    (site.bin / "nvidia-smi").unlink()
    site.install("wattmark-cap", PATH=f"{site.bin}:/usr/bin:/bin")
    first, second, other_board = (
        add_amd_board(site, "card0"),
        add_amd_board(site, "card1"),
        add_amd_board(site, "card2", "0x8086"),
    )
    assert site.run("wattmark-cap", "400").returncode == 0
    assert [p.read_text() for p in (first, second, other_board)] == [
        "400000000\n",
        "400000000\n",
        "750000000\n",
    ]
    assert site.run("wattmark-cap", "800").returncode == 1
    assert site.run("wattmark-cap", "default").returncode == 0
    assert first.read_text() == "750000000\n"


def test_without_a_gpu_it_is_said(site):
    (site.bin / "nvidia-smi").unlink()
    result = site.run("wattmark-cap", "400")
    assert result.returncode == 1 and "no GPU here" in result.stderr


@pytest.mark.parametrize(
    "comment", ["wattmark-cap=400", "project=x,wattmark-cap=400", "a wattmark-cap=400 b"]
)
def test_the_prolog_sets_what_the_comment_asks_for_and_the_epilog_takes_it_back(site, comment):
    result = site.run("slurm-prolog.sh", SLURM_JOB_ID="7", SLURM_JOB_COMMENT=comment)
    assert result.returncode == 0 and site.limits == ["400.00"] * 4
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.limits == ["700.00"] * 4 and not site.stamp.exists()


@pytest.mark.parametrize("comment", ["", "nothing", "my-wattmark-cap=400", "wattmark-cap", "*"])
def test_without_such_a_comment_nothing_is_touched(site, comment):
    assert site.run("slurm-prolog.sh", SLURM_JOB_ID="7", SLURM_JOB_COMMENT=comment).returncode == 0
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert (site.root / "calls").read_text() == "" and site.log == ""


@pytest.mark.parametrize("cap_text", ["9000", "100", "4OO", "", "$(touch fooled)", "-rf"])
def test_a_users_slip_does_not_drain_the_node(site, cap_text):
    result = site.run(
        "slurm-prolog.sh", SLURM_JOB_ID="7", SLURM_JOB_COMMENT=f"wattmark-cap={cap_text}"
    )
    assert result.returncode == 0 and site.limits == ["700.00"] * 4
    assert "job 7: " in site.log and "wattmark-cap" in site.log


def test_the_controller_is_asked_only_where_the_site_wants_it(site):
    assert site.run("slurm-prolog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.limits == ["700.00"] * 4
    site.install("slurm-prolog.sh", ASK_SCONTROL="yes")
    assert site.run("slurm-prolog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.limits == ["350.00"] * 4


def test_the_epilog_clears_up_after_a_run_that_was_killed_with_its_watchdog(site):
    for gpu in range(4):
        (site.boards / str(gpu)).write_text("400.00\n")
    site.journal.write_text("{}")
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.limits == ["700.00"] * 4 and not site.journal.exists()
    assert (site.root / "caps.lock").stat().st_mode & 0o777 == 0o600


def write_journal(site: Site, *limits: tuple[str, int | None, str | None]) -> None:
    saved_limits = tuple(SavedLimit(*limit) for limit in limits)
    new_journal("amd", "a-run", saved_limits).write(site.journal)


def make_amd_site(site: Site) -> tuple[Path, Path]:
    """Two boards of AMD at 400 W and the performance level `auto`, as a run leaves them. Only the
    first has a unique id. Returns their directories in sysfs."""
    (site.bin / "nvidia-smi").unlink()
    devices = []
    for number, unique_id in enumerate(["3ec1f21ab7d2a1c0", ""]):
        cap = add_amd_board(site, f"card{number}")
        cap.write_text("400000000\n")
        device = cap.parents[2]
        (device / "power_dpm_force_performance_level").write_text("auto\n")
        (device / "uevent").write_text(f"DRIVER=amdgpu\nPCI_SLOT_NAME=0000:e{number}:00.0\n")
        if unique_id:
            (device / "unique_id").write_text(f"{unique_id}\n")
        devices.append(device)
    return devices[0], devices[1]


def read_levels(*devices: Path) -> list[str]:
    return [(d / "power_dpm_force_performance_level").read_text().strip() for d in devices]


def test_the_epilog_restores_the_performance_level_of_each_board_of_the_journal(site):
    devices = make_amd_site(site)
    write_journal(
        site, ("GPU-3ec1f21ab7d2a1c0", 750_000, "high"), ("PCI-0000:e1:00.0", 750_000, "low")
    )
    result = site.run("slurm-epilog.sh", SLURM_JOB_ID="7")
    assert (result.returncode, site.log) == (0, "") and not site.journal.exists()
    assert read_levels(*devices) == ["high", "low"]
    assert (devices[0] / "hwmon/hwmon3/power1_cap").read_text() == "750000000\n"


def register(site: Site, *boards: str) -> None:
    """Register boards with a copy of the journal, as a run does."""
    site.registered_boards.mkdir()
    for board in boards:
        link = site.registered_boards / quote(board, safe="")
        link.symlink_to(site.journal)
        shutil.copy(site.journal, f"{link}.json")


def forget_settings(journal: Path) -> None:
    change_limits(journal, found_state=None, locked_mhz=None)


@pytest.mark.parametrize("disturb", [truncate, remove, forget_settings])
def test_the_epilog_restores_levels_and_clocks_from_copies_of_a_journal(site, disturb):
    device, _ = make_amd_site(site)
    board = "PCI-0000:e0:00.0"
    (device / "unique_id").unlink()
    site.program("nvidia-smi", NVIDIA_SMI)
    limits = (SavedLimit(board, 700_000, "high"), SavedLimit(LOCKED_BOARDS[0], 700_000, None, 1200))
    new_journal("amd", "a-run", limits).write(site.journal)
    register(site, board, LOCKED_BOARDS[0])
    disturb(site.journal)
    result = site.run("slurm-epilog.sh", SLURM_JOB_ID="7")
    assert (result.returncode, site.log) == (0, "")
    assert (read_levels(device), set(site.unlocked)) == (["high"], {LOCKED_BOARDS[0]})
    assert not site.journal.exists() and not list(site.registered_boards.iterdir())


def test_the_epilog_leaves_a_performance_level_that_no_run_changed(site):
    devices = make_amd_site(site)
    write_journal(site, ("GPU-3ec1f21ab7d2a1c0", 750_000, None), ("PCI-0000:e1:00.0", None, "high"))
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert read_levels(*devices) == ["auto", "high"]


@pytest.mark.parametrize("board", ["GPU-0000000000000001", "PCI-0000:e1:00.0"])
def test_an_epilog_that_cannot_restore_a_level_keeps_the_journal_and_fails(site, board):
    """The first board is gone. The second one refuses the level."""
    _, device = make_amd_site(site)
    (device / "power_dpm_force_performance_level").unlink()
    (device / "power_dpm_force_performance_level").mkdir()
    write_journal(site, (board, 750_000, "high"))
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 1
    assert site.journal.exists() and f"{board}: performance level not restored: high" in site.log


LOCKED_BOARDS = ("GPU-aaaa0000-0000", "GPU-bbbb0000-0000")


def write_lock_journal(site: Site, *locked_mhz: int | None) -> None:
    boards = zip(LOCKED_BOARDS, locked_mhz, strict=True)
    limits = tuple(SavedLimit(uuid, 700_000, None, mhz) for uuid, mhz in boards)
    new_journal("nvidia", "a-run", limits).write(site.journal)


def test_the_epilog_unlocks_the_clocks_that_a_run_has_locked_and_no_others(site):
    write_lock_journal(site, None, 1200)
    result = site.run("slurm-epilog.sh", SLURM_JOB_ID="7")
    assert (result.returncode, site.log, site.unlocked) == (0, "", [LOCKED_BOARDS[1]])
    assert not site.journal.exists()


def test_the_epilog_unlocks_the_boards_whose_journal_is_lost(site):
    """Without the journal nobody knows whether the run has locked them."""
    site.registered_boards.mkdir()
    (site.registered_boards / LOCKED_BOARDS[0]).symlink_to(site.root / "lost" / "caps.json")
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.unlocked == [LOCKED_BOARDS[0]] and not list(site.registered_boards.iterdir())


def test_an_epilog_that_cannot_unlock_a_clock_keeps_the_journal_and_fails(site):
    write_lock_journal(site, 1200, 1200)
    (site.root / "broken").write_text(LOCKED_BOARDS[0])
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 1
    assert site.journal.exists() and f"{LOCKED_BOARDS[0]}: SM clock not unlocked" in site.log
    assert site.unlocked == [LOCKED_BOARDS[1]]


def test_the_epilog_waits_for_the_lock_of_a_watchdog_that_is_restoring(site):
    """And leaves the boards alone if the watchdog has restored them meanwhile."""
    site.journal.write_text("{}")
    with lock_directory(site.root):
        epilog = subprocess.Popen([site.bin / "slurm-epilog.sh"])
        time.sleep(1)
        assert (site.root / "calls").read_text() == "" and epilog.poll() is None
        site.journal.unlink()
    assert epilog.wait(30) == 0 and (site.root / "calls").read_text() == ""


def test_the_epilog_restores_without_a_lock_that_somebody_keeps(site):
    """All processes of the job have ended, so it is no watchdog of its run."""
    site.run("wattmark-cap", "400")
    site.install("slurm-epilog.sh", LOCK_TIMEOUT_S="1")
    with lock_directory(site.root):
        assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.limits == ["700.00"] * 4 and "no lock of" in site.log


def test_a_cap_command_that_hangs_ends_prolog_and_epilog_in_a_bounded_time(site):
    site.run("wattmark-cap", "400")
    site.program("wattmark-cap", "#!/bin/sh\nsetsid sleep 20 >/dev/null 2>&1 &\nsleep 600\n")
    for name, status in (("slurm-prolog.sh", 0), ("slurm-epilog.sh", 1)):
        site.install(name, CAP_TIMEOUT_S="1")
        assert site.run(name, SLURM_JOB_COMMENT="wattmark-cap=400").returncode == status
    assert site.log.count("(status 124)") == 2
    with lock_directory(site.root):  # what it has started does not keep the lock
        assert site.stamp.exists()


def test_a_comment_of_many_words_sets_one_cap(site):
    site.program("wattmark-cap", f'#!/bin/sh\necho "$@" >>{site.root}/calls\n')
    comment = " ".join(f"wattmark-cap={watts}" for watts in range(200, 700))
    assert site.run("slurm-prolog.sh", SLURM_JOB_COMMENT=comment).returncode == 0
    assert (site.root / "calls").read_text() == "200\n"


@pytest.mark.parametrize("cap_text", ["", "4OO", "-rf", "0400", "99999", "default", "$(id)"])
def test_the_prolog_passes_on_whole_watts_only(site, cap_text):
    site.program("wattmark-cap", f'#!/bin/sh\necho "$@" >>{site.root}/calls\n')
    comment = f"wattmark-cap={cap_text}"
    assert site.run("slurm-prolog.sh", SLURM_JOB_COMMENT=comment).returncode == 0
    assert (site.root / "calls").read_text() == "" and "whole watts" in site.log


def test_the_epilog_knows_a_limit_of_the_sites_own(site):
    site.install("slurm-epilog.sh", SITE_CAP="500")
    site.run("wattmark-cap", "400")
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 0
    assert site.limits == ["500.00"] * 4 and not site.stamp.exists()


def test_an_epilog_that_cannot_restore_fails_so_that_slurm_drains_the_node(site):
    site.run("wattmark-cap", "400")
    (site.root / "broken").write_text("1")
    assert site.run("slurm-epilog.sh", SLURM_JOB_ID="7").returncode == 1
    assert "caps not restored: wattmark-cap: GPU 1" in site.log and site.stamp.exists()


def test_sudo_is_given_the_one_command_that_is_installed():
    rules = (SCRIPTS / "wattmark.sudoers").read_text()
    (allowed,) = [line for line in rules.splitlines() if "NOPASSWD" in line]
    assert allowed.endswith("NOPASSWD: /usr/local/sbin/wattmark-cap") and "env_reset" in rules
    if shutil.which("visudo"):
        subprocess.run(["visudo", "-c", "-f", SCRIPTS / "wattmark.sudoers"], check=True)
