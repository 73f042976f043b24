"""The command `bench-submit export`."""

from pathlib import Path

import click

from checker.options import BundlePath
from harness.commands.errors import report_errors

FORMATS = ("aiperf", "annex-xi", "mlperf-power-yaml")


@click.command()
@click.argument("to", metavar="FORMAT", type=click.Choice(FORMATS))
@click.argument("bundle", metavar="BUNDLE", type=BundlePath())
@click.option(
    "--items",
    type=click.FloatRange(min=0, min_open=True),
    help="annex-xi: also estimate the energy of so many items (tokens, images)",
)
def export(to: str, bundle: Path, items: float | None) -> None:
    """Print the energy of a run, or the rating of its nodes, in a format of others.

    \b
    aiperf             metrics of a server, as in profile_export_aiperf.json
    annex-xi           the part on energy of the technical documentation that
                       the EU asks of general-purpose models, in Markdown
    mlperf-power-yaml  the nameplate of MLPerf Inference, SYSTEM_power.yaml:
                       the power supplies of each node
    """
    from harness.exports import aiperf, annex_xi, mlperf_power_yaml
    from harness.exports.run import read_run

    if items is not None and to != "annex-xi":
        raise click.UsageError("--items belongs to annex-xi")
    with report_errors():
        run = read_run(bundle)
        match to:
            case "aiperf":
                text = aiperf.export(run)
            case "annex-xi":
                text = annex_xi.export(run, items)
            case _:
                text = mlperf_power_yaml.export(run)
        click.echo(text)
