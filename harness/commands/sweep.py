"""The command `bench-submit sweep`."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from checker.command_line.completion import complete_from, list_precisions, list_variants
from checker.command_line.help import SectionedCommand
from checker.options import drop_unit
from harness.cli_options import (
    RUN_SECTIONS,
    WORKLOAD,
    add_shared_options,
)
from harness.cli_values import (
    format_run_arguments,
    make_request,
    refuse_other_options,
    state_outcome,
)
from harness.commands.errors import report_errors


@click.command(
    cls=SectionedCommand,
    sections=RUN_SECTIONS,
    examples=(
        "bench-submit sweep resnet50-train --caps 300,500,700 --simulate h200",
        "bench-submit sweep llama3-8b-serve --concurrency 64:1024:x2 --slurm",
    ),
)
@WORKLOAD
@click.option(
    "--caps",
    "cap",
    metavar="VALUES|as-found",
    callback=lambda _, __, text: text and drop_unit(text, "W"),
    help="watts per accelerator  [default: 200:700:100, 750 where allowed; as-found if another "
    "setting varies]",
)
@click.option(
    "--sm-clock",
    metavar="[as-found,]VALUES",
    callback=lambda _, __, text: text and drop_unit(text, "MHz"),
    help="MHz at which the SM clock is locked; standing open",
)
@click.option("--cpu-threads", metavar="VALUES", help="CPU threads of each process")
@click.option("--batch", metavar="VALUES", help="samples per batch of an accelerator")
@click.option("--concurrency", metavar="VALUES", help="serving: requests in flight")
@click.option(
    "--precision",
    metavar="NAME,…",
    shell_complete=complete_from(list_precisions, in_list=True),
    help="precisions; each stands for the variant that has it",
)
@click.option(
    "--variant",
    metavar="NAME,…",
    shell_complete=complete_from(list_variants, in_list=True),
    help="as `workloads` lists them  [default: tuned]",
)
@click.option("--gpus", metavar="VALUES", help="accelerators of this node  [default: 1]")
@click.option(
    "--reference",
    "references",
    metavar="[AXIS=]VALUE",
    multiple=True,
    help="the value that the others are compared with; AXIS is needed if two settings vary  "
    "[default: the default cap of the board; the first value of another setting]",
)
@click.option(
    "--repeat",
    "repeats",
    default=1,
    show_default=True,
    type=click.IntRange(1, 100),
    help="runs of each value",
)
@add_shared_options
@click.option("--dry-run", is_flag=True, help="show checks and plan, and run nothing")
@click.option(
    "--slurm",
    "for_slurm",
    is_flag=True,
    help="print a batch script that makes the runs, for you to read and edit; run nothing",
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
    help="plan file of a sweep, OUT/SWEEP.sweep.json, to continue the sweep",
)
@click.option(
    "--yes", "is_confirmed", is_flag=True, help="start without the question that a terminal gets"
)
@click.pass_context
def sweep(
    context: click.Context,
    /,
    workload: str | None,
    out: Path,
    repeats: int,
    references: tuple[str, ...],
    dry_run: bool,
    for_slurm: bool,
    nodes: int,
    resume: Path | None,
    is_confirmed: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run WORKLOAD at several values of one setting, or of two, in random order. Writes a bundle
    for each run to OUT.

    VALUES are a range A:B:STEP or A:B:xFACTOR with both ends, or a list A,B,….
    """
    # Imported here to keep --help fast.
    from harness.sweep import run as sweep_run
    from harness.sweep import slurm
    from harness.sweep.axis import AXES
    from harness.sweep.request import read_request

    with report_errors(), state_outcome(as_json) as end:
        if resume is not None:
            refuse_other_options(context)
            end(sweep_run.resume(resume, options["is_verbose"]))
        if workload is None:
            raise click.UsageError(
                "name a workload (bench-submit workloads lists them), or a sweep with --resume"
            )
        if for_slurm and (dry_run or as_json):
            other = "--dry-run" if dry_run else "--json"
            raise click.UsageError(f"--slurm prints a script and runs nothing; leave out {other}")
        if nodes > 1 and not for_slurm:
            raise click.UsageError(
                "--nodes: a sweep over several nodes is a batch script; add --slurm"
            )
        texts = {axis.name: options.pop(axis.name.replace("-", "_")) for axis in AXES.values()}
        request = read_request(make_request(workload, options), texts, references, repeats)
        if for_slurm:
            assert context.parent is not None and isinstance(context.parent.command, click.Group)
            arguments = format_run_arguments(context, context.parent.command.commands["run"])
            click.echo(slurm.render_script(request, arguments, nodes), nl=False)
            return
        is_asked = sys.stdin.isatty() and sys.stdout.isatty() and not is_confirmed
        confirm = partial(click.confirm, "start the sweep?", abort=True) if is_asked else None
        end(sweep_run.run(request, out, dry_run, confirm))
