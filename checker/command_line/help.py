"""Help of the commands: options and commands under headings, in the order of use, and examples."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

Sections = Mapping[str, Sequence[str]]
"""By heading, the names of parameters or of commands below it."""
Record = tuple[str, str]


class SectionedCommand(click.Command):
    """A command whose options stand under headings, with examples at the end."""

    def __init__(
        self, *args: Any, sections: Sections, examples: Sequence[str] = (), **kwargs: Any
    ) -> None:
        """`sections` holds names of parameters; all others stand under `Other options`."""
        super().__init__(*args, **kwargs)
        self._sections, self._examples = sections, examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings."""
        records = {
            str(parameter.name): record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option)
            and (record := parameter.get_help_record(ctx)) is not None
        }
        _write_sections(formatter, self._sections, records, "options")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are, because a command has to be copied in one piece."""
        with formatter.section("Examples"):
            formatter.write("\n".join(f"  {example}" for example in self._examples) + "\n")


class SectionedGroup(click.Group):
    """Commands under headings, each with the whole first sentence of its help."""

    def __init__(self, *args: Any, sections: Sections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sections = sections

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        records = {
            name: (name, _take_first_sentence(command.help or ""))
            for name, command in self.commands.items()
            if not command.hidden
        }
        _write_sections(formatter, self._sections, records, "commands")


def _write_sections(
    formatter: click.HelpFormatter, sections: Sections, records: dict[str, Record], noun: str
) -> None:
    left = dict(records)
    groups = {
        heading: [left.pop(name) for name in names if name in left]
        for heading, names in sections.items()
    }
    for heading, lines in (*groups.items(), (f"Other {noun}", list(left.values()))):
        if lines:
            with formatter.section(heading):
                formatter.write_dl(lines)


def _take_first_sentence(text: str) -> str:
    paragraph = " ".join(text.partition("\n\n")[0].split())
    first, dot, _ = paragraph.partition(". ")
    return first + dot.strip() if dot else paragraph
