"""Completion by the shell: the names that an argument may take, for bash, zsh and fish.

The shell runs the program with a variable such as _BENCH_SUBMIT_COMPLETE, and click answers. Names
are looked up only then, so that the commands start fast.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem, add_completion_class
from click.shell_completion import FishComplete as ClickFishComplete

PROGRAMS = ("bench-submit", "bench-check", "bench-report")
SHELLS = ("bash", "zsh", "fish")
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]
"""The argument `shell_complete` of a parameter."""


class FishComplete(ClickFishComplete):
    """Completion by fish. Unlike click's, it keeps commas in names and in help."""

    source_template = ClickFishComplete.source_template.replace(
        'string split ","', 'string split --max 1 ","'
    )


add_completion_class(FishComplete)


class CommandOrPaths(click.Group):
    """A program whose first argument is the name of a command or a path, in the form that click
    completes."""

    def __init__(
        self,
        default: click.Command,
        descriptions: Mapping[str, str],
        load: Callable[[str], click.Command],
    ) -> None:
        """`default` takes paths. `load` returns the command with a name of `descriptions`."""
        # The options are those of `default`.
        super().__init__(add_help_option=False, context_settings={"ignore_unknown_options": True})
        self._default, self._descriptions, self._load = default, descriptions, load

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that `args` begin with, or the default command."""
        if args[0] in self._descriptions:
            return args[0], self._load(args[0]), args[1:]
        return None, self._default, args

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        """Return the options of the default command, or the commands that begin so. Without such a
        command the shell completes a path."""
        if incomplete.startswith("-"):
            return self._default.shell_complete(ctx, incomplete)
        items = _match(self._descriptions, incomplete)
        return items or [CompletionItem(incomplete, type="file")]


def is_completing(program: str) -> bool:
    """Return whether a shell asks the program for completions."""
    return _name_variable(program) in os.environ


def format_script(shell: str) -> str:
    """Return the script that makes `shell` complete the three programs."""
    completion_class = click.shell_completion.get_completion_class(shell)
    assert completion_class is not None
    # The script depends on the names only, not on the commands.
    empty = click.Command(None)
    scripts = [
        completion_class(empty, {}, program, _name_variable(program)).source()
        for program in PROGRAMS
    ]
    return "\n".join(scripts)


def complete_from(
    list_names: Callable[[click.Context], Mapping[str, str]], in_list: bool = False
) -> Complete:
    """Complete one of the names that `list_names` returns, each with a description or an empty
    text. With `in_list`, complete the last name of a list with commas."""

    def complete(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        before, comma, _ = incomplete.rpartition(",") if in_list else ("", "", "")
        chosen = before.split(",")
        descriptions = {
            f"{before}{comma}{name}": text
            for name, text in list_names(context).items()
            if name not in chosen
        }
        return _match(descriptions, incomplete)

    return complete


def list_workloads(context: click.Context) -> Mapping[str, str]:
    """The workloads of the rule book, with their titles."""
    from rules.workloads import workloads

    return {name: workload.title for name, workload in workloads().items()}


def list_variants(context: click.Context) -> Mapping[str, str]:
    """The variants of the workload on the command line, with their precision; without a workload
    those of all."""
    from rules.workloads import workloads

    # If the value of an option is missing, click leaves the arguments before it in `args`.
    words = [context.params.get("workload"), *context.args]
    chosen = [w for w in workloads().values() if w.id in words] or workloads().values()
    return {name: precision for w in chosen for name, precision in w.variants.items()}


def list_precisions(context: click.Context) -> Mapping[str, str]:
    """The precisions of the variants on the command line."""
    return dict.fromkeys(sorted(set(list_variants(context).values())), "")


def list_models(context: click.Context) -> Mapping[str, str]:
    """The image models of the shipped table, and the names of lists of models."""
    from rules.studies.accuracy import read_shipped_table
    from rules.studies.selection import ALL, CURATED_LIST

    names = {model.architecture for model in read_shipped_table().models}
    return dict.fromkeys([CURATED_LIST, ALL, *sorted(names)], "")


def list_rules(context: click.Context) -> Mapping[str, str]:
    """The ids of the rules, with their names."""
    from rules.registry import rules_by_id

    return {rule.id: rule.name for rule in rules_by_id().values()}


def list_rules_and_families(context: click.Context) -> Mapping[str, str]:
    """The letters of the families, and the ids of the rules."""
    from rules.rule import FAMILIES

    return {**FAMILIES, **list_rules(context)}


def _match(descriptions: Mapping[str, str], incomplete: str) -> list[CompletionItem[str]]:
    return [
        CompletionItem(name, help=text or None)
        for name, text in descriptions.items()
        if name.startswith(incomplete)
    ]


def _name_variable(program: str) -> str:
    return f"_{program.replace('-', '_')}_COMPLETE".upper()
