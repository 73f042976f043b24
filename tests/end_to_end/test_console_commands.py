"""The blocks of commands in README.md and docs/: each is executed by a test or has a mark, what the
marks name is there, and the commands of all blocks exist with their options."""

import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from support.console.blocks import (
    EXECUTED_BY,
    MARKS,
    PAGES,
    PROGRAMS,
    ROOT,
    Block,
    list_blocks,
    list_program_calls,
    mask_values,
    match_lines,
)

import checker.cli
import harness.cli
import reporting.cli
from rules.workloads import workloads

BLOCKS = [block for page in PAGES for block in list_blocks(page)]


def get_place(block: Block) -> str:
    return block.place


def find_command(program: str, arguments: list[str]) -> tuple[click.Command, list[str]]:
    """The command that a call reaches, and the arguments that this command gets."""
    first = arguments[0] if arguments else ""
    if program == "bench-report":
        if first not in reporting.cli.COMMANDS:
            return reporting.cli.main, arguments
        return reporting.cli.load_command(first), arguments[1:]
    if program == "bench-check":
        if first not in checker.cli.COMMANDS:
            return checker.cli.check, arguments
        command, arguments = checker.cli.load(first), arguments[1:]
    else:
        command = harness.cli.main
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        if name not in command.commands:
            raise click.UsageError(f"{program} has no command {name}")
        command = command.commands[name]
    return command, arguments


def parse_call(program: str, arguments: list[str]) -> None:
    """Parse a call as its program would, but ask of no path that it exists. Raises
    click.UsageError for an option or a value that the program would refuse."""
    command, rest = find_command(program, arguments)
    context = click.Context(command, info_name=program)
    words = [re.sub(r"^\$\w+$", "1", word) for word in rest]
    values, left, _ = command.make_parser(context).parse_args(words)
    if left:
        raise click.UsageError(f"unexpected arguments: {' '.join(left)}")
    for parameter in command.params:
        value = values.get(parameter.name)
        if parameter.required and not value:
            raise click.MissingParameter(ctx=context, param=parameter)
        is_path = isinstance(parameter.type, click.Path | click.File)
        if value is not None and not is_path and not parameter.is_eager:
            parameter.process_value(context, value)
    workload = values.get("workload")
    if isinstance(workload, str) and workload not in workloads():
        raise click.UsageError(f"there is no workload {workload}")


def describe_call(program: str, arguments: list[str]) -> str:
    return shlex.join([program, *arguments])


def test_blocks_are_found() -> None:
    fences = sum(
        len(re.findall(r"^ *```(?:console|sh)$", page.read_text(encoding="utf-8"), re.MULTILINE))
        for page in PAGES
    )
    assert len(BLOCKS) == fences > 60


def list_marked(mark: str) -> list[Block]:
    return [block for block in BLOCKS if block.mark == mark]


@pytest.mark.parametrize("block", list_marked("executed by"), ids=get_place)
def test_files_that_execute_a_block_name_its_page(block: Block) -> None:
    assert block.tests
    assert [path for path in block.tests if block.page.name not in path.read_text()] == []


CI = ROOT / ".ci/run"


def test_ci_makes_the_targets_of_its_blocks() -> None:
    lines = re.findall(r"^make (?:--\S+ )*([\w -]+)$", CI.read_text(), re.MULTILINE)
    targets = [target for line in lines for target in line.split()]
    # Of a make that runs this test.
    inherited = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    process = subprocess.run(
        ["make", "--dry-run", "--debug=basic", *targets],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in inherited},
        capture_output=True,
        text=True,
        check=True,
    )
    made = set(re.findall(r"Must remake target '([\w-]+)'", process.stdout))
    texts = [block.text for block in list_marked("executed by") if CI in block.tests]
    lines = [line for text in texts for line in text.splitlines()]
    commands = {line.partition("#")[0].strip() for line in lines}
    assert len(commands) > 5
    assert commands - {f"make {target}" for target in made} == set()


@pytest.mark.parametrize("block", list_marked("executed with"), ids=get_place)
def test_options_of_the_mark_are_added_to_each_run(block: Block) -> None:
    calls = [c for step in block.list_steps() for c in list_program_calls(step.command)]
    runs = [c for c in calls if c[0] == "bench-submit" and c[1][0] in RUNNING]
    options = shlex.split(str(block.detail))
    assert runs
    assert all(arguments[-len(options) :] == options for _, arguments in runs)


@pytest.mark.parametrize("block", list_marked("checked against"), ids=get_place)
def test_bundle_of_the_mark_exists(block: Block) -> None:
    assert (ROOT / str(block.detail) / "MANIFEST.json").exists()
    assert any(step.lines for step in block.list_steps())


RUNNING = ("run", "sweep", "burn", "study")
INSTALLING = re.compile(r"\b(?:pip3? install|apt(?:-get)? |sudo |make test)")


def test_executed_blocks_install_nothing() -> None:
    executed = [block for block in BLOCKS if block.is_executed]
    assert [block.place for block in executed if INSTALLING.search(block.text)] == []


EXTRAS = re.compile(r"\bpip install [^#\n]*\[([\w,]+)\]")


def test_extras_of_the_blocks_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [name for b in BLOCKS for names in EXTRAS.findall(b.text) for name in names.split(",")]
    assert len(named) > 5
    assert set(named) - project["optional-dependencies"].keys() == set()


def test_every_mark_stands_before_a_block() -> None:
    lines = [line for page in PAGES for line in page.read_text(encoding="utf-8").splitlines()]
    begins = tuple(f"<!-- {mark}" for mark in MARKS)
    marks = sum(line.lstrip().startswith(begins) for line in lines)
    assert marks == sum(block.mark is not None for block in BLOCKS)


@pytest.mark.parametrize("block", BLOCKS, ids=get_place)
def test_commands_of_the_block_exist(block: Block) -> None:
    lines = [step.command for step in block.list_steps()]
    problems = []
    for program, arguments in (call for line in lines for call in list_program_calls(line)):
        try:
            parse_call(program, arguments)
        except click.UsageError as error:
            problems.append(f"{describe_call(program, arguments)}: {error.format_message()}")
    assert problems == []


def test_calls_of_the_programs_are_found() -> None:
    words = [
        word
        for block in BLOCKS
        for step in block.list_steps()
        for word in re.findall(r"\bbench-(?:submit|check|report)(?= )", step.command)
    ]
    calls = [
        call
        for block in BLOCKS
        for step in block.list_steps()
        for call in list_program_calls(step.command)
    ]
    assert len(calls) >= len(words) > 60
    assert {program for program, _ in calls} == set(PROGRAMS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("bench-submit run resnet50-train --no-such-option", "No such option"),
        ("bench-submit runn resnet50-train", "no command runn"),
        ("bench-submit run resnet51-train", "no workload resnet51-train"),
        ("bench-submit burn --precision fp4", "'fp4' is not one of"),
        ("bench-submit run resnet50-train --gpus none", "not a valid integer"),
        ("bench-submit workloads more", "unexpected arguments: more"),
        ("bench-check --select", "requires an argument"),
        ("bench-check explain", "Missing"),
        ("bench-check log tail", "bench-check has no command tail"),
    ],
)
def test_wrong_call_is_noticed(call: str, message: str) -> None:
    ((program, arguments),) = list_program_calls(call)
    with pytest.raises(click.UsageError, match=re.escape(message)):
        parse_call(program, arguments)


def test_make_targets_of_the_blocks_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (stacks,) = re.findall(r"^STACKS := (.*)$", makefile, re.MULTILINE)
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    targets |= {f"test-{stack}" for stack in stacks.split()}
    named = {name for b in BLOCKS for name in re.findall(r"^make ([\w-]+)", b.text, re.MULTILINE)}
    assert len(named) > 5 and named - targets == set()


def test_scripts_of_the_blocks_exist() -> None:
    scripts = {
        name for b in BLOCKS for name in re.findall(r"\bpython3? (\w+/[\w/]+\.py)\b", b.text)
    }
    assert len(scripts) > 3
    assert [name for name in scripts if not (ROOT / name).is_file()] == []


def list_shown_lines(page: Path) -> Iterator[list[str]]:
    """The lines of each block `console` of a page."""
    for block in list_blocks(page):
        if block.language == "console":
            yield block.text.splitlines()


def test_excerpt_is_part_of_an_output() -> None:
    """A block `console` without a command shows lines, in their order, of an output that another
    page shows."""
    excerpts = [b for b in BLOCKS if b.language == "console" and not b.list_steps()]
    outputs = [lines for page in PAGES for lines in list_shown_lines(page)]
    assert excerpts
    for block in excerpts:
        lines = block.text.splitlines()
        longer = [iter(output) for output in outputs if len(output) > len(lines)]
        assert any(all(line in output for line in lines) for output in longer), block.place


def test_pages_with_a_test_of_their_own_name_it() -> None:
    for page, test in EXECUTED_BY.items():
        assert list_blocks(ROOT / page)
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")


ID, OTHER_ID, ID_OF_ANOTHER = (
    f"20261121T17000{n}Z-{name}-85582{n}" for n, name in enumerate(("x1", "x1", "y1"))
)
PAGE_LINES = ["epoch  3  30 W", "…", "2 judged: 2 pass, 0 fail", f"bundle: a/{ID}"]


@pytest.mark.parametrize(
    ("printed", "numbers"),
    [
        (["epoch 1   7 W", "2 judged: 2 pass, 0 fail", f"bundle: a/{OTHER_ID}"], [0, 1, 2]),
        (["epoch 1 7 W", "x", "", "9 judged: 9 pass, 0 fail", f"bundle: a/{ID}"], [0, 3, 4]),
        (["epoch 1 7 W", "9 judged: 8 pass, 1 fail", f"bundle: a/{ID}"], None),
        (["epoch 1 7 J", "9 judged: 9 pass, 0 fail", f"bundle: a/{ID}"], None),
        (["epoch 1 7 W", "9 judged: 9 pass, 0 fail", f"bundle: a/{ID_OF_ANOTHER}"], None),
        (["epoch 1 7 W", "9 judged: 9 pass, 0 fail"], None),
        (["epoch 1 7 W", "9 judged: 9 pass, 0 fail", f"bundle: a/{ID}", "!"], None),
    ],
)
def test_outputs_are_compared_up_to_values(printed: list[str], numbers: list[int] | None) -> None:
    assert match_lines(PAGE_LINES, printed) == numbers


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("mean  690.3 W, \u22120.30 %  (7\u202f444 images/s)", "mean N W, N % (N images/s)"),
        ("0 errors, 12 notes", "0 errors, N notes"),
        ("400 W  ########  4.032 max", "N W ## N"),
        ("500 W  ######    3.883", "N W ## N"),
        ("1 done, about 40 s left", "N done, about TIME left"),
        ("head 983834e13570df8e7670ec6c30fa421f3f2e9a8f", "head HEX"),
        ("run 20261121T173410Z-resnet50-tuned-x1-700W-85582f", "run ID-resnet50-tuned-x1-NW"),
        ("withdrawn 2026-11-23T01:59:36Z, H200", "withdrawn TIME, H200"),
    ],
)
def test_values_are_masked(line: str, masked: str) -> None:
    assert mask_values(line) == masked
