"""`bench-check explain` and `bench-check rules`: show the rule book."""

import json
import sys
from collections.abc import Sequence

import click

from checker.command_line.completion import complete_from, list_rules
from checker.terminal import fit_text
from rules import VERSION
from rules.registry import rules_by_id
from rules.rule import FAMILIES, Rule
from rules.suggestions import suggest


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("rule", shell_complete=complete_from(list_rules))
def explain(rule: str) -> None:
    """Print the page of RULE, given by id (W103) or name."""
    explained = find_rule(rule)
    text = f"{explained.id} {explained.name} ({explained.severity})\n\n{explained.page}"
    click.echo(fit_text(text, sys.stdout))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
def rules(output_format: str) -> None:
    """List the rules: id, severity, the first rule book that has the rule, name, and the standings
    to which it applies if not to all."""
    book = list(rules_by_id().values())
    click.echo(_format_json(book) if output_format == "json" else _format_text(book))


def _format_json(book: Sequence[Rule]) -> str:
    listed = [
        {
            "id": rule.id,
            "name": rule.name,
            "severity": rule.severity,
            "family": FAMILIES[rule.id[0]],
            "title": rule.title,
            "protocol": rule.since,
            "added": rule.added,
            "standings": rule.standings,
        }
        for rule in book
    ]
    return json.dumps({"rules_version": VERSION, "rules": listed}, indent=1)


def _format_text(book: Sequence[Rule]) -> str:
    lines = []
    for letter, family in FAMILIES.items():
        members = [rule for rule in book if rule.id[0] == letter]
        lines += [f"{letter}: {family}"] if members else []
        for rule in members:
            is_general = set(rule.standings) == set(type(rule).standings)
            standings = "" if is_general else f"  ({', '.join(rule.standings)})"
            lines.append(f"  {rule.id}  {rule.severity:<7}  {rule.added}  {rule.name}{standings}")
    lines.append(
        f"{len(book)} rules in rule book {VERSION}; bench-check explain ID prints the page of one"
    )
    return "\n".join(lines)


def find_rule(name: str, option: str = "RULE") -> Rule:
    """The rule called `name`, by id or name. Raises click.BadParameter for `option`, with similar
    names."""
    book = rules_by_id()
    by_name = {rule.name: rule for rule in book.values()}
    # Ids are upper case. Names are lower case with hyphens, and file names of rules have
    # underscores.
    rule = book.get(name.upper()) or by_name.get(name.lower().replace("_", "-"))
    if rule is None:
        hint = suggest(name.upper(), book) or suggest(name.lower(), by_name)
        raise click.BadParameter(
            f"there is no rule {name!r}{hint or '; see bench-check rules'}", param_hint=option
        )
    return rule
