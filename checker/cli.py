"""`bench-check`: judges bundles, and the commands beside it.

What judging needs is imported where judging begins, so that `--help` answers at once.
"""

import os
import signal
import sys
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

import click

from checker import CheckerError
from checker.formats import FORMATS

FAILED, INTERNAL, PARTIAL, INTERRUPTED = 1, 3, 4, 128 + signal.SIGINT
"""Exit codes beside 0 (no errors) and those of click: 2 for wrong usage, 1 where who was reading
the output has gone."""

COMMANDS = {
    "explain": ("checker.commands:explain", "print the page of a rule"),
    "rules": ("checker.commands:rules", "list the rules"),
    "verify": ("checker.trust.cli:verify", "verify integrity and signatures alone"),
    "review": ("checker.trust.cli:review", "judge a bundle and sign what was found"),
    "waive": ("checker.trust.cli:waive", "sign that a rule is not held against some bundles"),
    "withdraw": ("checker.trust.cli:withdraw", "sign that a bundle no longer stands"),
    "accept": ("checker.trust.cli:accept", "write into the LOG what passes"),
}
"""What may stand in place of the first PATH: where the command is, and what it does. Loaded when it
is called."""
_LISTED = "\n".join(f"  bench-check {name:<10}{does}" for name, (_, does) in COMMANDS.items())


def main() -> None:
    """Run `bench-check` with the arguments of the process. A directory called like a command is
    checked as `./explain`."""
    signal.signal(signal.SIGINT, _interrupted)
    name, *rest = sys.argv[1:] or [""]
    command = load(name) if name in COMMANDS else check
    arguments, prog = (
        (rest, f"bench-check {name}") if name in COMMANDS else (sys.argv[1:], "bench-check")
    )
    try:
        sys.exit(command.main(arguments, prog, standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except OSError as error:
        click.echo(
            f"bench-check: {error.filename or 'the output cannot be written'}: {error.strerror}",
            err=True,
        )
        sys.exit(INTERNAL)


def _interrupted(*_: object) -> NoReturn:
    click.echo("bench-check: interrupted", err=True)
    sys.exit(INTERRUPTED)


def load(name: str) -> click.Command:
    """The command called `name`."""
    module, _, function = COMMANDS[name][0].partition(":")
    command: click.Command = getattr(import_module(module), function)
    return command


def _paths(
    _: click.Context, parameter: click.Parameter, paths: tuple[Path, ...]
) -> tuple[Path, ...]:
    for path in paths:
        if not os.path.lexists(path):
            from difflib import get_close_matches

            near = get_close_matches(str(path), COMMANDS, n=1)
            meant = f"; did you mean the command {near[0]}?" if near else ""
            raise click.BadParameter(f"there is no path '{path}'{meant}", param=parameter)
    return paths


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"\b\nOther commands, each with a --help of its own:\n{_LISTED}\nA directory of such a "
    "name is checked as ./NAME.",
)
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=click.Path(path_type=Path),
    callback=_paths,
)
@click.option(
    "--keyring",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory with allowed_signers.  [default: keyring/ at or above a bundle]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How to print.",
)
@click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    help="Show these rules only: ids, names or letters of families.",
)
@click.option("--ignore", multiple=True, metavar="RULES", help="Leave these rules out.")
@click.option(
    "--baseline",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of findings that are known and fail nothing.",
)
@click.option(
    "--write-baseline",
    "write_to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the findings to such a file.",
)
@click.option(
    "--fix",
    is_flag=True,
    help="First make figures, form and manifest of unsigned bundles anew from their tables.",
)
@click.version_option(package_name="wattmark", prog_name="bench-check")
def check(
    paths: tuple[Path, ...],
    keyring: Path | None,
    form: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    baseline: Path | None,
    write_to: Path | None,
    fix: bool,
) -> None:
    """Judge every bundle below each PATH by the rule book.

    Exits with 0 where there are no errors, 1 where there are, 2 for wrong usage, 3 where the
    checker itself failed or its output cannot be written, and 4 where there are none but --select,
    --ignore or --baseline left something out: a partial check never exits with 0.
    """
    from dataclasses import replace

    from checker import engine
    from checker.selection import asked, refuse_baseline, shown, write_baseline
    from checker.terminal import colours, watched

    unfixed = 0
    try:
        by = asked(select, ignore, baseline)
        if write_to:
            refuse_baseline(write_to)
        if fix:
            from checker.fix import fix_all

            unfixed = fix_all(paths, keyring, lambda line: click.echo(line, err=True))
        what = replace(shown(engine.judge_all(paths, keyring, watch=watched), by), unfixed=unfixed)
        if write_to:
            write_baseline(write_to, what)
    except CheckerError as error:
        click.echo(f"bench-check: {error}", err=True)
        sys.exit(INTERNAL)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(
            errors="backslashreplace"
        )  # names of bundles may have letters that the output has not
    click.echo(import_module(f"checker.formats.{form}").render(what), color=colours())
    if what.broken:
        sys.exit(INTERNAL)
    if unfixed or any(what.status(v) == "fail" for v in what.verdicts):
        sys.exit(FAILED)
    sys.exit(PARTIAL if what.partial else 0)
