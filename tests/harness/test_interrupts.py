"""Ctrl-C while a command starts, and while it judges a round."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Submissions
from support.harness.programs import SIMULATED, make_buffered_environment


@pytest.mark.parametrize(
    ("module", "arguments", "program"),
    [
        ("harness.cli", ["run", *SIMULATED], "bench-submit"),
        ("reporting.cli", ["submissions", "-o", "page.html"], "bench-report"),
    ],
)
@pytest.mark.parametrize("delay_s", [0.0, 0.3])
def test_interrupt_while_a_program_starts_leaves_no_traceback(
    submissions: Submissions, module: str, arguments: list[str], program: str, delay_s: float
) -> None:
    submissions.add()
    # The program has installed its handler when the command begins.
    code = f"""
import os, sys
from {module} import start
import checker.terminal
run_command = checker.terminal._run_command
def announce(*arguments):
    os.write(1, b"begun")
    return run_command(*arguments)
checker.terminal._run_command = announce
sys.argv[1:] = {arguments!r}
start()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=submissions.root.parent,
        env=make_buffered_environment(),
    )
    assert process.stdout is not None and process.stdout.read(5) == b"begun"
    time.sleep(delay_s)
    process.send_signal(signal.SIGINT)
    _, error_output = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"Traceback" not in error_output


def test_interrupt_ends_a_round_with_one_line(submissions: Submissions, tmp_path: Path) -> None:
    """As Ctrl-C does, the signal reaches all processes. Not all of the round is judged before they
    end.

    What the workers have taken in by then is judged to its end, and they take in the more, the more
    of them there are: so two.
    """
    bundle = submissions.add()
    for number in range(20):
        shutil.copytree(bundle, bundle.with_name(f"run-{number}"))
    begun = tmp_path / "begun"
    begun.mkdir()
    error_path = tmp_path / "told"
    slow = tmp_path / "bin" / "ssh-keygen"
    slow.parent.mkdir()
    slow.write_text(
        f"#!/bin/sh\ntouch {begun}/$$\nwhile [ ! -s {error_path} ]; do sleep 0.1; done\nexit 1\n"
    )
    slow.chmod(0o755)
    environment = {**os.environ, "PATH": f"{slow.parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-c", _ON_TWO_CORES, str(submissions.root)]
    with error_path.open("w") as error:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=error, env=environment, start_new_session=True
        )
    deadline = time.monotonic() + 300
    while not list(begun.iterdir()):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    assert (process.returncode, out, error_path.read_text()) == (
        130,
        b"",
        "bench-check: interrupted\n",
    )
    assert len(list(begun.iterdir())) < 2 * 21, "it is asked twice about each bundle"


_ON_TWO_CORES = """
import os
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
from checker.cli import main
main()
"""
