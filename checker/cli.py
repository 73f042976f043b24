"""`bench-check`: judges bundles, and the commands beside it.

What judging needs is imported where judging begins, so that `--help` answers at once.
"""

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path

import click

from checker import CheckerError
from checker.formats import FORMATS

FAILED, INTERNAL, PARTIAL = 1, 3, 4
"""Exit codes beside 0 (no errors) and click's 2 (wrong usage)."""

COMMANDS = {
    "explain": ("checker.commands:explain", "print the page of a rule"),
    "rules": ("checker.commands:rules", "list the rules"),
    "verify": ("checker.trust_cli:verify", "verify integrity and signatures alone"),
    "review": ("checker.trust_cli:review", "judge a bundle and sign what was found"),
    "waive": ("checker.trust_cli:waive", "sign that a rule is not held against some bundles"),
    "withdraw": ("checker.trust_cli:withdraw", "sign that a bundle no longer stands"),
    "accept": ("checker.trust_cli:accept", "write into the LOG what passes"),
}
"""What may stand in place of the first PATH: where the command is, and what it does. Loaded when it is called."""
_LISTED = "\n".join(f"  bench-check {name:<10}{does}" for name, (_, does) in COMMANDS.items())


def main() -> None:
    """Run `bench-check` with the arguments of the process. A directory called like a command is checked as `./explain`."""
    name, *rest = sys.argv[1:] or [""]
    if name in COMMANDS:
        load(name)(rest, prog_name=f"bench-check {name}")
    check(prog_name="bench-check")


def load(name: str) -> click.Command:
    """The command called `name`."""
    module, _, function = COMMANDS[name][0].partition(":")
    command: click.Command = getattr(import_module(module), function)
    return command


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"\b\nOther commands, each with a --help of its own:\n{_LISTED}\nA directory of such a name is checked as ./NAME.",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--keyring",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory with allowed_signers.  [default: keyring/ at or above a bundle]",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print.")
@click.option("--select", multiple=True, metavar="RULES", help="Show these rules only: ids, names or letters of families.")
@click.option("--ignore", multiple=True, metavar="RULES", help="Leave these rules out.")
@click.option(
    "--baseline",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of findings that are known and fail nothing.",
)
@click.option(
    "--write-baseline", "write_to", type=click.Path(dir_okay=False, path_type=Path), help="Write the findings to such a file."
)
@click.option("--fix", is_flag=True, help="First make figures, form and manifest of unsigned bundles anew from their tables.")
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

    Exits with 0 where there are no errors, 1 where there are, 2 for wrong usage, 3 where the checker itself failed, and 4
    where there are none but --select, --ignore or --baseline left something out: a partial check never exits with 0.
    """
    from checker import engine
    from checker.shown import asked, shown, write_baseline

    unfixed = False
    try:
        by = asked(select, ignore, baseline)
        if fix:
            from checker.fix import fix_all

            unfixed = fix_all(paths, lambda line: click.echo(line, err=True))
        what = shown(engine.judge_all(paths, keyring), by)
        if write_to:
            write_baseline(write_to, what)
    except CheckerError as error:
        click.echo(f"bench-check: {error}", err=True)
        sys.exit(INTERNAL)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of bundles may have letters that the output has not
    # no-color.org: where NO_COLOR is set, not even a terminal gets colours
    click.echo(import_module(f"checker.formats.{form}").render(what), color=False if os.environ.get("NO_COLOR") else None)
    if what.broken:
        sys.exit(INTERNAL)
    if unfixed or any(what.status(v) == "fail" for v in what.verdicts):
        sys.exit(FAILED)
    sys.exit(PARTIAL if what.partial else 0)
