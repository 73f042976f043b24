"""The checks before a run: `run`, `run --dry-run`, `sweep --dry-run` and `doctor` have the same."""

import importlib.util
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from checker.extras import advise_extra
from harness.cli import main
from harness.power.sources import measuring_meters
from harness.system import EXTRAS

SMOKE = ("resnet50-train", "--smoke", "--simulate", "h200")
REAL_SMOKE = ("resnet50-train", "--smoke")
SIMULATED = ("resnet50-train", "--simulate", "h200")


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def hide_module(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Make a module look as if it were not installed."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda module, package=None: None if module == name else find_spec(module, package),
    )


def make_file_in_place_of_target(tmp_path: Path) -> Path:
    path = tmp_path / "out"
    path.write_text("no directory\n")
    return path


@pytest.mark.parametrize("command", ["run", "sweep"])
@pytest.mark.parametrize(
    ("arguments", "failed_check", "message"),
    [
        (
            (*SMOKE, "--option", "turbo=yes"),
            "options",
            "option turbo=yes: resnet50-train has no option turbo; it has none",
        ),
        (
            ("llama3-8b-pretrain", "--smoke", "--simulate", "h200", "--option", "precision=fp4"),
            "options",
            "option precision=fp4: give one of bf16-true, bf16-mixed",
        ),
        (
            (*SMOKE, "--weights", __file__),
            "options",
            "resnet50-train takes no weights; leave it out",
        ),
        (
            (*SIMULATED, "--option", "turbo=yes"),
            "options",
            "simulated resnet50-train takes no --option, --weights or --corpus: leave them out",
        ),
        (
            ("sd2-latents-train", "--simulate", "h200"),
            "simulated figures",
            "no figures are published of sd2-latents-train on H200",
        ),
        ((*SMOKE, "--system", "none.toml"), "system.toml", "none.toml"),
    ],
)
def test_dry_run_fails_where_the_run_must_fail(
    tmp_path: Path, command: str, arguments: tuple[str, ...], failed_check: str, message: str
) -> None:
    result = invoke(command, *arguments, "--dry-run", "-o", tmp_path / "out")
    assert result.exit_code == 2
    failed = [line for line in result.output.splitlines() if line.startswith("no ")]
    assert any(f.startswith(f"no  {failed_check}: ") and message in f for f in failed)
    # The other checks are shown too.
    assert "ok  target: " in result.output
    assert not (tmp_path / "out").exists()
    started = invoke(command, *arguments, "-o", tmp_path / "out")
    assert started.exit_code == 2
    assert message in " ".join(started.output.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        ((*SIMULATED, "--meter", "nobody"), 2, "--meter and --simulate: give one of them"),
        ((*REAL_SMOKE, "--meter", "nobody"), 2, "there is no meter called 'nobody'"),
        ((SIMULATED[0], "--simulate", "b900"), 2, "there is no simulated accelerator 'b900'"),
        ((*SIMULATED, "--cap", "900"), 2, "200 to 700 W"),
        ((SIMULATED[0],), 3, "no meter can be used here"),
        ((*REAL_SMOKE, "--meter", "nvidia"), 3, "nvidia"),
    ],
)
def test_wrong_usage_ends_with_2_and_what_the_machine_lacks_with_3(
    tmp_path: Path, arguments: tuple[str, ...], exit_code: int, message: str
) -> None:
    for dry_run in (("--dry-run",), ()):
        result = invoke("run", *arguments, "-o", tmp_path / "out", *dry_run)
        assert (result.exit_code, "Usage:" in result.stderr) == (exit_code, exit_code == 2)
        assert message in " ".join(result.output.split())


def test_missing_meter_is_shown_once_with_one_line_for_each_meter(tmp_path: Path) -> None:
    for dry_run in (("--dry-run",), ()):
        result = invoke("run", SIMULATED[0], "-o", tmp_path / "out", *dry_run)
        assert result.output.count("no meter can be used here:\n") == 1
        lines = result.output.partition("no meter can be used here:\n")[2].splitlines()
        reasons = [line for line in lines if line.startswith("  ")]
        assert len(reasons) == 1 + len(measuring_meters(("cuda",)))
        assert reasons[-1] == "  without a GPU use --simulate h200"


def test_dry_run_names_the_checks_that_are_not_made(tmp_path: Path) -> None:
    result = invoke("run", "resnet5-train", "--dry-run", "-o", tmp_path / "out")
    lines = result.output.splitlines()
    for name, needed in (
        ("options", "workload"),
        ("stack", "workload"),
        ("right to set caps", "meter"),
        ("plan", "options"),
    ):
        assert f"-   {name}: not checked, because there is no result of {needed}" in lines
    assert "Error: the run cannot start: 2 checks failed" in result.output


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_missing_stack_is_known_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    hide_module(monkeypatch, "timm")
    for dry_run in (("--dry-run",), ()):
        result = invoke(command, *SMOKE, "-o", tmp_path / "out", *dry_run)
        assert result.exit_code == 3
        assert "timm is not installed" in " ".join(result.output.split())
        assert advise_extra("vision") in " ".join(result.output.split())
    # Simulated work needs no stack.
    assert invoke(command, *SIMULATED, "-o", tmp_path / "out", "--dry-run").exit_code == 0


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_simulated_work_needs_torch_for_several_processes_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    hide_module(monkeypatch, "torch")
    serving = ("llama3-8b-serve", "--simulate", "h200", "--gpus", 2)
    for arguments in (SIMULATED, serving):
        assert invoke(command, *arguments, "-o", tmp_path, "--dry-run").exit_code == 0
    result = invoke(command, *SIMULATED, "--gpus", 2, "-o", tmp_path)
    assert result.exit_code == 3
    assert "Error: torch is not installed" in result.output
    assert "one simulated board without --smoke needs none" in " ".join(result.output.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_target_that_cannot_be_written_is_known_before_the_run(
    tmp_path: Path, command: str
) -> None:
    out = make_file_in_place_of_target(tmp_path)
    for dry_run in (("--dry-run",), ()):
        result = invoke(command, *SIMULATED, "-o", out, *dry_run)
        assert result.exit_code == 3
        assert "is no directory" in " ".join(result.output.split())


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_too_little_space_is_known_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    usage = type(shutil.disk_usage("/"))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 10**6, 10**6))
    for dry_run in (("--dry-run",), ()):
        result = invoke(command, *SIMULATED, "-o", tmp_path / "out", *dry_run)
        assert result.exit_code == 3
        assert "1 MB free" in " ".join(result.output.split())


def test_dry_run_of_a_run_shows_every_check_and_leaves_nothing(tmp_path: Path) -> None:
    result = invoke("run", *SIMULATED, "--cap", "400", "--dry-run", "-o", tmp_path / "out")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    names = [line[4:].partition(":")[0] for line in lines[:-1]]
    assert names == [
        *("workload", "options", "stack", "target", "system.toml", "simulated figures"),
        *("meter", "right to set caps", "code", "board", "signing"),
    ]
    assert lines[-1] == "the run can start; run it without --dry-run"
    assert "cap 400 W, set for this run (found 700 W)" in result.output
    assert list(tmp_path.iterdir()) == []


def test_cap_that_a_board_does_not_allow_fails_the_dry_run(tmp_path: Path) -> None:
    for command, cap in (("run", "--cap"), ("sweep", "--caps")):
        result = invoke(command, *SIMULATED, cap, "900", "--dry-run", "-o", tmp_path)
        assert result.exit_code == 2
        assert "no  meter: " in result.output and "200 to 700 W" in result.output


def test_right_to_set_caps_is_a_check_of_run_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.run.preflight.explain_refusal", lambda *_: "only root may")
    result = invoke("run", *SIMULATED, "--cap", "400", "--dry-run", "-o", tmp_path)
    assert result.exit_code == 3 and "no  right to set caps: --cap: only root may" in result.output
    # The cap in force needs no right.
    assert invoke("run", *SIMULATED, "--cap", "700", "--dry-run", "-o", tmp_path).exit_code == 0


def test_doctor_and_dry_run_say_the_same_of_stacks_and_signing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hide_module(monkeypatch, "timm")
    monkeypatch.setattr(shutil, "which", lambda program: None)
    doctor = invoke("doctor", "--meter", "simulated:h200").output
    dry_run = invoke("run", *SMOKE, "--dry-run", "-o", tmp_path).output
    for text in ("timm is not installed", "ssh-keygen is not installed"):
        assert text in doctor and text in dry_run


def test_every_workload_names_a_stack_that_the_harness_knows() -> None:
    from rules.workloads import workloads

    # Control runs need torch only, which every stack brings.
    assert {workload.stack for workload in workloads().values()} == {*EXTRAS, "torch"}
