"""The commands of bench-submit on power logs."""

import json
from pathlib import Path
from typing import Any

import click

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_LOG_OPTIONS = (
    click.option(
        "--format",
        type=click.Choice(["auto", "ptd", "mlperf-training", "csv"]),
        default="auto",
        show_default=True,
        help="format of FILE",
    ),
    click.option(
        "--map", "map_path", type=_FILE, help="TOML file that declares the columns of a CSV log"
    ),
    click.option(
        "--time-zone",
        metavar="ZONE",
        help="time zone of local times in FILE, such as Europe/Berlin, UTC or +02:00",
    ),
)


def add_log_options(command: Any) -> Any:
    """Add the options that say how a log is read."""
    for option in reversed(_LOG_OPTIONS):
        command = option(command)
    return command


@click.command("power-log")
@click.argument("file", type=_FILE)
@add_log_options
@click.option("--from", "begin", metavar="TIME", help="leave out readings before TIME (ISO 8601)")
@click.option("--to", "end", metavar="TIME", help="leave out readings after TIME (ISO 8601)")
@click.option("--json", "as_json", is_flag=True, help="print the figures as JSON")
def power_log(file: Path, as_json: bool, **options: Any) -> None:
    """Print the figures of a power log that another program wrote, and every problem in it.

    FILE is a log of SPEC PTDaemon, an MLPerf training power log, or CSV with a map; it may be
    gzipped.
    """
    from harness.power_logs.read import LogRequest, read_log
    from harness.power_logs.records import PowerLogError
    from harness.power_logs.summary import format_summary, summarise

    try:
        summary = summarise(read_log(LogRequest(file, **options)))
    except PowerLogError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json.dumps(summary.to_json(), indent=1, allow_nan=False))
        return
    for line in format_summary(summary):
        click.echo(line)
