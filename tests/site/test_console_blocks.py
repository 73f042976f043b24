"""The blocks of commands in README.md and docs/ are executed, each page in a clone of its own, and
print what the page shows, up to numbers, times, digests and ids. tests/support/console/blocks.py
describes the marks of blocks that another test executes."""

import gzip
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import make_key
from rich.console import Console
from support.console.blocks import (
    EXECUTED_BY,
    GAP,
    PAGES,
    ROOT,
    RUN_ID,
    Block,
    Step,
    describe_difference,
    list_blocks,
    mask_values,
    match_lines,
)
from support.console.clone import make_clone
from support.console.preparations import PREPARATIONS

from checker.command_line.config import CONFIG_FILE, SITE_VARIABLE
from harness.run.command import conclude_run

LIMIT_S = 300
EXECUTED = [
    page
    for page in PAGES
    if page.relative_to(ROOT).as_posix() not in EXECUTED_BY
    and any(block.is_executed for block in list_blocks(page))
]
CHECKED = [
    block for page in PAGES for block in list_blocks(page) if block.mark == "checked against"
]
STEP = re.compile(r"(checking|judging|drawing|writing)( the| charts| [AB]|:)\b")
PLACEHOLDER = re.compile(r"(submissions/[\w/]+)/(?:RUN|STUDY)\b")
"""The bundle of a page that has no name there: the latest one in its directory."""


class Shell:
    """A bash session in a clone of the project: directory and variables last from command to
    command, and programs in the background until the end. Ids of runs that a page shows stand for
    the ids of the session, and two directories have other names there."""

    def __init__(self, folder: Path) -> None:
        self.clone = make_clone(folder / "clone")
        self.state = folder / "state"
        self.state.write_text(f"cd {self.clone}\n")
        self.output = folder / "output"
        self.ids: dict[str, str] = {}
        self.processes: list[subprocess.Popen[bytes]] = []
        # Paths are short: a socket allows 107 characters, and doctor wraps long lines.
        self.temporary = tempfile.TemporaryDirectory(prefix="", dir="/tmp")
        home = Path(self.temporary.name)
        site = home / "etc"
        self.places = {str(site): "/etc/wattmark", str(home): "/users/anna"}
        (home / ".ssh").mkdir()
        site.mkdir()
        (site / CONFIG_FILE).touch()
        make_key(home / ".ssh/id_ed25519")
        (home / ".gitconfig").write_text("[user]\nname = test\nemail = test@example.org\n")
        self.environment = {
            **os.environ,
            "HOME": str(home),
            "PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(self.clone),
            "TMPDIR": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "COLUMNS": "200",
            SITE_VARIABLE: str(site / CONFIG_FILE),
            # The environment is shared: no block may install into it.
            "PIP_NO_INDEX": "1",
        }

    def execute(self, step: Step) -> str | None:
        """Run a command. Returns what differs from the page, or None."""
        command = RUN_ID.sub(lambda match: self.ids.get(match[0], match[0]), step.command)
        command = PLACEHOLDER.sub(r"$(ls -d \1/[0-9]* | tail -n 1)", command)
        errexit = "set -e -o pipefail;" if step.lines is None else ""
        script = (
            f"trap 'export -p > {self.state}; echo \"cd ${{PWD@Q}}\" >> {self.state}' EXIT; "
            f"set -a; source {self.state}; {errexit}\n{command}"
        )
        # A file, because a program in the background would keep a pipe open.
        with self.output.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-c", script],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(process)
        if step.lines and "^C" in step.lines:
            self._interrupt(process, step.lines)
        process.wait(LIMIT_S)
        printed = self._read_output()
        if step.lines is None:
            failure = "\n".join(printed[-8:])
            return f"exit status {process.returncode}:\n{failure}" if process.returncode else None
        page_lines = [line for line in step.lines if line != "^C"]
        numbers = match_lines(page_lines, printed)
        if numbers is None:
            return describe_difference(page_lines, printed)
        shown = [line for line in page_lines if line.strip() != GAP]
        for line, number in zip(shown, numbers, strict=True):
            if GAP in line:  # which may stand for an id
                continue
            ids = zip(RUN_ID.findall(line), RUN_ID.findall(printed[number]), strict=True)
            self.ids |= dict(ids)
        return None

    def _read_output(self) -> list[str]:
        text = self.output.read_text()
        for path, name in self.places.items():
            text = text.replace(path, name)
        # A busy machine takes long enough for lines on what a program does.
        return [line for line in text.splitlines() if not STEP.match(line)]

    def _interrupt(self, process: "subprocess.Popen[bytes]", page_lines: list[str]) -> None:
        """Wait for the last line that the page shows before `^C`, and interrupt the process a
        moment later."""
        before = [line for line in page_lines[: page_lines.index("^C")] if line != GAP]
        awaited = mask_values(before[-1])
        limit_s = time.monotonic() + LIMIT_S
        while process.poll() is None and time.monotonic() < limit_s:
            if awaited in map(mask_values, self._read_output()):
                time.sleep(2)
                os.killpg(process.pid, signal.SIGINT)
                return
            time.sleep(0.1)

    def close(self) -> None:
        """End what still runs."""
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self.temporary.cleanup()


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    shell.close()


def prepare(page: Path, shell: Shell) -> None:
    """Make what the blocks of a page presuppose."""
    name = page.relative_to(ROOT).as_posix()
    scripts = [PREPARATIONS.get(name, "")]
    if name == "README.md":  # "docs/trust.md sets the variables"
        verifying = [b for b in list_blocks(ROOT / "docs/trust.md") if b.language == "sh"]
        scripts.append(verifying[0].text)
    for script in filter(None, scripts):
        assert shell.execute(Step(script, None)) is None


@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_of_the_page_do_what_it_shows(page: Path, shell: Shell) -> None:
    prepare(page, shell)
    problems = []
    for block in list_blocks(page):
        if block.is_executed:
            for step in block.list_steps():
                difference = shell.execute(step)
                if difference:
                    problems.append(f"{block.place}: {step.command.strip()[:200]}\n  {difference}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("block", CHECKED, ids=lambda block: block.place)
def test_output_is_that_of_the_run_in_the_bundle(
    block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page shows lines of the log, the three lines of the end."""
    monkeypatch.chdir(ROOT)
    assert block.detail
    bundle = Path(block.detail)
    with gzip.open(bundle / "log.txt.gz", "rt") as log:
        printed = [line.rstrip("\n").partition(" ")[2] for line in log]
    output = io.StringIO()
    conclude_run(bundle, Console(file=output), is_verbose=False)
    printed += output.getvalue().splitlines()
    (step,) = block.list_steps()
    assert step.lines
    assert [line for line in step.lines if line != GAP and line not in printed] == []
