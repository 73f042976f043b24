"""`bench-report compare A B`: what changed between two bundles, systems or rounds."""

import json
import sys
from pathlib import Path

import click

from checker.options import KEYRING, LOCAL, RoundPath, complete_run_id, parse_percent
from checker.printable import printable
from checker.terminal import FAILED, UnavailableError, colour_mode, fit_text, show_step


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("earlier_name", metavar="A")
@click.argument("later_path", metavar="B", type=RoundPath())
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.option(
    "--fail-if-slower",
    "limit_percent",
    metavar="PERCENT",
    callback=parse_percent,
    help="Exit with 1 if the throughput of a setting is lower by PERCENT or more, or if a setting "
    "of A has no result in B to compare. Two single runs with overlapping intervals do not fail.",
)
@KEYRING
@LOCAL
def compare(
    earlier_name: str,
    later_path: Path,
    as_json: bool,
    limit_percent: float | None,
    keyring: Path | None,
    local: bool,
) -> None:
    """Compare the runs below A, the earlier ones, with those below B.

    A and B are bundles, systems or rounds. A may also be a tag or another revision of the git
    repository that holds B. Equal settings are compared with each other; if A and B have none in
    common, equal work on two systems, or two single settings of one workload. Bundles that fail the
    check are not compared. If one of them is in B, the exit code is 1.
    """
    from checker import CheckerError
    from checker.selection import refuse_keyring
    from reporting.collect import NothingFoundError, collect
    from reporting.rounds.earlier import EarlierRoundError, collect_earlier
    from reporting.rounds.matching import NothingToCompareError, compare_results, find_slower
    from reporting.rounds.terminal import describe_comparison, format_changes

    refuse_keyring(keyring, local)
    earlier_name, later_name = str(complete_run_id(earlier_name)), str(later_path)
    try:
        show_step("checking A")
        earlier = collect_earlier(earlier_name, [later_path], keyring, local)
        show_step("checking B")
        later = collect([later_path], keyring, local)
        changes = compare_results(earlier, later, later_name)
    except (EarlierRoundError, NothingFoundError, NothingToCompareError) as error:
        raise click.ClickException(str(error)) from None
    except CheckerError as error:
        raise UnavailableError(str(error)) from None
    finally:
        show_step("")
    slower = [] if limit_percent is None else find_slower(changes, limit_percent)
    if as_json:
        document = describe_comparison(changes, earlier, later_name, slower)
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
    else:
        text = fit_text(format_changes(changes, later_name, slower), sys.stdout)
        click.echo(text, color=colour_mode())
    for name, rejected in (("A", earlier.collected.rejected), ("B", later.rejected)):
        for verdict in rejected:
            place = printable("/".join(verdict.path.parts[-3:]))
            click.echo(f"{name}: {place} fails the check and is not compared", err=True)
    sys.exit(FAILED if later.rejected or slower else 0)
