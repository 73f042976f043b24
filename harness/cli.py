"""bench-submit: runs workloads under the protocol and signs what they leave."""

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from harness import __version__

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bench-submit")
def main() -> None:
    """Run a workload under the measurement protocol and leave a bundle of evidence."""


_WHAT_TO_RUN = (
    click.argument("workload", required=False),
    click.option("--variant", default="tuned", show_default=True, help="as `workloads` lists them"),
    click.option(
        "--batch",
        metavar="N|auto",
        help="samples per batch, or requests in flight; auto (not in a sweep) finds the most "
        "that is stable",
    ),
    click.option(
        "--smoke",
        is_flag=True,
        help="the shrunk size that a laptop finishes in seconds; standing demo",
    ),
    click.option(
        "--simulate",
        metavar="MODEL",
        help="simulated accelerators: h100, h200 or mi300x, then faults as in h200,drop=5 "
        "(docs/simulated.md); standing demo",
    ),
    click.option(
        "--epoch-seconds",
        "epoch_s",
        type=click.FloatRange(0.1, 3600),
        help="length of an epoch; closed needs 30 and more",
    ),
    click.option("--seed", default=1, show_default=True, type=click.IntRange(0, 2**32 - 1)),
    click.option(
        "--system", type=click.Path(path_type=Path), help="TOML file that describes the system"
    ),
    click.option(
        "--implementation",
        metavar="MODULE:FUNCTION",
        help="your own code for the workload; standing open",
    ),
    click.option(
        "--option",
        "options",
        metavar="KEY=VALUE",
        multiple=True,
        help="for the implementation; may be repeated",
    ),
    click.option(
        "--corpus",
        type=click.Path(path_type=Path),
        help="pre-training: a text file to train on; standing open",
    ),
    click.option(
        "--weights",
        type=click.Path(path_type=Path),
        help="a checkpoint; without one weights are made from the seed",
    ),
    click.option(
        "--prompt-tokens",
        type=click.IntRange(1),
        help="serving: length of a prompt; closed has the workload's",
    ),
    click.option(
        "--output-tokens",
        type=click.IntRange(1),
        help="serving: length of an answer; closed has the workload's",
    ),
    click.option(
        "--request-rate",
        "rate_per_s",
        type=click.FloatRange(0, min_open=True),
        help="serving: Poisson arrivals, per s",
    ),
    click.option(
        "-o",
        "--out",
        default=Path("results"),
        show_default=True,
        type=click.Path(path_type=Path),
        help="where bundles go",
    ),
)


def _what_to_run(command: Command) -> Command:
    """What is said of a run, and likewise of every run of a sweep."""
    for option in reversed(_WHAT_TO_RUN):
        command = option(command)
    return command


def _cap(context: click.Context, option: click.Parameter, text: str) -> float | None:
    if text == "as-found":
        return None
    with contextlib.suppress(ValueError):
        if 0 < (cap_w := float(text)) < math.inf:
            return cap_w
    raise click.BadParameter(f"{text}: give watts, or as-found")


_ABOUT_CAP = (
    "power cap of each accelerator; set for the run, and restored after it, where another one "
    "is in force"
)


@main.command()
@_what_to_run
@click.option(
    "--gpus",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="accelerators of this node to use",
)
@click.option(
    "--nodes",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="nodes of the run, each with --gpus",
)
@click.option(
    "--node",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="several nodes: the number of this one",
)
@click.option(
    "--head", metavar="HOST:PORT", help="several nodes: where they meet, an address of node 0"
)
@click.option(
    "--cap",
    "cap_w",
    metavar="WATTS|as-found",
    default="as-found",
    show_default=True,
    callback=_cap,
    help=_ABOUT_CAP,
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    help="the directory of an unfinished run, to run it again",
)
@click.pass_context
def run(
    context: click.Context, /, workload: str | None, out: Path, resume: Path | None, **options: Any
) -> None:
    """Run WORKLOAD: eleven epochs under the protocol, then a bundle in OUT."""
    from harness.run import command
    from harness.run.plan import RunRequest

    with _errors_told():
        if resume is not None:
            _refuse_others(context)
            ok = command.resume(resume)
        elif workload is not None:
            ok = command.run(RunRequest(workload, **options), out)
        else:
            raise click.UsageError(
                "name a workload (bench-submit workloads lists them), or --resume a run"
            )
    sys.exit(0 if ok else 1)


@main.command()
@_what_to_run
@click.option(
    "--caps",
    metavar="A:B:STEP|W,W,…|as-found",
    help="watts per accelerator  [default: 200:700:100, 750 where allowed]",
)
@click.option(
    "--repeat",
    "repeats",
    default=1,
    show_default=True,
    type=click.IntRange(1, 100),
    help="runs of each cap",
)
@click.option(
    "--gpus",
    default="1",
    show_default=True,
    metavar="N,N,…",
    help="accelerators of this node; one run of each number",
)
@click.option("--dry-run", is_flag=True, help="show the plan and do nothing")
@click.option(
    "--slurm",
    is_flag=True,
    help="print a batch script that makes the runs, to be read and edited; run nothing",
)
@click.option(
    "--nodes",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="with --slurm: nodes of each run",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    help="the plan file of a sweep, OUT/SWEEP.sweep.json, to go on with it",
)
@click.pass_context
def sweep(
    context: click.Context, /, workload: str | None, resume: Path | None, **asked: Any
) -> None:
    """Run WORKLOAD at several power caps, in an order that is drawn at random, each run with a
    bundle in OUT."""
    from harness.run.plan import RunRequest
    from harness.sweep import run as sweeping
    from harness.sweep import slurm

    caps, repeats, gpus, out = (asked.pop(name) for name in ("caps", "repeats", "gpus", "out"))
    dry_run, for_slurm, nodes = (asked.pop(name) for name in ("dry_run", "slurm", "nodes"))
    with _errors_told():
        if resume is not None:
            _refuse_others(context)
            sys.exit(0 if sweeping.resume(resume) else 1)
        if workload is None:
            raise click.UsageError(
                "name a workload (bench-submit workloads lists them), or --resume a sweep"
            )
        if for_slurm and dry_run:
            raise click.UsageError("--slurm runs nothing anyway; leave out --dry-run")
        if for_slurm:
            click.echo(
                slurm.script(
                    RunRequest(workload, **asked), _given(context), caps, gpus, repeats, nodes
                ),
                nl=False,
            )
            return
        if nodes > 1:
            raise click.UsageError(
                "--nodes: a sweep over several nodes is a batch script; add --slurm"
            )
        sys.exit(
            0
            if sweeping.run(RunRequest(workload, **asked), caps, gpus, repeats, out, dry_run)
            else 1
        )


def _given(context: click.Context) -> list[str]:
    """What the command line says of the runs of a sweep, as arguments of `run`."""
    arguments: list[str] = []
    for parameter in context.command.params:
        if parameter.name in {p.name for p in run.params} - {"gpus", "nodes"} and _is_given(
            context, parameter
        ):
            value = context.params[str(parameter.name)]
            if isinstance(parameter, click.Argument):
                arguments.append(value)
            elif isinstance(parameter, click.Option) and parameter.is_flag:
                arguments.append(parameter.opts[-1])
            else:
                values = value if parameter.multiple else [value]
                arguments += [text for one in values for text in (parameter.opts[-1], str(one))]
    return arguments


@contextlib.contextmanager
def _errors_told() -> Iterator[None]:
    """What was asked wrongly ends with a usage error, what went wrong with its message, and a
    signal with its status."""
    from harness.power.cap_watchdog import RestoreError, WatchdogError
    from harness.power.sampler import SamplerError
    from harness.power.sources import MeterError
    from harness.run.cluster import ClusterError
    from harness.run.plan import PlanError
    from harness.run.run_directory import Interrupted
    from harness.run.session import RunFailed

    try:
        yield
    except (RunFailed, RestoreError, WatchdogError, ClusterError, SamplerError, OSError) as error:
        raise click.ClickException(str(error)) from None
    except (PlanError, MeterError) as error:
        raise click.UsageError(str(error)) from None
    except Interrupted as interrupt:
        sys.exit(128 + interrupt.number)


def _refuse_others(context: click.Context) -> None:
    """What is taken up again has its plan already; raises UsageError where anything else was asked
    for."""
    given = [p.opts[-1] for p in context.command.params if _is_given(context, p)]
    if others := [name for name in given if name != "--resume"]:
        raise click.UsageError(
            f"--resume takes the plan of the {context.command.name} as it is; leave out "
            f"{', '.join(others)}"
        )


def _is_given(context: click.Context, parameter: click.Parameter) -> bool:
    return context.get_parameter_source(str(parameter.name)) != click.core.ParameterSource.DEFAULT


@main.command()
@click.argument("bundle", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path),
    help="your SSH key; a public one goes through ssh-agent",
)
@click.option("--principal", required=True, help="who signs, as in the keyring: center@example.org")
def sign(bundle: Path, key: Path, principal: str) -> None:
    """Sign the finished BUNDLE with an SSH key."""
    from harness.run import command
    from harness.sign import SigningError

    try:
        for line in command.sign(bundle, key, principal):
            click.echo(line)
    except (SigningError, OSError) as error:
        raise click.ClickException(str(error)) from None


@main.command()
def restore() -> None:
    """Bring back the power limits that a run has changed and could not bring back, as its journal
    says.

    The journal is caps.json in /var/lib/wattmark, or in the directory that WATTMARK_STATE names;
    setting limits takes root. Ends with 0 where all is restored or nothing is left to, and with 1
    where a board could not be restored, or the run lives.
    """
    from harness.power import cap_journal as journal
    from harness.power import cap_watchdog as caps
    from harness.power.sources import MeterError

    found = journal.journals()
    if not found:
        click.echo(
            f"nothing to restore: there is no journal in {' or '.join(map(str, journal.places()))}"
        )
    failed = False
    try:
        for path in found:
            lines = caps.restore(path)
            for line, done in lines or [
                (f"nothing to restore: {path} is gone, so a watchdog has restored meanwhile", True)
            ]:
                click.echo(line)
                failed = failed or not done
    except (MeterError, OSError) as error:
        raise click.ClickException(str(error)) from None
    sys.exit(1 if failed else 0)


@main.command()
def doctor() -> None:
    """Say what this machine can do, and what to do about the rest."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from harness.doctor import examine

    table = Table("", "what", "found", "advice", box=None)
    checks = list(examine())
    for check in checks:
        sign = {True: "[green]ok[/]", False: "[red]no[/]", None: "[yellow]-[/]"}[check.ok]
        table.add_row(sign, check.what, escape(check.found), escape(check.advice))
    Console(width=None if sys.stdout.isatty() else 200).print(table)
    sys.exit(1 if any(c.ok is False for c in checks) else 0)


@main.command()
def workloads() -> None:
    """List the workloads of the rule book."""
    from rich.console import Console
    from rich.table import Table

    from rules.workloads import workloads as defined

    table = Table("workload", "what", "item", "stack", "variants", "implementation", box=None)
    for one in defined().values():
        variants = ", ".join(f"{v} ({p})" for v, p in one.variants.items())
        table.add_row(
            one.id, one.title, one.item, one.stack, variants, one.implementation or "none yet"
        )
    Console(width=None if sys.stdout.isatty() else 200).print(table)


if __name__ == "__main__":
    main()
