"""`bench-report advise ROUND`: which cap to set for a workload."""

import contextlib
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.command_line.completion import complete_from, list_workloads
from checker.options import KEYRING, LOCAL, parse_percent
from checker.printable import printable
from checker.terminal import FAILED, UnavailableError, show_step

if TYPE_CHECKING:
    from reporting.advice.subject import Basis

_UNITS_W = {"kW": 1e3, "W": 1.0}
_MOST_W, _MOST_EUR = 1e9, 1e6
WIDTH = 80
"""Longer lines are hard to read."""


def parse_power_w(
    context: click.Context, option: click.Parameter, text: str | None
) -> float | None:
    """Return the watts of a power such as 70kW or 8480W. Raises BadParameter."""
    if text is None:
        return None
    for unit, factor in _UNITS_W.items():
        if text.endswith(unit):
            with contextlib.suppress(ValueError):
                power_w = float(text.removesuffix(unit)) * factor
                if 0 < power_w < _MOST_W:
                    return power_w
            break
    raise click.BadParameter(
        f"{text}: give a power above 0 and below 1 GW with its unit, such as 70kW or 8480W"
    )


def check_price(context: click.Context, option: click.Parameter, price: float) -> float:
    """Return a price. Raises BadParameter for one that is no number, or that no kWh has."""
    if not price < _MOST_EUR:  # false for NaN too
        raise click.BadParameter(f"{price:g}: give the price of a kWh in EUR, below {_MOST_EUR:g}")
    return price


def check_workload(context: click.Context, option: click.Parameter, name: str) -> str:
    """Return the name of a workload. Raises BadParameter."""
    from rules.workloads import workloads

    if name not in workloads():
        raise click.BadParameter(
            f"{name} is no workload; the workloads are {', '.join(workloads())}"
        )
    return name


def _describe_missing(round_path: Path, workload: str, rejected_count: int, local: bool) -> str:
    missing = f"{round_path}: no sweep of {workload} over power caps"
    if rejected_count:
        advice = "" if local else ", and --local reads your own runs before you sign them"
        return (
            f"{missing} among the bundles that pass the check; {rejected_count} fail it: "
            f"bench-check {round_path} says why{advice}"
        )
    return f"{missing}; make one with bench-submit sweep {workload} (docs/sweep.md)"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("round_path", metavar="ROUND", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--workload",
    required=True,
    metavar="WORKLOAD",
    callback=check_workload,
    shell_complete=complete_from(list_workloads),
    help="The workload that the cap is for.",
)
@click.option(
    "--loss",
    "allowed_loss_percent",
    metavar="PERCENT",
    callback=parse_percent,
    help="Allow so much less throughput than at the default cap, such as 5%.",
)
@click.option(
    "--rack",
    "rack_w",
    metavar="POWER",
    callback=parse_power_w,
    help="Fill a rack of this limit with whole nodes, such as 70kW.",
)
@click.option(
    "--redundancy",
    "redundancy_percent",
    metavar="PERCENT",
    callback=parse_percent,
    help="Keep so much of the rack limit free, such as 27%.",
)
@click.option(
    "--by",
    "basis",
    type=click.Choice(["measured", "rated"]),
    default="measured",
    show_default=True,
    help="Plan the rack by the highest mean over 60 s, or by the rated power of the node.",
)
@click.option(
    "--beside",
    "beside_w",
    metavar="POWER",
    callback=parse_power_w,
    help="Without a node meter, assume that a node draws so much beside its boards.  [default: 25 "
    "W for each board, in racks only]",
)
@click.option(
    "--price",
    "price_per_kwh",
    metavar="EUR",
    type=click.FloatRange(0),
    callback=check_price,
    default=0.25,
    show_default=True,
    help="Price of a kWh.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@KEYRING
@LOCAL
def advise(
    round_path: Path,
    workload: str,
    allowed_loss_percent: float | None,
    rack_w: float | None,
    redundancy_percent: float | None,
    basis: "Basis",
    beside_w: float | None,
    price_per_kwh: float,
    as_json: bool,
    keyring: Path | None,
    local: bool,
) -> None:
    """Advise which power cap to set for a workload, from the sweeps over caps below ROUND.

    Without --rack and --loss, the cap is that of the best energy gain minus extra time. With
    --loss, it is that of least energy within the loss; with --rack, that of the most throughput of
    the rack. If bundles fail the check, they are left out and the exit code is 1.
    """
    from checker import CheckerError
    from checker.selection import refuse_keyring
    from reporting.advice.advice import Wishes, advise
    from reporting.advice.document import describe_advice
    from reporting.advice.subject import list_subjects
    from reporting.advice.terminal import format_advice
    from reporting.collect import NothingFoundError, collect

    refuse_keyring(keyring, local)
    if rack_w is None and redundancy_percent is not None:
        raise click.UsageError("--redundancy belongs to a rack: add --rack POWER")
    try:
        show_step("checking the bundles")
        collected = collect([round_path], keyring, local)
    except NothingFoundError as error:
        raise click.ClickException(str(error)) from None
    except CheckerError as error:
        raise UnavailableError(str(error)) from None
    finally:
        show_step("")
    subjects = list_subjects(collected, workload, basis, beside_w)
    if not subjects:
        rejected_count = len(collected.rejected)
        raise click.ClickException(_describe_missing(round_path, workload, rejected_count, local))
    wishes = Wishes(allowed_loss_percent, rack_w, redundancy_percent or 0.0, basis, price_per_kwh)
    advices = [advise(subject, wishes) for subject in subjects]
    if as_json:
        click.echo(json.dumps(describe_advice(advices), ensure_ascii=False, indent=1))
    else:
        width = min(shutil.get_terminal_size().columns, WIDTH)
        click.echo("\n\n".join(format_advice(advice, width) for advice in advices))
    for verdict in collected.rejected:
        place = printable("/".join(verdict.path.parts[-3:]))
        click.echo(f"{place} fails the check and is left out", err=True)
    sys.exit(FAILED if collected.rejected else 0)
