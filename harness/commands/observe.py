"""`bench-submit observe`: the bundle of a job that wattmark did not run."""

import sys
from pathlib import Path
from typing import Any

import click

from checker.terminal import UnwritableError, describe_unwritable
from harness.cli_options import OUT
from harness.power_logs.commands import add_log_options

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("files", metavar="FILE...", type=_FILE, nargs=-1, required=True)
@click.option(
    "--job",
    "job_path",
    required=True,
    type=_FILE,
    help="TOML file that declares the job, its nodes and the meter",
)
@add_log_options
@OUT
def observe(files: tuple[Path, ...], job_path: Path, out: Path, **options: Any) -> None:
    """Make a bundle of a job that wattmark did not run, from the power log FILE of its nodes; or
    from several, such as one for each supply. It is compared with nothing.
    """
    from checker.engine import judge
    from harness.observed.declaration import read_declaration
    from harness.observed.observe import observe as make_bundle
    from harness.power_logs.summary import format_problems
    from rules.metrics.node.observed import MINUTE_S
    from rules.power_logs.read import LogRequest
    from rules.power_logs.records import PowerLogError

    try:
        declared = read_declaration(job_path)
        made = make_bundle([LogRequest(file, **options) for file in files], declared, out)
    except PowerLogError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise UnwritableError(describe_unwritable(error, out)) from None
    figures = made.figures
    click.echo(made.directory)
    click.echo(
        f"  mean power {figures.mean_w:.1f} W over {figures.seconds:.0f} s, energy "
        f"{figures.energy_j / 3.6e6:.3f} kWh"
    )
    if figures.max_60s_w is not None:
        click.echo(f"  highest mean of 60 s {figures.max_60s_w:.1f} W")
    elif figures.seconds >= MINUTE_S:
        click.echo("  highest mean of 60 s unknown: more than 60 s lie between the readings")
    if figures.joules_per_item is not None:
        click.echo(
            f"  {figures.joules_per_item:.4g} J per {declared.job['items']['name']}, as declared"
        )
    for line in format_problems(made.problems):
        click.echo(line)
    errors = [f for f in judge(made.directory, signed=False).findings if f.severity == "error"]
    for finding in errors:
        click.echo(f"  {finding.rule}: found {finding.found}, expected {finding.expected}")
    sys.exit(1 if errors else 0)
