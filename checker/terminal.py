"""What the three programs have in common: exit codes, Ctrl-C, output that cannot be written,
garbage collection, and what they show on a terminal only."""

import errno
import gc
import io
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn, TextIO, TypeVar

import click

from checker import INTERRUPTED, exit_on_interrupt
from rules.finding import Severity

FAILED, INTERNAL, PARTIAL = 1, 3, 4
"""Exit codes beside 0 (no errors), INTERRUPTED and those of click: 2 for wrong usage, and 1 if the
reader of the output has closed it."""

UNWRITABLE = frozenset(
    {
        errno.EACCES,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.EISDIR,
        errno.ENOSPC,
        errno.ENOTDIR,
        errno.EROFS,
    }
)
"""The errors of an output that cannot be written."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
LINE_INTERVAL_S = 30.0
"""Between two lines on what a program does, where there is no terminal."""
PROGRESS_FROM = 50
"""The smallest number of bundles for which a progress bar is shown."""
_GC_THRESHOLD = 200_000
"""Objects allocated between two runs of the garbage collector, about those of fifty bundles."""
SEVERITY_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_UNBROKEN = re.compile(
    r" *(?:\S+ namespaces=.*|(?:bench-\w+|ssh-keygen|pip|git|chmod) (?:(?![,;.)] ).)*|\S+)"
)
"""A word with the spaces of its line before it, a line of a keyring, or a command."""
_T = TypeVar("_T")


class UnavailableError(click.ClickException):
    """This machine lacks what the command needs. The message says what."""

    exit_code = INTERNAL


class UnwritableError(UnavailableError):
    """An output cannot be written. The message names it and gives the reason."""


def collect_garbage_rarely() -> None:
    """Run the collector of reference cycles rarely in this process. Judging and reporting create
    almost none, and keep many objects, all of which each run looks at."""
    gc.set_threshold(_GC_THRESHOLD)


def run_program(command: click.Command, name: str, arguments: Sequence[str]) -> NoReturn:
    """Run a command of the program `name` with these arguments, and exit."""
    program = name.partition(" ")[0]
    signals: list[int] = []
    # A character that the encoding of the terminal lacks must not end the program.
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        sys.stdout.reconfigure(errors="replace")

    def exit_interrupted(number: int, _: object) -> NoReturn:
        signals.append(number)
        click.echo(f"{program}: interrupted", err=True)
        sys.exit(INTERRUPTED)

    # Unlike `exit_on_interrupt`, this ends the processes and removes the files of the command.
    signal.signal(signal.SIGINT, exit_interrupted)
    try:
        status = _run_command(command, name, arguments)
        # What is left in the buffer may not fit on the disk.
        sys.stdout.flush()
        sys.exit(status)
    except OSError as error:
        click.echo(f"{program}: {describe_unwritable(error)}", err=True)
        # Python writes what is left in the buffer of stdout when it ends. To a full disk that would
        # fail again, with another exit code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(INTERNAL)
    except BaseException:
        # A library can replace the SystemExit of the handler by an exception of its own.
        if signals:
            sys.exit(INTERRUPTED)
        raise
    finally:
        exit_on_interrupt(program)


def _run_command(command: click.Command, name: str, arguments: Sequence[str]) -> int | str | None:
    """Run a command and return its exit code. Raises OSError if the output cannot be written."""
    try:
        # In standalone mode, click would handle its exceptions itself, with other exit codes.
        status: int | None = command.main(list(arguments), name, standalone_mode=False)
        return status
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        click.echo(fit_text(text.getvalue(), sys.stderr), nl=False, err=True)
        return error.exit_code
    except click.Abort:
        click.echo(f"{name}: not started", err=True)
        return FAILED
    except SystemExit as end:
        return end.code


def describe_unwritable(error: OSError, path: Path | None = None) -> str:
    """What could not be written and why, and for a full disk how much space is free and what to do.

    `path` is what was written where the error does not name it; None for the output of the program.
    """
    named = error.filename or path
    if named is None:
        return f"the output cannot be written: {error.strerror or error}"
    text = f"{named}: cannot be written: {error.strerror or error}"
    if error.errno not in _FULL:
        return text
    place = next((p for p in (Path(named), *Path(named).absolute().parents) if p.exists()), None)
    free = f" ({shutil.disk_usage(place).free / 1e6:.1f} MB free)" if place else ""
    return f"{text}{free}; make room, or choose another directory"


def colour_mode() -> bool | None:
    """The argument `color` for click.echo: False if NO_COLOR is set or the terminal is dumb,
    otherwise None, so that click asks whether the output is a terminal."""
    return False if os.environ.get("NO_COLOR") or _is_dumb() else None  # no-color.org


def fit_text(text: str, stream: TextIO) -> str:
    """The text, on a terminal with every longer line continued between words, two columns further
    in. Paths, and commands and keys to copy, stay whole."""
    if not stream.isatty():
        return text
    columns = shutil.get_terminal_size().columns
    return "\n".join(_fold_line(line, columns) for line in text.split("\n"))


def _fold_line(line: str, columns: int) -> str:
    if len(click.unstyle(line)) <= columns:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    folded, used = "", 0
    for word in _UNBROKEN.findall(line):
        is_beyond = folded and used + len(click.unstyle(word)) > columns
        part = indent + word.lstrip() if is_beyond else word
        folded += f"\n{part}" if is_beyond else part
        used = len(click.unstyle(part)) + (0 if is_beyond else used)
    return folded


def _is_dumb() -> bool:
    """Whether the terminal cannot move its cursor."""
    return os.environ.get("TERM") == "dumb"


_LINES = SimpleNamespace(last_s=None)
"""When the last line on what the program does was printed, or its first step began."""


def show_step(text: str) -> None:
    """Show on the terminal what a program does now, in the place of what it did before. Elsewhere
    print it as a line, at most one in half a minute. Empty text ends the line."""
    if sys.stderr.isatty() and not _is_dumb():
        click.echo(f"\r\x1b[K{text}", nl=False, err=True)
    else:
        _print_rarely(text)


def _print_rarely(text: str) -> None:
    now_s = time.monotonic()
    if not text:
        _LINES.last_s = None
    elif _LINES.last_s is None:
        _LINES.last_s = now_s
    elif now_s >= _LINES.last_s + LINE_INTERVAL_S:
        _LINES.last_s = now_s
        click.echo(text, err=True)


def show_progress(judged: Iterable[_T], total: int) -> Iterable[_T]:
    """Pass on `judged`, `total` items, and show a progress bar on the terminal if there are many,
    elsewhere a line in half a minute."""
    if total < PROGRESS_FROM:
        yield from judged
        return
    if not sys.stderr.isatty() or _is_dumb():
        for count, item in enumerate(judged):
            show_step(f"judging: {count} of {total}")
            yield item
        show_step("")
        return
    with click.progressbar(
        judged,
        total,
        "judging",
        show_pos=True,
        file=sys.stderr,
        # Redrawing for every bundle would slow a large round down.
        update_min_steps=total // PROGRESS_FROM,
    ) as items:
        yield from items
