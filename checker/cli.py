"""`bench-check`: judges bundles, and explains rules.

What judging needs is imported where judging begins, so that `--help` answers at once.
"""

import sys
from pathlib import Path

import click

from checker import CheckerError

FAILED, INTERNAL = 1, 3
"""Exit codes beside 0 (no errors) and click's 2 (wrong usage)."""


def main() -> None:
    """Run `bench-check` with the arguments of the process. A directory called explain is checked as `./explain`."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["explain"]:
        explain(arguments[1:], prog_name="bench-check explain")
    check(arguments, prog_name="bench-check")


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]}, epilog="`bench-check explain RULE` prints the page of a rule."
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--keyring",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory with allowed_signers.  [default: keyring/ at or above a bundle]",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print.")
@click.version_option(package_name="wattmark", prog_name="bench-check")
def check(paths: tuple[Path, ...], keyring: Path | None, form: str) -> None:
    """Judge every bundle below each PATH by the rule book.

    Exits with 0 where there are no errors, 1 where there are, 2 for wrong usage, 3 where the checker itself failed.
    """
    from checker import engine, output

    try:
        judged = engine.judge_all(paths, keyring)
    except CheckerError as error:
        click.echo(f"bench-check: {error}", err=True)
        sys.exit(INTERNAL)
    click.echo(output.as_json(judged) if form == "json" else output.as_text(judged))
    if any(f.rule == engine.INTERNAL for v in judged.verdicts for f in v.findings):
        sys.exit(INTERNAL)
    sys.exit(FAILED if any(v.status == "fail" for v in judged.verdicts) else 0)


@click.command()
@click.argument("rule")
def explain(rule: str) -> None:
    """Print the page of RULE, named by its id (W103) or its name."""
    from difflib import get_close_matches

    from rules.rule import rules_by_id

    rules = rules_by_id()
    by_name = {r.name: r for r in rules.values()}
    found = rules.get(rule.upper()) or by_name.get(rule)
    if found is None:
        near = get_close_matches(rule.upper(), rules, cutoff=0.5) or get_close_matches(rule, by_name)
        listed = f"near ones: {', '.join(near)}" if near else f"there are {', '.join(rules)}"
        raise click.BadParameter(f"there is no rule {rule!r}; {listed}", param_hint="RULE")
    click.echo(f"{found.id} {found.name} ({found.severity})\n\n{found.page}")
