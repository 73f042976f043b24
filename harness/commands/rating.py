"""The command `bench-submit rating`."""

from pathlib import Path

import click

from harness.commands.errors import report_errors


@click.command()
@click.argument(
    "file", metavar="FILE", type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
@click.option(
    "--component",
    metavar="NAME",
    help="the node among the components of FILE, by its name or by names joined by /",
)
def rating(file: Path, component: str | None) -> None:
    """Print the rated power of a node as the table [node] of system.toml.

    FILE is the nameplate of a system in MLPerf Inference, systems/SYSTEM_power.yaml. The rated
    power is the capacity of the power supplies that the node needs.
    """
    from harness.power_yaml import format_node_table, make_node_table

    with report_errors():
        click.echo(format_node_table(make_node_table(file, component)))
