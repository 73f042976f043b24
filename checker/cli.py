"""`bench-check`: judge bundles, and call the other commands.

Modules that only some commands need are imported inside functions, so that `--help` is fast.
"""

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from checker import CheckerError
from checker.command_line.completion import (
    CommandOrPaths,
    complete_from,
    is_completing,
    list_rules_and_families,
)
from checker.formats import FORMATS
from checker.options import EXPECT_HEAD, KEYRING, LOCAL, RoundPath
from checker.printable import printable
from checker.terminal import FAILED, INTERNAL, PARTIAL, collect_garbage_rarely, run_program
from rules.finding import format_count

if TYPE_CHECKING:
    from checker.judging.verdict_cache import VerdictCache
    from checker.selection import RoundView

COMMANDS = {
    "explain": ("checker.commands:explain", "print the page of a rule"),
    "rules": ("checker.commands:rules", "list the rules"),
    "audit": ("checker.audit.cli:audit", "grade the evidence of other programs"),
    "verify": ("checker.trust_commands.cli:verify", "verify integrity and signatures only"),
    "review": ("checker.trust_commands.cli:review", "judge a bundle and sign the findings"),
    "waive": ("checker.trust_commands.cli:waive", "sign that a rule is waived for some bundles"),
    "withdraw": ("checker.trust_commands.cli:withdraw", "sign that a bundle is withdrawn"),
    "request": ("checker.trust_commands.cli:request", "sign that the own center hands a bundle in"),
    "commit": (
        "checker.trust_commands.cli:commit",
        "publish the hash of a bundle before the bundle",
    ),
    "challenge": ("checker.trust_commands.cli:challenge", "sign the seed for a reproduction"),
    "accept": ("checker.trust_commands.cli:accept", "write into the LOG what passes"),
    "log": ("checker.trust_commands.cli:log", "print the head of the LOG"),
}
"""The commands that may take the place of the first PATH: module, function and description. `load`
imports the module."""
_COMMAND_LIST = "\n".join(f"  bench-check {name:<10}{text}" for name, (_, text) in COMMANDS.items())


def main() -> None:
    """Run `bench-check` with the arguments of the process. A directory with the name of a command
    is checked as `./explain`."""
    if is_completing("bench-check"):
        descriptions = {name: text for name, (_, text) in COMMANDS.items()}
        run_program(CommandOrPaths(check, descriptions, load), "bench-check", [])
    collect_garbage_rarely()
    name, *rest = sys.argv[1:] or [""]
    is_command = name in COMMANDS
    command = load(name) if is_command else check
    arguments = rest if is_command else sys.argv[1:]
    program = f"bench-check {name}" if is_command else "bench-check"
    run_program(command, program, arguments)


def load(name: str) -> click.Command:
    """Import the command called `name`."""
    module, _, function = COMMANDS[name][0].partition(":")
    command: click.Command = getattr(import_module(module), function)
    return command


def _require_paths(
    _: click.Context, parameter: click.Parameter, paths: tuple[Path, ...]
) -> tuple[Path, ...]:
    for path in paths:
        # `lexists`: a dangling link is judged and refused, not called missing.
        if not os.path.lexists(path):
            from rules.suggestions import suggest  # needed after a typing error only

            hint = suggest(str(path), COMMANDS).replace("mean", "mean the command")
            is_readable = path.parent.is_dir() and os.access(path.parent, os.R_OK)
            near = path.parent.iterdir() if is_readable else ()
            hint = hint or suggest(path.name, (printable(other.name) for other in near))
            raise click.BadParameter(f"there is no path '{path}'{hint}", param=parameter)
    return paths


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"\b\nOther commands, each with its own --help:\n{_COMMAND_LIST}\nTo check a directory "
    "with such a name, write ./NAME.",
)
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=RoundPath(exists=False),
    callback=_require_paths,
)
@KEYRING
@LOCAL
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--quiet", is_flag=True, help="Print no bundles, only the summary by rule.")
@click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    shell_complete=complete_from(list_rules_and_families, in_list=True),
    help="Show only these rules: ids, names or letters of families, separated by commas.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="RULES",
    shell_complete=complete_from(list_rules_and_families, in_list=True),
    help="Leave these rules out.",
)
@click.option(
    "--baseline",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of known findings. They are shown, but do not fail.",
)
@click.option(
    "--write-baseline",
    "new_baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all findings to such a file.",
)
@click.option(
    "--require",
    "required_level",
    type=click.Choice(["accepted", "reproduced"]),
    help="Fail if a bundle is not in the LOG, or not reproduced by another center.",
)
@EXPECT_HEAD
@click.option(
    "--fix",
    is_flag=True,
    help="Before judging, write figures, form and manifest of unsigned bundles again.",
)
@click.option("--no-cache", is_flag=True, help="Judge all evidence anew.")
@click.option(
    "--verify-cache",
    is_flag=True,
    help="Judge a random tenth anew, and fail if the cache says otherwise.",
)
@click.version_option(package_name="wattmark", prog_name="bench-check")
def check(
    paths: tuple[Path, ...],
    keyring: Path | None,
    local: bool,
    output_format: str,
    as_json: bool,
    quiet: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    baseline: Path | None,
    new_baseline: Path | None,
    required_level: str | None,
    expected_head: str,
    fix: bool,
    no_cache: bool,
    verify_cache: bool,
) -> None:
    """Judge every bundle below each PATH by the rule book.

    \b
    Exit codes:
        0  no errors
        1  errors, or bundles below the level of --require
        2  wrong usage
        3  the checker failed, or the output cannot be written
        4  no errors, but --select, --ignore, --baseline or --local made the check
           partial
      130  interrupted (Ctrl-C)
    """
    # Lazy imports, as above.
    from dataclasses import replace

    from checker.baseline import refuse_baseline, write_baseline
    from checker.engine import judge_all
    from checker.selection import parse_selection, select_findings
    from checker.terminal import show_progress

    output_format = _choose_format(output_format, as_json, quiet)
    _refuse_contradictions(keyring, local, expected_head, no_cache, verify_cache)
    try:
        selection = parse_selection(select, ignore, baseline, local)
        if new_baseline:
            refuse_baseline(new_baseline)
        unfixed = _fix(paths, keyring) if fix else 0
        judged = judge_all(
            paths,
            keyring,
            signed=not local,
            watch=show_progress,
            expected_head=expected_head,
            cache=None if no_cache else _open_cache(),
            verify_cache=verify_cache,
        )
        view = replace(select_findings(judged, selection), unfixed=unfixed, is_quiet=quiet)
        if new_baseline:
            write_baseline(new_baseline, view.verdicts)
    except CheckerError as error:
        _warn(f"{error}")
        sys.exit(INTERNAL)
    _end(view, judged.reused_count, output_format, required_level)


def _choose_format(output_format: str, as_json: bool, quiet: bool) -> str:
    chosen = "json" if as_json else output_format
    if quiet and chosen != "text":
        raise click.UsageError(f"--quiet: --format {chosen} has no summary; leave one out")
    return chosen


def _end(
    view: "RoundView", reused_count: int, output_format: str, required_level: str | None
) -> NoReturn:
    """Print the view and end with its exit code."""
    _print_view(view, output_format)
    _state_reuse(reused_count, output_format)
    sys.exit(_choose_exit_code(view, _state_shortfalls(view, required_level)))


def _refuse_contradictions(
    keyring: Path | None, local: bool, expected_head: str, no_cache: bool, verify_cache: bool
) -> None:
    from checker.selection import refuse_keyring

    refuse_keyring(keyring, local)
    if local and expected_head:
        raise click.UsageError("--expect-head: --local reads no LOG; leave one of the two out")
    if no_cache and verify_cache:
        raise click.UsageError("--verify-cache: --no-cache reads none; leave one of the two out")


def _open_cache() -> "VerdictCache | None":
    from checker.judging.verdict_cache import open_cache

    return open_cache(_warn)


def _state_shortfalls(view: "RoundView", required_level: str | None) -> bool:
    """Whether bundles are below the level of --require, each of which is named."""
    from checker.formats.common import find_shortfalls

    shortfalls = list(find_shortfalls(view.verdicts, required_level)) if required_level else []
    _warn(*shortfalls)
    return bool(shortfalls)


def _state_reuse(reused_count: int, output_format: str) -> None:
    if reused_count and output_format == "text":
        count = format_count(reused_count, "bundle")
        _warn(f"the evidence of {count} was judged by an earlier check (--no-cache judges it anew)")


def _fix(paths: tuple[Path, ...], keyring: Path | None) -> int:
    from checker.fix import fix_all

    return fix_all(paths, keyring, lambda line: click.echo(line, err=True))


def _warn(*lines: str) -> None:
    from checker.terminal import fit_text

    for line in lines:
        click.echo(fit_text(f"bench-check: {line}", sys.stderr), err=True)


def _print_view(view: "RoundView", output_format: str) -> None:
    from checker.terminal import colour_mode, fit_text

    if isinstance(sys.stdout, TextIOWrapper):
        # Names of bundles may contain characters that the encoding of the output does not have.
        sys.stdout.reconfigure(errors="backslashreplace")
    text = import_module(f"checker.formats.{output_format}").render(view)
    fitted = fit_text(text, sys.stdout) if output_format == "text" else text
    click.echo(fitted, color=colour_mode())


def _choose_exit_code(view: "RoundView", falls_short: bool) -> int:
    # Before the findings: after a failure of the checker, neither 0 nor 1 would be true.
    if view.broken:
        return INTERNAL
    if view.unfixed or falls_short or any(view.status(v) == "fail" for v in view.verdicts):
        return FAILED
    return PARTIAL if view.partial else 0
