"""The commands of bench-submit on power logs."""

import json
from pathlib import Path
from typing import Any

import click

from checker.options import BundlePath
from checker.terminal import UnwritableError, describe_unwritable

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_LOG_OPTIONS = (
    click.option(
        "--format",
        default="auto",
        show_default=True,
        metavar="NAME",
        help="format of FILE; power-log --list names them",
    ),
    click.option(
        "--map", "map_path", type=_FILE, help="TOML file that declares the columns of a CSV log"
    ),
    click.option(
        "--time-zone",
        metavar="ZONE",
        help="time zone of local times in FILE, such as Europe/Berlin, UTC or +02:00",
    ),
    click.option(
        "--start", metavar="TIME", help="time 0 of FILE, if its times count from a start (ISO 8601)"
    ),
    click.option(
        "--every",
        "every_s",
        metavar="SECONDS",
        type=click.FloatRange(0, min_open=True),
        help="interval of the readings of a feed, if FILE has no times",
    ),
    click.option(
        "--rating-w",
        "rating_w",
        metavar="W",
        type=click.FloatRange(0, min_open=True),
        help="rated power of all feeds together",
    ),
)


def add_log_options(command: Any) -> Any:
    """Add the options that say how a log is read."""
    for option in reversed(_LOG_OPTIONS):
        command = option(command)
    return command


@click.command("power-log")
@click.argument("files", metavar="FILE...", type=_FILE, nargs=-1)
@add_log_options
@click.option("--from", "begin", metavar="TIME", help="leave out readings before TIME (ISO 8601)")
@click.option("--to", "end", metavar="TIME", help="leave out readings after TIME (ISO 8601)")
@click.option("--json", "as_json", is_flag=True, help="print the figures as JSON")
@click.option("--list", "as_list", is_flag=True, help="print the formats that are known")
def power_log(files: tuple[Path, ...], as_json: bool, as_list: bool, **options: Any) -> None:
    """Print the figures of a power log that another program wrote, and every problem in it.

    Several logs, such as one of each supply, are figures of each and of all together. A log may be
    gzipped. --list names the formats. Any other table needs --map.
    """
    from harness.power_logs.read import read_logs
    from harness.power_logs.summary import format_summary, summarise
    from rules.power_logs.formats import list_formats
    from rules.power_logs.read import LogRequest
    from rules.power_logs.records import PowerLogError

    if as_list:
        for line in list_formats():
            click.echo(line)
        return
    if not files:
        raise click.UsageError("missing FILE; name a power log, or give --list")
    try:
        log = read_logs([LogRequest(file, **options) for file in files])
        summary = summarise(log, options["rating_w"])
    except PowerLogError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json.dumps(summary.to_json(), indent=1, allow_nan=False))
        return
    for line in format_summary(summary):
        click.echo(line)


@click.command("attach-power")
@click.argument("run", type=BundlePath())
@click.argument("files", metavar="FILE...", type=_FILE, nargs=-1, required=True)
@add_log_options
@click.option(
    "--meter-file",
    "meter_path",
    required=True,
    type=_FILE,
    help="TOML file with a table [[meter]] that describes the meter, or with one for each FILE",
)
@click.option(
    "--clock-offset",
    "ahead_s",
    metavar="SECONDS",
    type=click.FloatRange(-86_400, 86_400),
    help="how far the clock of FILE is ahead of the clock of the node  [default: found by the "
    "changes of power]",
)
@click.option(
    "--clock-bound",
    "bound_s",
    metavar="SECONDS",
    type=click.FloatRange(0, 3600),
    help="largest error of --clock-offset",
)
def attach_power(
    run: Path,
    files: tuple[Path, ...],
    meter_path: Path,
    ahead_s: float | None,
    bound_s: float | None,
    **options: Any,
) -> None:
    """Add the power log FILE of another program to the unsigned bundle RUN; or several, such as one
    for each supply or node.

    The changes of power place the clock of the log on that of the node. If they do not decide it,
    state the offset and its bound.
    """
    from harness.power_logs.attaching.attach import attach
    from harness.power_logs.attaching.placement import StatedClock
    from harness.power_logs.summary import format_problems
    from rules.power_logs.read import LogRequest
    from rules.power_logs.records import PowerLogError

    if (ahead_s is None) != (bound_s is None):
        raise click.UsageError("--clock-offset and --clock-bound belong together; give both")
    stated = None if ahead_s is None or bound_s is None else StatedClock(ahead_s, bound_s)
    requests = [LogRequest(file, **options) for file in files]
    try:
        attached = attach(run, requests, meter_path, stated)
    except PowerLogError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise UnwritableError(describe_unwritable(error, run)) from None
    click.echo(f"{run}: {attached.readings} readings of the meter {attached.meter} attached")
    for clock in attached.clocks:
        click.echo(
            f"  the clock of the log is {clock.ahead_s:+.3f} s ahead of that of {clock.node}, at "
            f"most {clock.bound_ns / 1e9:.3f} s wrong ({clock.source})"
        )
    click.echo(f"  mean power of the nodes over the scored epochs {attached.mean_power_w:.1f} W")
    for line in format_problems(attached.problems):
        click.echo(line)
