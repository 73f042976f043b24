"""`bench-check explain` and `bench-check rules`: what the rule book says."""

import json
from difflib import get_close_matches

import click

from rules import VERSION
from rules.registry import rules_by_id
from rules.rule import FAMILIES, STANDINGS, Rule


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("rule")
def explain(rule: str) -> None:
    """Print the page of RULE, named by its id (W103) or its name."""
    found = find_rule(rule)
    click.echo(f"{found.id} {found.name} ({found.severity})\n\n{found.page}")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print.",
)
def rules(form: str) -> None:
    """List the rules: severity, the rule book that has each first, and the standings that it
    applies to."""
    book = list(rules_by_id().values())
    if form == "json":
        listed = [
            {
                "id": r.id,
                "name": r.name,
                "severity": r.severity,
                "family": FAMILIES[r.id[0]],
                "title": r.title,
                "protocol": r.since,
                "added": r.added,
                "standings": r.standings,
            }
            for r in book
        ]
        click.echo(json.dumps({"rules_version": VERSION, "rules": listed}, indent=1))
        return
    for letter, family in FAMILIES.items():
        own = [r for r in book if r.id[0] == letter]
        if own:
            click.echo(f"{letter}: {family}")
        for r in own:
            where = "" if len(r.standings) == len(STANDINGS) else f"  ({', '.join(r.standings)})"
            click.echo(f"  {r.id}  {r.severity:<7}  {r.added}  {r.name}{where}")
    click.echo(
        f"{len(book)} rules in rule book {VERSION}; the page of each: bench-check explain ID"
    )


def find_rule(name: str, option: str = "RULE") -> Rule:
    """The rule called `name`, by id or name. Raises click.BadParameter for `option`, which names
    near ones."""
    book = rules_by_id()
    by_name = {r.name: r for r in book.values()}
    found = book.get(name.upper()) or by_name.get(name.lower().replace("_", "-"))
    if found is None:
        near = get_close_matches(name.upper(), book, cutoff=0.5) or get_close_matches(
            name.lower(), by_name
        )
        listed = f"near ones: {', '.join(near)}" if near else "see bench-check rules"
        raise click.BadParameter(f"there is no rule {name!r}; {listed}", param_hint=option)
    return found
