"""The real shells complete the three programs: bash and zsh on a terminal, at the Tab key, and fish
by its command `complete`."""

import os
import pty
import resource
import select
import shutil
import statistics
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from support.console.blocks import list_blocks_of

PAGE = Path(__file__).parents[2] / "docs/install.md"
(BLOCK,) = list_blocks_of(__file__, PAGE)
START = {
    name: line.partition("#")[0].strip()
    for name in ("bash", "zsh", "fish")
    for line in BLOCK.text.splitlines()
    if f"completion {name}" in line
}
"""The line of the page for the start file of each shell."""
PROGRAMS = Path(sys.executable).parent
LONGEST_ANSWER_S = 0.3
"""CPU time in which a workload is completed."""
WAIT_S = 60.0
PROMPT = "wattmark> "
# The line before Tab and after it.
LINES = {
    "bench-submit run resnet": "bench-submit run resnet50-train",
    "bench-submit sweep vitl16-train --variant bas": (
        "bench-submit sweep vitl16-train --variant baseline"
    ),
    "bench-submit sweep vitl16-train --variant baseline,tuned-fp": (
        "bench-submit sweep vitl16-train --variant baseline,tuned-fp16"
    ),
    "bench-submit study image-inference --models resnet50_": (
        "bench-submit study image-inference --models resnet50_gn"
    ),
    "bench-submit run --simulate mi": "bench-submit run --simulate mi300x",
    "bench-submit sign bundle-of-": "bench-submit sign bundle-of-mine/",
    "bench-check expl": "bench-check explain",
    "bench-check bundle-of-": "bench-check bundle-of-mine/",
    "bench-check bundle-of-mine --form": "bench-check bundle-of-mine --format",
    "bench-report comp": "bench-report compare",
    "bench-report compare bundle-of-mine --js": "bench-report compare bundle-of-mine --json",
}
# What prints the line that is edited, at Ctrl-X Ctrl-P.
SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        r"""bind -x '"\C-x\C-p": echo "LINE<$READLINE_LINE>"'""",
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        "autoload -Uz compinit; compinit -u -D; "
        'print_line() { zle -I; print -r -- "LINE<$BUFFER>" }; '
        "zle -N print_line; bindkey '^X^P' print_line",
    ),
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Variables of a shell in `tmp_path`, where a bundle lies."""
    (tmp_path / "bundle-of-mine").mkdir()
    return {
        **os.environ,
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TERM": "dumb",
    }


class TerminalShell:
    """An interactive shell on a terminal of its own."""

    def __init__(self, command: list[str], environment: dict[str, str], directory: Path) -> None:
        self.terminal, inner = pty.openpty()
        termios.tcsetwinsize(inner, (24, 200))
        self.process = subprocess.Popen(
            command,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=environment,
            cwd=directory,
            start_new_session=True,
        )
        os.close(inner)
        self.text = ""

    def send(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def read_until(self, end: str) -> str:
        """What the shell writes before a text."""
        limit_s = time.monotonic() + WAIT_S
        while end not in self.text:
            ready, _, _ = select.select([self.terminal], [], [], limit_s - time.monotonic())
            assert ready, f"no {end!r} in {self.text!r}"
            self.text += os.read(self.terminal, 65536).decode(errors="replace")
        result, _, self.text = self.text.partition(end)
        return result

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


@pytest.mark.parametrize("name", SHELLS)
def test_tab_completes_the_line(name: str, environment: dict[str, str], tmp_path: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"no {name} on the path (.ci/run installs it)")
    command, setup = SHELLS[name]
    shell = TerminalShell(command, environment, tmp_path)
    try:
        shell.send(f"{setup}; {START[name]}; PS1='{PROMPT[:-1]}'' '\n")
        shell.read_until(PROMPT)
        lines = {}
        for line in LINES:
            shell.send(f"{line}\t\x18\x10")
            shell.read_until("LINE<")
            lines[line] = shell.read_until(">").rstrip()
            # Until the prompt is back, the terminal may change its mode and lose keys.
            shell.read_until(PROMPT)
            shell.send("\x15")  # Ctrl-U empties the line
        assert lines == LINES
    finally:
        shell.close()


def test_fish_completes_the_line(environment: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("no fish on the path (.ci/run installs it)")
    script = f"{START['fish']}\n" + "".join(
        f"echo 'LINE {line}'; complete --do-complete '{line}'\n" for line in LINES
    )
    result = subprocess.run(
        ["fish", "--no-config", "-c", script],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    blocks = [block.splitlines() for block in result.stdout.split("LINE ")[1:]]
    # A completion is a word, with a description after a tab.
    words = {line: [item.partition("\t")[0] for item in items] for line, *items in blocks}
    assert words == {line: [after.split(" ")[-1]] for line, after in LINES.items()}


def test_workload_is_completed_in_time(environment: dict[str, str], tmp_path: Path) -> None:
    variables = {
        "_BENCH_SUBMIT_COMPLETE": "bash_complete",
        "COMP_WORDS": "bench-submit run resnet",
        "COMP_CWORD": "2",
    }
    times_s = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        answer = subprocess.run(
            ["bench-submit"],
            env={**environment, **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert answer.stdout == "plain,resnet50-train\n"
        times_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert statistics.median(times_s) <= LONGEST_ANSWER_S
