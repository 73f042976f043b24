"""What the three programs answer a shell that completes their arguments. tests/site has the real
shells."""

import click
import pytest
from click.shell_completion import BashComplete, get_completion_class
from click.testing import CliRunner

from checker.cli import COMMANDS, check, load
from checker.command_line.completion import PROGRAMS, SHELLS, CommandOrPaths, format_script
from harness.cli import main as bench_submit
from reporting.cli import COMMANDS as REPORT_COMMANDS
from reporting.cli import load_command
from reporting.cli import main as report
from rules.registry import rules_by_id
from rules.workloads import workloads

BENCH_CHECK = CommandOrPaths(check, {name: text for name, (_, text) in COMMANDS.items()}, load)
BENCH_REPORT = CommandOrPaths(report, REPORT_COMMANDS, load_command)


def complete(program: click.Command, line: str) -> list[str]:
    """The completions of the last word of a line, which may be empty. A path is its kind."""
    *words, incomplete = line.split(" ")
    items = BashComplete(program, {}, "program", "COMPLETE").get_completions(words, incomplete)
    return [item.value if item.type == "plain" else f"a {item.type}" for item in items]


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_workloads_are_completed(command: str) -> None:
    assert complete(bench_submit, f"{command} ") == list(workloads())
    assert complete(bench_submit, f"{command} res") == ["resnet50-train"]
    assert complete(bench_submit, f"{command} --seed 3 sd2") == ["sd2-latents-train", "sd2-train"]


@pytest.mark.parametrize("option", ["--variant", "--like"])
def test_variants_of_the_workload_are_completed(option: str) -> None:
    variants = workloads()["resnet50-train"].variants
    assert complete(bench_submit, f"run resnet50-train {option} ") == list(variants)
    assert complete(bench_submit, f"run resnet50-train --smoke {option} tu") == ["tuned"]
    all_variants = {name for workload in workloads().values() for name in workload.variants}
    assert set(complete(bench_submit, f"run {option} ")) == all_variants


def test_last_name_of_a_list_is_completed_and_none_twice() -> None:
    assert complete(bench_submit, "sweep vitl16-train --variant tuned,tu") == [
        "tuned,tuned-tf32",
        "tuned,tuned-fp16",
    ]
    assert complete(bench_submit, "sweep resnet50-train --precision bf16,") == ["bf16,tf32"]
    assert complete(bench_submit, "study image-inference --models curated,resnet50c") == [
        "curated,resnet50c"
    ]
    assert complete(BENCH_CHECK, "submissions --select M,M11") == [
        f"M,{rule}" for rule in rules_by_id() if rule.startswith("M11")
    ]


def test_meters_and_simulated_boards_are_completed() -> None:
    assert complete(bench_submit, "run --meter nv") == ["nvidia"]
    assert complete(bench_submit, "run --simulate h") == ["h100", "h200"]


def test_rules_are_completed() -> None:
    ids = [rule for rule in rules_by_id() if rule.startswith("M10")]
    for command in ("explain", "waive"):
        assert complete(BENCH_CHECK, f"{command} M10") == ids
    assert complete(BENCH_CHECK, "submissions --ignore W") == [
        "W",
        *(rule for rule in rules_by_id() if rule.startswith("W")),
    ]


def test_first_argument_is_a_command_or_a_path() -> None:
    assert complete(BENCH_CHECK, "") == list(COMMANDS)
    assert complete(BENCH_CHECK, "rev") == ["review"]
    assert complete(BENCH_CHECK, "submissions") == ["a file"]
    assert complete(BENCH_CHECK, "submissions/ re") == ["a file"]
    assert complete(BENCH_REPORT, "com") == ["compare"]
    assert complete(BENCH_REPORT, "compare a --j") == ["--json"]
    assert complete(BENCH_REPORT, "adv") == ["advise"]
    assert complete(BENCH_REPORT, "advise a --workload res") == ["resnet50-train"]


def test_options_are_those_of_the_command() -> None:
    assert complete(BENCH_CHECK, "--for") == ["--format"]
    assert complete(BENCH_CHECK, "submissions --for") == ["--format"]
    assert complete(BENCH_CHECK, "--format s") == ["sarif"]
    assert complete(BENCH_CHECK, "review --k") == ["--key"]
    assert complete(BENCH_CHECK, "log h") == ["head"]
    assert complete(BENCH_REPORT, "submissions --width 2") == ["252"]
    assert " explain [OPTIONS]" in CliRunner().invoke(BENCH_CHECK, ["explain", "--none"]).output


@pytest.mark.parametrize("line", ["sign ", "reproduce re", "attach-power "])
def test_bundles_are_directories(line: str) -> None:
    assert complete(bench_submit, line) == ["a dir"]


def test_files_of_defaults_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.options.read_site_defaults", None)
    assert complete(bench_submit, "run --out ") == ["a file"]
    assert complete(bench_submit, "sign bundle --ke") == ["--key"]


@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_for_all_programs(shell: str) -> None:
    script = format_script(shell)
    for program in PROGRAMS:
        assert f"{program.replace('-', '_').upper()}_COMPLETE={shell}_complete" in script


def test_script_of_fish_keeps_commas() -> None:
    assert get_completion_class("fish") is not None
    assert format_script("fish").count('string split --max 1 "," $completion') == len(PROGRAMS)
