"""The blocks of commands in README.md and docs/ that need no accelerator are executed, each page in
a clone of its own, and print what the page shows, up to numbers, times, digests and ids."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import make_key
from support.console_blocks import (
    EXECUTED_BY,
    GAP,
    PAGES,
    ROOT,
    RUN_ID,
    Step,
    describe_difference,
    list_blocks,
    mask_values,
    match_lines,
)

LIMIT_S = 300
EXECUTED = [
    page
    for page in PAGES
    if page.relative_to(ROOT).as_posix() not in EXECUTED_BY
    and any(block.reason is None and block.list_steps() for block in list_blocks(page))
]


def make_clone(folder: Path) -> Path:
    """A clone of the project with the changes of its working tree, and with its environment."""
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run([*git, "clone", "-q", "--shared", ROOT, folder], check=True)
    changes = ["ls-files", "-z", "--modified", "--others", "--exclude-standard"]
    listing = subprocess.run([*git, *changes], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listing.decode().split("\0")[:-1]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / name)
        else:
            (folder / name).unlink()
    subprocess.run([*git, "add", "--all"], cwd=folder, check=True)
    commit = [*git, "commit", "-q", "--allow-empty", "-m", "Changes of the working tree"]
    subprocess.run(commit, cwd=folder, check=True)
    (folder / ".venv").symlink_to(sys.prefix)
    with (folder / ".git/info/exclude").open("a") as exclude:
        exclude.write("/.venv\n")
    return folder


class Shell:
    """A bash session in a clone of the project: directory and variables last from command to
    command. Ids of runs that a page shows stand for the ids of the session."""

    def __init__(self, folder: Path) -> None:
        self.clone = make_clone(folder / "clone")
        self.state = folder / "state"
        self.state.write_text(f"cd {self.clone}\n")
        self.ids: dict[str, str] = {}
        home = folder / "home"
        (home / ".ssh").mkdir(parents=True)
        make_key(home / ".ssh/id_ed25519")
        self.environment = {
            **os.environ,
            "HOME": str(home),
            "PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(self.clone),
            "COLUMNS": "200",
        }

    def execute(self, step: Step) -> str | None:
        """Run a command. Returns what differs from the page, or None."""
        command = RUN_ID.sub(lambda match: self.ids.get(match[0], match[0]), step.command)
        errexit = "set -e -o pipefail;" if step.lines is None else ""
        script = (
            f"trap 'export -p > {self.state}; echo \"cd ${{PWD@Q}}\" >> {self.state}' EXIT; "
            f"set -a; source {self.state}; {errexit}\n{command}"
        )
        process = subprocess.Popen(
            ["bash", "-c", script],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        printed: list[str] = []
        try:
            if step.lines and "^C" in step.lines:
                printed = self._interrupt(process, step.lines)
            printed += process.communicate(timeout=LIMIT_S)[0].splitlines()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        if step.lines is None:
            failure = "\n".join(printed[-8:])
            return f"exit status {process.returncode}:\n{failure}" if process.returncode else None
        page_lines = [line for line in step.lines if line != "^C"]
        numbers = match_lines(page_lines, printed)
        if numbers is None:
            return describe_difference(page_lines, printed)
        shown = [line for line in page_lines if line.strip() != GAP]
        for line, number in zip(shown, numbers, strict=True):
            ids = zip(RUN_ID.findall(line), RUN_ID.findall(printed[number]), strict=True)
            self.ids |= dict(ids)
        return None

    def _interrupt(self, process: "subprocess.Popen[str]", page_lines: list[str]) -> list[str]:
        """Read until the last line that the page shows before `^C`, and interrupt the process a
        moment later. Returns what was read."""
        before = [line for line in page_lines[: page_lines.index("^C")] if line != GAP]
        awaited = mask_values(before[-1])
        printed: list[str] = []
        assert process.stdout
        for line in process.stdout:
            printed.append(line.rstrip("\n"))
            if mask_values(line) == awaited:
                time.sleep(2)
                os.killpg(process.pid, signal.SIGINT)
                return printed
        return printed


def prepare(page: Path, shell: Shell) -> None:
    """Make what the blocks of a page presuppose."""
    name = page.relative_to(ROOT).as_posix()
    if name == "README.md":  # "docs/verify.md sets the variables"
        variables, *_ = list_blocks(ROOT / "docs/verify.md")
        assert shell.execute(Step(variables.text, None)) is None
    if name == "docs/node-power.md":
        log = "tests/harness/power_logs/data/ptd_8xb200.txt.gz"
        assert shell.execute(Step(f"gunzip < {log} > spl.txt", None)) is None


@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_of_the_page_do_what_it_shows(page: Path, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    prepare(page, shell)
    problems = []
    for block in list_blocks(page):
        if block.reason is None:
            for step in block.list_steps():
                difference = shell.execute(step)
                if difference:
                    problems.append(f"{block.place}: {step.command.strip()[:200]}\n  {difference}")
    assert not problems, "\n".join(problems)


def test_demo_runs(tmp_path: Path) -> None:
    """`make demo` sets up the environment and calls this script."""
    shell = Shell(tmp_path)
    assert shell.execute(Step("scripts/demo.sh", None)) is None
    assert (shell.clone / "build/demo/report.html").is_file()
