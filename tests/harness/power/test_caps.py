"""Caps that are set for a run: what was found comes back, whatever ends the run.

The boards are NVIDIA's, on a fake of NVML that keeps their limits in a file, so that harness and
watchdog, two processes, see the same ones; AMD's performance level is on its own fake.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import fake_nvml
from support.fake_amdsmi import BUSY, FakeAmdSmi, FakeGpu
from support.fake_nvml import FakeNvml
from support.kills import command_line

from harness import interrupts
from harness.cli import main
from harness.interrupts import Interrupted
from harness.power import cap_journal as journal
from harness.power import cap_watchdog
from harness.power.cap_apply import applied_cap, explain_refusal
from harness.power.cap_journal import JOURNAL_FILE, Journal, SavedLimit
from harness.power.cap_restore import RestoreError
from harness.power.cap_watchdog import WatchdogError
from harness.power.source import MeterError, NotAllowedError
from harness.power.sources import amd, open_source
from harness.run import command, evidence
from harness.run.plan import Machine, Plan, RunRequest, make_plan
from harness.run.preflight import states_for
from harness.run.processes import descendants
from harness.system import DESCRIPTION

A, B = "GPU-aaaa0000-0000-0000-0000-000000000000", "GPU-bbbb0000-0000-0000-0000-000000000000"
TESTS = Path(__file__).parents[2]
DEADLINE_S = 60
HOLD = """
import sys, time
from pathlib import Path
from harness.power.cap_apply import applied_cap
from harness.run.plan import Plan
with applied_cap(Plan.load(Path(sys.argv[1]))):
    print("held", flush=True)
    time.sleep(600)
"""


class Node:
    """Two boards at 700 W, and what a test wants to know of them."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.state = root, root / "state"
        self.boards = root / "boards.json"
        self.change(uuids=[A, B], limits={A: 700_000, B: 700_000}, root=True, deaf=[])
        fake_nvml.write_module(root, self.boards)
        self.nvml = FakeNvml.of_file(self.boards)
        monkeypatch.setitem(sys.modules, "pynvml", self.nvml)
        monkeypatch.setenv("PYTHONPATH", f"{root}:{TESTS}")
        monkeypatch.setenv("WATTMARK_STATE", str(self.state))
        for name in (*amd.VISIBLE, "WATTMARK_SIMULATOR"):
            monkeypatch.delenv(name, raising=False)

    def change(self, **facts: object) -> None:
        before = json.loads(self.boards.read_text()) if self.boards.exists() else {}
        fake_nvml.replace_json(self.boards, {**before, **facts})

    @property
    def limits(self) -> dict[str, int]:
        return json.loads(self.boards.read_text())["limits"]

    @property
    def journal(self) -> Path:
        return self.state / JOURNAL_FILE

    def plan(self, cap_w: float = 400, found_mw: dict[str, int] | None = None) -> Plan:
        devices = tuple(open_source("nvidia").devices())
        found_mw = {A: 700_000, B: 700_000} if found_mw is None else found_mw
        machine = Machine("nvidia", "cuda", "580", devices, "P0", cap_w, found_mw or None)
        return make_plan(RunRequest("resnet50-train"), machine, dict(DESCRIPTION), "0" * 64)

    @contextmanager
    def held_elsewhere(self):
        """Another process that holds 400 W on both boards, for as long as the block runs; and its
        watchdog's process id."""
        self.plan().save(self.root)
        command = [sys.executable, "-c", HOLD, str(self.root)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            assert process.stdout.readline() == "held\n"
            (watchdog,) = [pid for pid in descendants([process.pid]) if pid != process.pid]
            yield process, watchdog
        finally:
            process.kill()
            process.communicate()


@pytest.fixture
def node(tmp_path, monkeypatch) -> Node:
    return Node(tmp_path, monkeypatch)


AS_FOUND = {A: 700_000, B: 700_000}
SET = {A: 400_000, B: 400_000}


def wait_for(condition) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ended(pid: int) -> bool:
    try:
        return "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True


def watchdogs() -> list[int]:
    return [
        pid
        for pid in descendants([os.getpid()])
        if b"harness.power.cap_watchdog" in command_line(pid)
    ]


def test_a_cap_is_set_while_it_is_held_and_what_was_found_comes_back(node):
    with applied_cap(node.plan()):
        assert node.limits == SET
        stored = json.loads(node.journal.read_text())
        assert [(one["uuid"], one["found_mw"]) for one in stored["accelerators"]] == [
            (A, 700_000),
            (B, 700_000),
        ]
        assert stored["pid"] == os.getpid() and stored["meter"] == "nvidia"
        assert (
            node.journal.stat().st_mode & 0o777 == 0o644
            and node.state.stat().st_mode & 0o777 == 0o755
        )
    assert node.limits == AS_FOUND
    assert not node.journal.exists() and not watchdogs()


def test_boards_that_were_found_at_different_limits_get_each_its_own_back(node):
    node.change(limits={A: 700_000, B: 500_000})
    with applied_cap(node.plan(found_mw={A: 700_000, B: 500_000})):
        assert node.limits == SET
    assert node.limits == {A: 700_000, B: 500_000}


def test_a_limit_that_another_holds_lower_is_restored_to_what_was_asked_for(node):
    """The board's management controller holds B at 500 W whatever is asked; the limit to bring back
    is the one before the run."""
    plain = node.nvml.nvmlDeviceGetFieldValues

    def held_down(handle, fields):
        values = plain(handle, fields)
        if handle == B and fields == [190]:
            values[0].value.uiVal = min(500_000, values[0].value.uiVal)
        return values

    node.nvml.nvmlDeviceGetFieldValues = held_down
    with applied_cap(node.plan()):
        assert node.limits == SET
    assert node.limits == AS_FOUND

    says = f"{B}: a power limit of 600 W was asked for, and the board has 500 W"
    with pytest.raises(MeterError, match=says), applied_cap(node.plan(600)):
        pytest.fail("held at a cap that is not in force")
    assert node.limits == AS_FOUND


def test_nothing_is_touched_where_the_cap_is_the_one_that_was_found(node):
    with applied_cap(node.plan(700, found_mw={})) as guard:
        guard()
        assert not watchdogs()
    assert not node.state.exists()


def test_journal_and_watchdog_stand_before_the_first_write(node, monkeypatch):
    seen = []
    plain = node.nvml.nvmlDeviceSetPowerManagementLimit

    def look(handle, limit_mw):
        seen.append((limit_mw, len(Journal.read(node.journal).accelerators), len(watchdogs())))
        plain(handle, limit_mw)

    monkeypatch.setattr(node.nvml, "nvmlDeviceSetPowerManagementLimit", look, raising=False)
    with applied_cap(node.plan()):
        pass
    assert seen == [(400_000, 2, 1), (400_000, 2, 1), (700_000, 2, 1), (700_000, 2, 1)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_the_watchdog_restores_when_the_owner_dies(node, number):
    with node.held_elsewhere() as (owner, watchdog):
        assert node.limits == SET
        os.kill(owner.pid, number)
        wait_for(lambda: ended(watchdog))
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_the_watchdog_is_in_a_session_of_its_own_and_outlives_what_ends_the_owners(node):
    with node.held_elsewhere() as (owner, watchdog):
        for number in interrupts.SIGNALS:
            os.kill(watchdog, number)
        os.killpg(owner.pid, signal.SIGKILL)
        wait_for(lambda: ended(watchdog))
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_a_watchdog_that_died_is_replaced_at_the_next_look(node):
    with applied_cap(node.plan()) as guard:
        (first,) = watchdogs()
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: ended(first))
        guard()
        (second,) = watchdogs()
        guard()
        assert watchdogs() == [second] != [first]
    assert node.limits == AS_FOUND and not watchdogs()


def test_a_watchdog_that_cannot_be_replaced_ends_the_run(node, monkeypatch):
    with (
        monkeypatch.context() as patch,
        pytest.raises(WatchdogError) as said,
        applied_cap(node.plan()) as guard,
    ):
        (first,) = watchdogs()
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: ended(first))
        patch.setattr(cap_watchdog.sys, "executable", "/bin/false")
        guard()
    assert str(said.value).startswith(
        "the run was ended: its watchdog died, and"
    ) and "so no limit was set" not in str(said.value)
    assert node.limits == AS_FOUND


def test_without_a_watchdog_nothing_is_set(node, monkeypatch):
    with (
        monkeypatch.context() as patch,
        pytest.raises(MeterError, match=r"the watchdog .* did not start .*so no limit was set"),
    ):
        patch.setattr(cap_watchdog.sys, "executable", "/bin/false")
        with applied_cap(node.plan()):
            pytest.fail("held without a watchdog")
    assert node.limits == AS_FOUND and not node.journal.exists()


def power_cut(node: Node) -> int:
    """Owner and watchdog die at once, as when the power fails; the owner's process id."""
    with node.held_elsewhere() as (owner, watchdog):
        os.kill(watchdog, signal.SIGKILL)
        wait_for(lambda: ended(watchdog))
        owner.kill()
        owner.wait()
        pid = owner.pid
    assert node.limits == SET and node.journal.exists()
    return pid


def test_what_a_power_cut_leaves_is_refused_until_it_is_restored(node):
    pid = power_cut(node)
    with pytest.raises(
        MeterError,
        match=rf"{node.journal}: .*process {pid}.* restore them with: bench-submit restore",
    ):
        applied_cap(node.plan(found_mw=SET)).__enter__()
    with pytest.raises(MeterError, match=f"process {pid}"):
        applied_cap(
            node.plan(400, found_mw={})
        ).__enter__()  # as found, but what is found is another run's
    done = CliRunner().invoke(main, ["restore"])
    assert done.exit_code == 0
    assert done.output.splitlines() == [f"{A}: restored to 700 W", f"{B}: restored to 700 W"]
    assert node.limits == AS_FOUND and not node.journal.exists()
    again = CliRunner().invoke(main, ["restore"])
    assert (
        again.exit_code == 0
        and again.output == f"nothing to restore: there is no journal in {node.state}\n"
    )


def test_a_run_as_found_on_other_boards_is_not_refused(node):
    power_cut(node)
    plan = node.plan(400, found_mw={})
    journal = Journal.read(node.journal)
    others = tuple(
        replace(one, uuid=one.uuid.replace("0000", "1111")) for one in journal.accelerators
    )
    replace(journal, accelerators=others).write(node.journal)
    with applied_cap(plan):
        pass


def test_what_a_dead_run_has_set_is_never_taken_for_what_is_found(node, monkeypatch):
    """Its watchdog is waited for; where it does not come, the run is refused before it is
    planned."""
    monkeypatch.setattr(command, "GRACE_S", DEADLINE_S)
    with node.held_elsewhere() as (owner, watchdog):
        os.kill(watchdog, signal.SIGSTOP)
        owner.kill()
        owner.wait()
        later = threading.Timer(0.5, os.kill, (watchdog, signal.SIGCONT))
        later.start()
        assert command._inspect("nvidia", 2, 400).found_mw == AS_FOUND
        later.join()

    power_cut(node)
    monkeypatch.setattr(command, "GRACE_S", 0.2)
    for cap_w in (400, None):
        with pytest.raises(
            MeterError,
            match="has set power limits and is gone; restore them with: bench-submit restore",
        ):
            command._inspect("nvidia", 2, cap_w)


def test_the_lock_of_a_run_that_ends_is_waited_for(node):
    """As a watchdog has it for a moment after it has removed the journal."""
    program = (
        "import time; from pathlib import Path; from harness.power.cap_journal import "
        f"lock_directory\nwith lock_directory(Path({str(node.state)!r})):"
    )
    program += " print('locked', flush=True); time.sleep(0.5)"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "locked\n"
        with applied_cap(node.plan()):
            assert node.limits == SET


def test_restoring_sees_boards_that_the_environment_hides(node, monkeypatch):
    power_cut(node)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", A)
    assert CliRunner().invoke(main, ["restore"]).exit_code == 0
    assert node.limits == AS_FOUND


def test_while_the_owner_lives_neither_a_run_nor_restore_comes_near(node):
    with node.held_elsewhere() as (owner, watchdog):
        with pytest.raises(
            MeterError, match=f"process {owner.pid}.* is running and holds the power limits"
        ):
            applied_cap(node.plan(found_mw=SET)).__enter__()
        with pytest.raises(
            MeterError, match=f"process {owner.pid}.* is running and holds the power limits"
        ):
            applied_cap(node.plan(400, found_mw={})).__enter__()
        done = CliRunner().invoke(main, ["restore"])
        assert done.exit_code == 1 and f"process {owner.pid}" in done.output
        assert node.limits == SET
        owner.kill()
        wait_for(lambda: ended(watchdog))


def test_a_board_that_does_not_take_the_limit_is_named_and_all_are_put_back(node):
    node.change(deaf=[B])
    with pytest.raises(
        MeterError, match=f"{B}: a power limit of 400 W was asked for, and the board has 700 W"
    ):
        applied_cap(node.plan()).__enter__()
    assert node.limits == AS_FOUND and not node.journal.exists() and not watchdogs()


def test_one_board_that_cannot_be_restored_does_not_keep_the_others_from_it(node):
    with (
        pytest.raises(
            MeterError, match=f"{A}: .* not restored to 700 W; try: bench-submit restore"
        ),
        applied_cap(node.plan()),
    ):
        node.change(deaf=[A])
    assert node.limits == {A: 400_000, B: 700_000}
    wait_for(lambda: not watchdogs())  # which has tried once more
    assert [one.uuid for one in Journal.read(node.journal).accelerators] == [A]
    done = CliRunner().invoke(main, ["restore"])
    assert done.exit_code == 1 and "the board has 400 W; not restored to 700 W" in done.output
    node.change(deaf=[])
    done = CliRunner().invoke(main, ["restore"])
    assert (done.exit_code, done.output) == (0, f"{A}: restored to 700 W\n")
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_without_the_right_to_set_it_is_said_what_an_administrator_can_do(node):
    node.change(root=False)
    with pytest.raises(
        NotAllowedError, match=rf"{A}: .*refused by NVML .*setting a cap takes root.*docs/caps\.md"
    ):
        applied_cap(node.plan()).__enter__()
    assert not node.journal.exists() and not watchdogs()


def test_a_run_without_the_right_to_set_leaves_nothing_behind(node):
    node.change(root=False)
    out = node.root / "out"
    done = CliRunner().invoke(main, ["run", "resnet50-train", "--cap", "400", "-o", str(out)])
    assert done.exit_code == 2 and "docs/caps.md" in done.output
    assert "cap 400 W, set for this run (found 700 W)" in done.output
    assert not list(out.iterdir()) and node.limits == AS_FOUND


def test_a_run_that_was_refused_for_another_leaves_nothing_behind(node, monkeypatch):
    """The other has boards of its own, so that it shows only when the limits are to be set."""
    out = node.root / "out"
    monkeypatch.setattr(journal, "GRACE_S", 0.2)
    with node.held_elsewhere() as (owner, _):
        theirs = Journal.read(node.journal)
        others = tuple(
            replace(one, uuid=one.uuid.replace("0000", "1111")) for one in theirs.accelerators
        )
        replace(theirs, accelerators=others).write(node.journal)
        done = CliRunner().invoke(main, ["run", "resnet50-train", "--cap", "500", "-o", str(out)])
    assert (
        done.exit_code == 2
        and f"process {owner.pid}" in done.output
        and "is running and holds" in done.output
    )
    assert "--resume" not in done.output and not list(out.iterdir())


def test_a_result_over_nodes_names_what_was_found_on_all_of_them(node):
    """On one of them the cap was in force already."""
    plan = node.plan()
    shares = [
        {"found_mw": plan.found_mw, "found_state": {}, "node": {}},
        {"found_mw": None, "found_state": {}, "node": {"accelerators": [{"uuid": "C"}]}},
    ]
    told = {"mode": "set", "cap_w": 400, "state": "P0", "found_mw": {**AS_FOUND, "C": 400_000}}
    assert (
        evidence._power(plan, shares)
        == evidence._power(replace(plan, found_mw=None), shares)
        == told
    )
    assert evidence._power(plan, [shares[1]]) == {"mode": "as-found", "cap_w": 400, "state": "P0"}
    shares[1]["found_state"] = {"C": "high"}
    assert evidence._power(plan, shares) == {**told, "found_state": {"C": "high"}}


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to become somebody else")
def test_a_state_directory_that_may_not_be_written_is_the_right_that_lacks(node):
    plan = node.plan()
    os.seteuid(65534)
    try:
        with pytest.raises(NotAllowedError, match=r"may not be written; setting a cap takes root"):
            applied_cap(plan).__enter__()
        assert explain_refusal("nvidia") is not None and explain_refusal("simulated:h200") is None
    finally:
        os.seteuid(0)
    assert node.limits == AS_FOUND and explain_refusal("nvidia") is None


def test_a_full_disk_refuses_the_run_before_a_limit_moves(node):
    program = (
        "import resource, sys; from pathlib import Path; from harness.power.cap_apply import "
        "applied_cap; from harness.run.plan import Plan\n"
        "plan = Plan.load(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))\n"
        "applied_cap(plan).__enter__()\n"
    )
    node.plan().save(node.root)
    done = subprocess.run(
        [sys.executable, "-c", program, str(node.root)], capture_output=True, text=True, check=False
    )
    assert f"{node.journal}: the journal cannot be written (File too large)" in done.stderr
    assert node.limits == AS_FOUND and not node.journal.exists()
    assert [p.name for p in node.state.iterdir()] == ["caps.lock"]


def test_a_state_directory_that_cannot_be_is_named_with_what_to_do(node, monkeypatch):
    monkeypatch.setenv("WATTMARK_STATE", str(node.boards / "state"))
    with pytest.raises(
        MeterError,
        match=r"cannot be written \(Not a directory\); name a directory .* with WATTMARK_STATE",
    ):
        applied_cap(node.plan()).__enter__()


def test_a_limit_that_moved_since_the_plan_was_made_is_refused(node):
    plan = node.plan()
    node.change(limits={A: 700_000, B: 600_000})
    with pytest.raises(
        MeterError,
        match=f"{B}: the power limit was 700 W when the run was planned and is 600 W now",
    ):
        applied_cap(plan).__enter__()
    with pytest.raises(
        MeterError,
        match=f"{B}: the power limit was 700 W when the run was planned and is 600 W now",
    ):
        applied_cap(node.plan(700, found_mw={})).__enter__()
    assert node.limits == {A: 700_000, B: 600_000} and not node.journal.exists()


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"format": "wattmark-caps/1"', '{"accelerators": [{"uuid": "x"}]}', "\0" * 64],
)
def test_a_damaged_journal_is_named_and_never_a_traceback(node, text):
    node.state.mkdir()
    node.journal.write_text(text)
    for plan in (node.plan(), node.plan(700, found_mw={})):
        with pytest.raises(
            MeterError, match=rf"{node.journal}: .* cannot be read .*remove the file"
        ):
            applied_cap(plan).__enter__()
    done = CliRunner().invoke(main, ["restore"])
    assert (
        done.exit_code == 1 and str(node.journal) in done.output and "Traceback" not in done.output
    )
    assert node.limits == AS_FOUND


def test_a_journal_of_another_host_is_left_to_that_host(node):
    power_cut(node)
    replace(Journal.read(node.journal), host="elsewhere").write(node.journal)
    done = CliRunner().invoke(main, ["restore"])
    assert done.exit_code == 1 and "on elsewhere; restore them there" in done.output
    assert node.limits == SET and node.journal.exists()


def test_a_watchdog_leaves_the_journal_of_a_later_run_alone(node):
    with node.held_elsewhere() as (owner, watchdog):
        later = replace(Journal.read(node.journal), run_id="a-later-one")
        later.write(node.journal)
        owner.kill()
        wait_for(lambda: ended(watchdog))
    assert node.limits == SET and Journal.read(node.journal) == later


def test_a_signal_in_the_middle_of_restoring_takes_effect_after_it(node, monkeypatch):
    plain = node.nvml.nvmlDeviceSetPowerManagementLimit

    def disturbed(handle, limit_mw):
        if (handle, limit_mw) == (A, 700_000):
            os.kill(os.getpid(), signal.SIGTERM)
        plain(handle, limit_mw)

    monkeypatch.setattr(node.nvml, "nvmlDeviceSetPowerManagementLimit", disturbed, raising=False)
    with pytest.raises(Interrupted), interrupts.signals(), applied_cap(node.plan()):
        pass
    assert node.limits == AS_FOUND and not node.journal.exists() and not watchdogs()


def test_what_could_not_be_restored_is_told_before_a_signal_ends_the_run(node, monkeypatch, capsys):
    """Whether the signal comes before restoring or during it."""
    plain = node.nvml.nvmlDeviceSetPowerManagementLimit

    def disturbed(handle, limit_mw):
        if (handle, limit_mw) == (A, 700_000):
            os.kill(os.getpid(), signal.SIGTERM)
        plain(handle, limit_mw)

    with pytest.raises(Interrupted), interrupts.signals(), applied_cap(node.plan()):
        node.change(deaf=[A])
        monkeypatch.setattr(
            node.nvml, "nvmlDeviceSetPowerManagementLimit", disturbed, raising=False
        )
    says = (
        f"wattmark: {A}: a power limit of 700 W was asked for, and the board has 400 W; not "
        "restored to 700 W; try: "
    )
    assert says in capsys.readouterr().err
    node.change(deaf=[])
    monkeypatch.setattr(node.nvml, "nvmlDeviceSetPowerManagementLimit", plain)
    wait_for(lambda: not watchdogs())
    CliRunner().invoke(main, ["restore"])

    with pytest.raises(Interrupted), interrupts.signals(), applied_cap(node.plan()):
        node.change(deaf=[A])
        os.kill(os.getpid(), signal.SIGTERM)
    assert says in capsys.readouterr().err


def test_a_run_that_failed_and_could_not_be_put_back_says_both(node):
    with (
        pytest.raises(RestoreError, match=f"it broke; {A}: .* not restored to 700 W"),
        applied_cap(node.plan()),
    ):
        node.change(deaf=[A])
        raise ValueError("it broke")


def test_a_signal_while_something_that_fails_is_waited_for_is_not_lost():
    with pytest.raises(Interrupted), interrupts.signals(), interrupts.deferred():
        os.kill(os.getpid(), signal.SIGTERM)
        raise ValueError("it broke")


def test_a_signal_while_the_cap_is_held_restores_and_says_so(node, capsys):
    with pytest.raises(Interrupted), interrupts.signals(), applied_cap(node.plan()):
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("the signal was not heard")
    assert capsys.readouterr().err == f"power limits restored: {A} to 700 W, {B} to 700 W\n"
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_simulated_boards_that_nobody_else_sees_cannot_be_held(node):
    plan = replace(node.plan(), meter="simulated:h200")
    with pytest.raises(MeterError, match="in a process of their own only"):
        applied_cap(plan).__enter__()


@pytest.fixture
def gpu(tmp_path, monkeypatch) -> FakeGpu:
    """An MI300X at 600 W and the performance level `high`, whose name is its address: no kernel
    tells its unique id."""
    board = FakeGpu(1, hip_id=0, bus=0xE5)
    board.level = "AMDSMI_DEV_PERF_LEVEL_HIGH"
    (tmp_path / "amdsmi.py").write_text(
        "import sys\nfrom support import fake_amdsmi\nsys.modules[__name__] = "
        "fake_amdsmi.FakeAmdSmi(fake_amdsmi.FakeGpu(1, 0, 0xE5))\n"
    )
    monkeypatch.setitem(sys.modules, "amdsmi", FakeAmdSmi(board))
    monkeypatch.setattr(amd, "KFD_NODES", tmp_path / "none")
    return board


def plan_of_amd(cap_w: float, found_mw: dict[str, int] | None) -> Plan:
    meter = open_source("amd")
    devices = tuple(meter.devices())
    machine = Machine(
        "amd", "cuda", "6", devices, "auto", cap_w, found_mw, states_for(meter, devices)
    )
    return make_plan(RunRequest("resnet50-train"), machine, dict(DESCRIPTION), "0" * 64)


def test_amds_limit_and_performance_level_are_set_and_restored(node, gpu):
    with applied_cap(plan_of_amd(400, {"PCI-0000:e5:00.0": 600_000})):
        assert (gpu.caps["power_cap"], gpu.level) == (400_000_000, "AMDSMI_DEV_PERF_LEVEL_AUTO")
        assert Journal.read(node.journal).accelerators == (
            SavedLimit("PCI-0000:e5:00.0", 600_000, "high"),
        )
    assert (gpu.caps["power_cap"], gpu.level) == (600_000_000, "AMDSMI_DEV_PERF_LEVEL_HIGH")


def test_a_performance_level_that_moved_since_the_plan_was_made_is_refused(node, gpu):
    for found, now in (("HIGH", "LOW"), ("AUTO", "HIGH")):
        gpu.level = f"AMDSMI_DEV_PERF_LEVEL_{found}"
        plan = plan_of_amd(600, None)
        gpu.level = f"AMDSMI_DEV_PERF_LEVEL_{now}"
        with pytest.raises(
            MeterError,
            match=f"performance level was {found.lower()} when .* and is {now.lower()} now",
        ):
            applied_cap(plan).__enter__()


def test_amds_performance_level_is_set_for_a_run_at_the_cap_that_was_found(node, gpu):
    with applied_cap(plan_of_amd(600, None)):
        assert (gpu.caps["power_cap"], gpu.level) == (600_000_000, "AMDSMI_DEV_PERF_LEVEL_AUTO")
    assert gpu.level == "AMDSMI_DEV_PERF_LEVEL_HIGH"
    gpu.level = "AMDSMI_DEV_PERF_LEVEL_AUTO"
    with applied_cap(plan_of_amd(600, None)):
        assert not node.journal.exists()


def test_a_performance_level_that_cannot_be_restored_is_said(node, gpu):
    says = (
        r"the performance level high was refused .* not restored to high; try: bench-submit restore"
    )
    with pytest.raises(RestoreError, match=says), applied_cap(plan_of_amd(600, None)):
        gpu.errors["amdsmi_set_gpu_perf_level"] = BUSY
    wait_for(lambda: not watchdogs())
