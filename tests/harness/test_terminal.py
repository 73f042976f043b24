"""How commands end, and what they say on a terminal: outputs that cannot be written, misspelt
names, paths as given."""

import contextlib
import errno
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from conftest import PRINCIPAL, Submissions, copy_evidence
from support.harness.programs import SIMULATED, make_buffered_environment

from checker import terminal
from checker.cli import check
from checker.find import display_path
from checker.terminal import PROGRESS_FROM, describe_unwritable, fit_text, show_progress, show_step
from checker.trust_commands import cli as trust_cli
from rules.testing import tampering as forge
from rules.workloads import workloads

COMMAND = [sys.executable, "-m", "checker"]


def run_bench_check(*arguments: str | Path) -> Result:
    return CliRunner().invoke(check, [str(a) for a in arguments])


def run_verify(*arguments: str | Path, **options: object) -> Result:
    return CliRunner().invoke(trust_cli.verify, [str(a) for a in arguments], **options)


# How a command ends.


@pytest.mark.parametrize(
    "arguments",
    [["submissions"], ["verify", "submissions"], ["rules"], ["explain", "W103"], ["--help"]],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written(
    submissions: Submissions, arguments: list[str], unbuffered: str
) -> None:
    submissions.add()
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [*COMMAND, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=submissions.root.parent,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert process.returncode == 3
    assert process.stderr == b"bench-check: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("harness.cli", ["--help"]),
        ("harness.cli", ["workloads"]),
        ("harness.cli", ["doctor", "--meter", "simulated:h200"]),
        ("harness.cli", ["run", *SIMULATED, "--dry-run"]),
        ("harness.cli", ["run", *SIMULATED]),
        ("harness.cli", ["sweep", *SIMULATED, "--dry-run"]),
        ("reporting.cli", ["submissions", "-o", "page.html"]),
    ],
)
def test_full_disk_below_the_output_of_a_program_leaves_no_traceback(
    submissions: Submissions, module: str, arguments: list[str]
) -> None:
    submissions.add()
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=submissions.root.parent,
            env=make_buffered_environment(),
            check=False,
            text=True,
        )
    assert process.returncode == 3
    assert "the output cannot be written: No space left on device" in process.stderr
    assert "Traceback" not in process.stderr and "Exception ignored" not in process.stderr


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("checker", ["submissions", "--write-baseline", "/proc/none/known.txt"]),
        ("harness.cli", ["run", *SIMULATED[:-1], "/proc/none"]),
        ("reporting.cli", ["submissions", "-o", "/proc/none/page.html"]),
    ],
)
def test_output_that_cannot_be_written_ends_every_program_with_3(
    submissions: Submissions, module: str, arguments: list[str]
) -> None:
    submissions.add()
    process = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        capture_output=True,
        cwd=submissions.root.parent,
        env=make_buffered_environment(),
        check=False,
        text=True,
    )
    assert process.returncode == 3, process.stderr
    assert "/proc/none" in process.stderr and "Traceback" not in process.stderr


def test_character_that_the_encoding_lacks_does_not_end_a_program() -> None:
    code = (
        "import click; from checker.terminal import run_program;"
        "run_program(click.Command('x', callback=lambda: click.echo('gain \u2212 time')), 'x', [])"
    )
    command = [sys.executable, "-c", code]
    for encoding, printed in (
        ("latin-1", b"gain ? time\n"),
        ("utf-8", b"gain \xe2\x88\x92 time\n"),
    ):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, printed, b"")


def test_ids_of_workloads_are_whole_on_a_narrow_terminal() -> None:
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    environment = {k: v for k, v in make_buffered_environment().items() if k != "COLUMNS"}
    command = [sys.executable, "-m", "harness.cli", "workloads"]
    process = subprocess.Popen(command, stdout=inner, env=environment)
    os.close(inner)
    output = b""
    # Reading fails when the program has closed the terminal.
    with contextlib.suppress(OSError):
        while part := os.read(outer, 4096):
            output += part
    os.close(outer)
    assert process.wait() == 0
    for workload in workloads():
        assert workload in output.decode()


def test_report_shows_on_a_terminal_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, kind, is_shown in (
        (Terminal(), "xterm", True),
        (Terminal(), "dumb", False),
        (io.StringIO(), "xterm", False),
    ):
        monkeypatch.setenv("TERM", kind)
        monkeypatch.setattr(sys, "stderr", stream)
        show_step("drawing the page")
        show_step("")
        assert ("drawing the page" in stream.getvalue()) == is_shown
        assert not is_shown or stream.getvalue().endswith("\r\x1b[K")


def test_full_disk_is_named_with_its_free_space_and_a_remedy(tmp_path: Path) -> None:
    error = OSError(errno.ENOSPC, "No space left on device")
    text = describe_unwritable(error, tmp_path / "run" / "samples.csv")
    assert text.startswith(
        f"{tmp_path}/run/samples.csv: cannot be written: No space left on device"
    )
    assert re.search(r"\(\d+\.\d MB free\); make room, or choose another directory$", text)
    # Python's own errors may have a text in place of a number.
    assert describe_unwritable(OSError("handle is closed"), Path("page.html")) == (
        "page.html: cannot be written: handle is closed"
    )


@pytest.mark.parametrize("arguments", [["submissions"], ["rules"]])
def test_reader_that_has_gone_is_no_error_to_tell(
    submissions: Submissions, arguments: list[str]
) -> None:
    submissions.add()
    reading, write_end = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [*COMMAND, *arguments],
        stdout=write_end,
        stderr=subprocess.PIPE,
        cwd=submissions.root.parent,
        check=False,
    )
    os.close(write_end)
    assert (process.returncode, process.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("word", "suggestion"),
    [("reviw", "review"), ("verfy", "verify"), ("acept", "accept"), ("xyzzy", "")],
)
def test_misspelt_command_is_told(
    word: str, suggestion: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_bench_check(word, "bundle")
    output = " ".join(result.stderr.split())
    assert result.exit_code == 2 and f"there is no path '{word}'" in output
    assert (f"did you mean the command {suggestion}?" in output) == bool(suggestion)


def test_unknown_rule_is_told_where_the_rules_are() -> None:
    result = run_bench_check("--select", "QQQQQ", ".")
    assert (
        result.exit_code == 2
        and "see bench-check rules" in result.stderr
        and "S101" not in result.stderr
    )


def test_file_of_a_bundle_is_told_to_be_no_bundle(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = submissions.add()
    monkeypatch.chdir(bundle)
    for path, directory in ((bundle / "result.json", str(bundle)), ("result.json", ".")):
        result = run_bench_check(path)
        assert result.exit_code == 1
        assert f"Name the directory {directory} instead of its file." in result.stdout


# Paths are told as they were given.


def test_paths_are_those_that_were_given(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = submissions.add()
    (submissions.root / "LOG").write_text("garbage\n")
    for directory, path, log in (
        (submissions.root.parent, "submissions", "submissions/LOG"),
        (
            submissions.root.parent,
            f"submissions/example/../example/h200x2/{bundle.name}",
            "submissions/LOG",
        ),
        (submissions.root, ".", "LOG"),
        (bundle, ".", "../../../LOG"),
        (bundle, str(bundle), str(submissions.root / "LOG")),
    ):
        monkeypatch.chdir(directory)
        for result in (run_bench_check(path), run_verify(path)):
            lines = result.output.splitlines()
            assert any(line.startswith(f"{log}: ") for line in lines), (path, result.output)
            assert path.startswith("/") or str(submissions.root) not in result.output


def test_path_below_a_link_is_called_by_the_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "a").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    assert display_path(tmp_path / "real" / "a", [tmp_path / "link"]) == tmp_path / "link" / "a"


# verify.


def test_verify_counts_the_log(submissions: Submissions) -> None:
    bundle = submissions.add()
    log = submissions.root / "LOG"
    lines = run_verify(submissions.root).output.splitlines()
    assert lines[1:] == [f"{log}: none", "1 verified: 1 good, 0 bad; the evidence was not judged"]
    forge.write_log(bundle, {})
    lines = run_verify(submissions.root).output.splitlines()
    assert lines[1].startswith(f"{log}: good, 1 line, head ")
    assert lines[2] == "2 verified: 2 good, 0 bad; the evidence was not judged"
    log.write_text("garbage\n")
    result = run_verify(submissions.root)
    assert (
        result.exit_code == 1
        and result.output.splitlines()[-1]
        == "2 verified: 1 good, 1 bad; the evidence was not judged"
    )
    assert "none" not in result.output


def test_verify_has_colour_where_it_should(submissions: Submissions) -> None:
    (submissions.add() / "log.txt.gz").write_bytes(b"x")
    error, colour_codes = "\x1b[31merror\x1b[0m", "\x1b[31m\x1b[1mbad\x1b[0m"
    for colour, no_color, has_colour in ((True, "", True), (True, "1", False), (False, "", False)):
        result = run_verify(submissions.root, color=colour, env={"NO_COLOR": no_color})
        assert (
            (error in result.output),
            (colour_codes in result.output),
            ("\x1b" in result.output),
        ) == (
            has_colour,
            has_colour,
            has_colour,
        )
        assert "\\x1b" not in result.output


# How far a round is.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "bundle_count", "has_progress"),
    [(Terminal, 1, True), (Terminal, 0, False), (io.StringIO, 1, False)],
)
def test_big_round_tells_on_a_terminal_how_far_it_is(
    stream: type, bundle_count: int, has_progress: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = PROGRESS_FROM if bundle_count else PROGRESS_FROM - 1
    output = stream()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", output)
    assert list(show_progress(iter(range(total)), total)) == list(range(total))
    assert (f"{PROGRESS_FROM}/{PROGRESS_FROM}" in output.getvalue()) == has_progress
    assert bool(output.getvalue()) == has_progress
    assert output.getvalue().count("\n") == has_progress


def test_long_lines_continue_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    red = click.style("error  ", fg="red")
    text = f"  {red} I105  the signature of the submitter is missing"
    lines = click.unstyle(fit_text(text, Terminal())).splitlines()
    assert lines == ["  error   I105  the signature of the", "    submitter is missing"]
    assert fit_text(text, io.StringIO()) == text
    command = "bench-submit sign submissions/center/h200/run --key KEY"
    keyring = 'center@example.org namespaces="submission@wattmark" ssh-ed25519 AAAA'
    for whole in (command, keyring):
        assert whole in fit_text(f"Error: the next steps are: {whole}", Terminal()).splitlines()[-1]


def test_question_that_is_not_affirmed_ends_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    def ask() -> None:
        raise click.Abort

    with pytest.raises(SystemExit) as end:
        terminal.run_program(ask, "bench-submit", [])
    assert (end.value.code, capsys.readouterr().err) == (1, "bench-submit: not started\n")


def test_both_commands_over_a_round_tell_it(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    submissions.add(copy_evidence())
    rounds = []

    def note(judged, total):
        rounds.append(total)
        return judged

    monkeypatch.setattr(terminal, "show_progress", note)
    monkeypatch.setattr(trust_cli, "show_progress", note)
    assert (
        f"signed by {PRINCIPAL}"
        in run_bench_check(submissions.root).output + run_verify(submissions.root).output
    )
    assert rounds == [1, 1]


def test_piped_output_tells_it_in_lines_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.StringIO()
    monkeypatch.setattr(sys, "stderr", output)
    monkeypatch.setattr(terminal, "LINE_INTERVAL_S", 0.0)
    total = PROGRESS_FROM
    assert list(show_progress(iter(range(total)), total)) == list(range(total))
    lines = output.getvalue().splitlines()
    assert lines[0] == f"judging: 1 of {total}" and len(lines) == total - 1
    monkeypatch.setattr(terminal, "LINE_INTERVAL_S", 60.0)
    show_step("checking the bundles")
    show_step("drawing the page")
    assert output.getvalue().splitlines() == lines
    show_step("")
