"""bench-submit: runs workloads under the protocol and signs what they leave."""

import sys
from pathlib import Path
from typing import Any

import click

from harness import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bench-submit")
def main() -> None:
    """Run a workload under the measurement protocol and leave a bundle of evidence."""


@main.command()
@click.argument("workload", required=False)
@click.option("--variant", default="tuned", show_default=True, help="as `workloads` lists them")
@click.option("--batch", metavar="N|auto", help="samples per batch, or requests in flight; auto finds the most that is stable")
@click.option("--gpus", default=1, show_default=True, type=click.IntRange(1), help="accelerators of this node to use")
@click.option("--nodes", default=1, show_default=True, type=click.IntRange(1), help="nodes of the run, each with --gpus")
@click.option("--node", default=0, show_default=True, type=click.IntRange(0), help="several nodes: the number of this one")
@click.option("--head", metavar="HOST:PORT", help="several nodes: where they meet, an address of node 0")
@click.option("--cap", "cap_w", metavar="WATTS", type=float, help="the power cap you declare; refused if another is found")
@click.option("--smoke", is_flag=True, help="the shrunk size that a laptop finishes in seconds; standing demo")
@click.option("--simulate", metavar="MODEL", help="simulated accelerators: h100, h200 or mi300x; standing demo")
@click.option("--epoch-seconds", "epoch_s", type=click.FloatRange(0.1, 3600), help="length of an epoch; closed needs 30 and more")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0, 2**32 - 1))
@click.option("--system", type=click.Path(path_type=Path), help="TOML file that describes the system")
@click.option("--implementation", metavar="MODULE:FUNCTION", help="your own code for the workload; standing open")
@click.option("--option", "options", metavar="KEY=VALUE", multiple=True, help="for the implementation; may be repeated")
@click.option("--corpus", type=click.Path(path_type=Path), help="pre-training: a text file to train on; standing open")
@click.option("--weights", type=click.Path(path_type=Path), help="a checkpoint; without one weights are made from the seed")
@click.option("--prompt-tokens", type=click.IntRange(1), help="serving: length of a prompt; closed has the workload's")
@click.option("--output-tokens", type=click.IntRange(1), help="serving: length of an answer; closed has the workload's")
@click.option("--request-rate", "rate_per_s", type=click.FloatRange(0, min_open=True), help="serving: Poisson arrivals, per s")
@click.option("-o", "--out", default=Path("results"), show_default=True, type=click.Path(path_type=Path), help="where bundles go")
@click.option("--resume", type=click.Path(path_type=Path), help="the directory of an unfinished run, to run it again")
@click.pass_context
def run(context: click.Context, /, workload: str | None, out: Path, resume: Path | None, **wished: Any) -> None:
    """Run WORKLOAD: eleven epochs under the protocol, then a bundle in OUT."""
    from harness import command
    from harness.cluster import ClusterError
    from harness.meters import MeterError
    from harness.plan import PlanError, Wish
    from harness.rundir import Interrupted
    from harness.sampler import SamplerError
    from harness.session import RunFailed

    try:
        if resume is not None:
            _refuse_others(context)
            ok = command.resume(resume)
        elif workload is not None:
            ok = command.run(Wish(workload, **wished), out)
        else:
            raise click.UsageError("name a workload (bench-submit workloads lists them), or --resume a run")
    except (PlanError, MeterError) as error:
        raise click.UsageError(str(error)) from None
    except (RunFailed, ClusterError, SamplerError, OSError) as error:
        raise click.ClickException(str(error)) from None
    except Interrupted as interrupt:
        sys.exit(128 + interrupt.number)
    sys.exit(0 if ok else 1)


def _refuse_others(context: click.Context) -> None:
    """A run is taken up with the plan that it has; raises UsageError where anything else was asked for."""
    default = click.core.ParameterSource.DEFAULT
    given = [p.opts[-1] for p in context.command.params if p.name and context.get_parameter_source(p.name) != default]
    if others := [name for name in given if name != "--resume"]:
        raise click.UsageError(f"--resume takes the plan of the run as it is; leave out {', '.join(others)}")


@main.command()
@click.argument("bundle", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--key", required=True, type=click.Path(path_type=Path), help="your SSH key; a public one goes through ssh-agent")
@click.option("--principal", required=True, help="who signs, as in the keyring: center@example.org")
def sign(bundle: Path, key: Path, principal: str) -> None:
    """Sign the finished BUNDLE with an SSH key."""
    from harness import command
    from harness.sign import SigningError

    try:
        click.echo(f"signed: {command.sign(bundle, key, principal)}")
    except (SigningError, OSError) as error:
        raise click.ClickException(str(error)) from None


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
        table.add_row(one.id, one.title, one.item, one.stack, variants, one.implementation or "none yet")
    Console(width=None if sys.stdout.isatty() else 200).print(table)


if __name__ == "__main__":
    main()
