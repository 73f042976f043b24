"""`bench-report trace BUNDLE`: the course of one run as a figure."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from checker.options import KEYRING, LOCAL, BundlePath
from checker.terminal import UnavailableError, UnwritableError, describe_unwritable, show_step

if TYPE_CHECKING:
    from reporting.results_model import ResultRow
    from reporting.sections.course import ControlPower


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("bundle_path", metavar="BUNDLE", type=BundlePath())
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The directory to write the figure to, as SVG and PDF.",
)
@click.option(
    "--control",
    "control_path",
    metavar="BUNDLE",
    type=BundlePath(),
    help="A control run (bench-submit burn), whose median power is marked.",
)
@click.option(
    "--width",
    type=click.Choice(["252", "516"]),
    default="516",
    show_default=True,
    help="In pt: one or two columns of IEEEtran.",
)
@KEYRING
@LOCAL
def trace(
    bundle_path: Path,
    out: Path,
    control_path: Path | None,
    width: Literal["252", "516"],
    keyring: Path | None,
    local: bool,
) -> None:
    """Draw the course of the run in BUNDLE: the power of the node by its meters, that of each
    board, and utilisation, over time. Epochs are shaded; rated power, cap and the median power of a
    control run are marked.

    A run on several nodes has a figure for each. A bundle that fails the check is not drawn.
    """
    from checker import CheckerError
    from checker.selection import refuse_keyring
    from reporting.charts import ChartError, require_renderer
    from reporting.collect import EvidenceChangedError, NothingFoundError
    from rules.metrics.energy import MetricsError

    refuse_keyring(keyring, local)
    try:
        require_renderer()
        show_step("checking the bundle")
        row = _collect_run(bundle_path, keyring, local)
        control = _read_control(control_path, row, keyring, local)
        show_step("drawing the figure")
        paths = _write(row, control, out, 252 if width == "252" else 516)
    except (NothingFoundError, MetricsError) as error:
        raise click.ClickException(str(error)) from None
    except (ChartError, CheckerError, EvidenceChangedError) as error:
        raise UnavailableError(str(error)) from None
    except OSError as error:
        raise UnwritableError(describe_unwritable(error, out)) from None
    finally:
        show_step("")
    for path in paths:
        click.echo(path)
    sys.exit(0)


def _collect_run(path: Path, keyring: Path | None, local: bool) -> "ResultRow":
    """The row of the run in a bundle. Raises ClickException unless there is one that passes."""
    from reporting.collect import collect

    collected = collect([path], keyring, local)
    rows = [row for row in collected.rows if row.provenance]
    if collected.rejected or collected.withdrawn:
        advice = "" if local else ", and --local draws your own run before you sign it"
        raise click.ClickException(
            f"{path}: the bundle fails the check or is withdrawn; bench-check {path} has the "
            f"reason{advice}"
        )
    if len(rows) != 1:
        raise click.ClickException(
            f"{path}: {len(rows)} runs; give the directory of the bundle of one run"
        )
    return rows[0]


def _read_control(
    path: Path | None, row: "ResultRow", keyring: Path | None, local: bool
) -> "ControlPower":
    """The median power of a control run. Raises ClickException for a run that the power of `row` is
    no share of."""
    from reporting.sections.control import is_measure
    from reporting.sections.course import ControlPower

    if path is None:
        return ControlPower()
    control = _collect_run(path, keyring, local)
    assert control.provenance is not None
    run = control.provenance.run
    if not is_measure(control) or run.spread is None:
        raise click.ClickException(
            f"{path}: no control run of the full size with the default inputs that kept its cap; "
            "give a bundle of bench-submit burn"
        )
    if (control.accelerator, control.cap_w) != (row.accelerator, row.cap_w):
        raise click.ClickException(
            f"{path}: a control run of {control.accelerator} at {control.cap_w:g} W; give one of "
            f"{row.accelerator} at the cap of the run, {row.cap_w:g} W"
        )
    # The power of several nodes together is that of no one of them.
    node = run.node if len(run.system.nodes) == 1 else None
    return ControlPower(run.spread.median_w, node.median_power_w if node else None)


def _write(
    row: "ResultRow", control: "ControlPower", out: Path, width_pt: Literal[252, 516]
) -> list[Path]:
    from reporting.charts.course import build_course_figure
    from reporting.collect import read_bundle
    from reporting.papers.figures import PX_PER_PT, write_figures
    from reporting.sections.course import build_course_tables

    assert row.provenance is not None
    bundle = read_bundle(row.provenance.run.path, row.provenance.manifest_sha256)
    tables = build_course_tables(bundle, row, control)
    charts = [build_course_figure(table, width_pt * PX_PER_PT) for table in tables]
    return write_figures(charts, out, width_pt)
