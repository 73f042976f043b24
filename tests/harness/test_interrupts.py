"""Ctrl-C while a command starts, and while it judges a round."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from conftest import Submissions
from support.harness.programs import SIMULATED, make_buffered_environment
from support.report.chart_tables import CHART_TABLES

from checker.cli import check
from checker.judging.workers import block_sigint
from checker.terminal import run_program
from reporting.charts import drawing
from reporting.charts.drawing import open_drawing, start_server
from reporting.report_table import ReportTable

ROOT = Path(__file__).parents[2]
PROGRAMS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]


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


@pytest.mark.parametrize("program", PROGRAMS)
def test_interrupt_while_a_program_imports_its_modules_leaves_no_traceback(program: str) -> None:
    module, _, function = PROGRAMS[program].partition(":")
    code = f"""
import builtins, os, signal, sys
plain_import = builtins.__import__
def interrupt_at_click(name, *arguments):
    if name == "click":
        os.kill(os.getpid(), signal.SIGINT)
    return plain_import(name, *arguments)
builtins.__import__ = interrupt_at_click
sys.argv[1:] = ["--help"]
from {module} import {function}
{function}()
"""
    process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        cwd=ROOT,
        env=make_buffered_environment(),
        check=False,
        text=True,
    )
    assert (process.returncode, process.stdout) == (130, "")
    assert process.stderr == f"{program}: interrupted\n"


def test_interrupt_while_jsonschema_rs_loads_raises_no_panic() -> None:
    code = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "decimal":
            sys.exit(130)
sys.meta_path.insert(0, Finder())
import rules.bundle_format.documents
"""
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=False, text=True
    )
    assert (process.returncode, process.stderr) == (130, "")


class PanicException(BaseException):
    """As pyo3 raises it, when Python code that Rust has called ends with an exception."""


def test_interrupt_that_a_library_replaces_by_its_own_exception_ends_with_130(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @click.command()
    def replace_interrupt() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except SystemExit:
            raise PanicException from None

    handler = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as end:
            run_program(replace_interrupt, "bench-check", [])
    finally:
        signal.signal(signal.SIGINT, handler)
    assert end.value.code == 130


def test_interrupt_that_another_thread_receives_waits_for_the_end_of_the_block() -> None:
    """The mask of the main thread does not hold it back: the kernel gives the signal to a thread
    that does not block it, and Python then calls the handler in the main thread."""
    is_done = threading.Event()
    thread = threading.Thread(target=is_done.wait)
    thread.start()
    interrupted_at = []
    handler = signal.signal(signal.SIGINT, lambda *_: interrupted_at.append(position))
    try:
        position = "before"
        with block_sigint():
            position = "inside"
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
            position = "end"
    finally:
        is_done.set()
        thread.join()
        signal.signal(signal.SIGINT, handler)
    assert interrupted_at == ["end"]


def read_blocked_signals(table: ReportTable, texts: object) -> Sequence[signal.Signals]:
    return list(signal.pthread_sigmask(signal.SIG_BLOCK, []))


def test_processes_that_draw_do_not_see_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_draw_table", read_blocked_signals)
    monkeypatch.setattr(drawing, "_FEW_TABLES", 0)
    tables = CHART_TABLES[:2]
    with open_drawing() as processes:
        start_server()
        processes.start(tables)
        blocked = processes.wait_for(tables)
    assert blocked == {table.id: [signal.SIGINT] for table in tables}


def note_that_it_is_drawn(table: ReportTable, texts: Any) -> None:
    Path(texts, table.id).touch()
    time.sleep(0.1)


def test_charts_that_wait_are_not_drawn_after_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "_draw_table", note_that_it_is_drawn)
    monkeypatch.setattr(drawing, "_FEW_TABLES", 0)
    tables = [replace(CHART_TABLES[0], id=f"workload{n}-results") for n in range(40)]
    texts: dict[str, Any] = {table.id: str(tmp_path) for table in tables}
    with pytest.raises(KeyboardInterrupt), open_drawing() as processes:
        processes.start(tables, texts)
        raise KeyboardInterrupt
    assert len(list(tmp_path.iterdir())) < len(tables)


def test_help_names_the_exit_code_of_an_interrupt() -> None:
    help_text = check.get_help(click.Context(check))
    assert "130  interrupted (Ctrl-C)" in help_text


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
