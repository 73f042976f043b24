"""The command `bench-submit study`."""

import re
import sys
from pathlib import Path
from typing import Any

import click

from checker.command_line.completion import complete_from, list_models
from harness.cli_options import (
    CAP,
    GPUS,
    METER,
    OUT,
    SEED,
    SIMULATE,
    SMOKE,
    SYSTEM,
)
from harness.cli_values import is_given, make_request
from harness.commands.errors import report_errors

_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(
    context: click.Context, option: click.Parameter, text: str | None
) -> float | None:
    """Return the seconds of a time such as `90s`, `20m` or `1.5h`. Raises BadParameter."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh])", text)
    if match is None:
        raise click.BadParameter(f"{text}: give a time such as 90s, 20m or 1.5h")
    return float(match[1]) * _UNITS_S[match[2]]


@click.group()
def study() -> None:
    """Measure many models on this node."""


@study.command("image-inference")
@click.option(
    "--models",
    shell_complete=complete_from(list_models, in_list=True),
    metavar="curated|all|GLOB,…|FILE",
    help="models and input sizes to measure (docs/image-inference.md)  [default: curated]",
)
@click.option(
    "--engine",
    "engines",
    metavar="NAME,…",
    help="eager, cudagraph, compile or tensorrt  [default: cudagraph]",
)
@click.option(
    "--precision",
    "precisions",
    metavar="NAME,…",
    help="fp32, tf32, tf32-conv, fp16 or bf16  [default: bf16]",
)
@click.option(
    "--like",
    type=click.Choice(("yang-pt", "yang-trt")),
    help="engine, precision and settings of Yang et al.",
)
@click.option("--full", is_flag=True, help="measure each batch size until memory is full")
@click.option(
    "--budget",
    "budget_s",
    metavar="TIME",
    callback=parse_duration,
    help="begin no model that would end after this time, such as 20m",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    help="unfinished study, or bundle of a study, to continue",
)
@click.option(
    "--dry-run", is_flag=True, help="show checks, models and expected time; measure nothing"
)
@click.option(
    "--accuracy",
    type=click.Path(path_type=Path),
    help="table of published accuracy  [default: the shipped one]",
)
@click.option(
    "--long-seconds",
    "long_s",
    type=click.FloatRange(0.2, 3600),
    help="length of the long windows in s; a study needs 10 or more",
)
@GPUS
@CAP
@SMOKE
@METER
@SIMULATE
@SEED
@SYSTEM
@OUT
@click.pass_context
def image_inference(
    context: click.Context,
    /,
    out: Path,
    resume: Path | None,
    dry_run: bool,
    gpus: int,
    cap_w: float | None,
    smoke: bool,
    meter: str | None,
    simulate: str | None,
    seed: int,
    system: Path | None,
    **options: Any,
) -> None:
    """Measure the inference energy of image models from timm: a ladder of batch sizes for each,
    and long windows at the two best ones. Writes a bundle to OUT."""
    from harness.commands import requeue
    from harness.studies import command
    from harness.studies.plan import STUDY
    from harness.studies.planning import StudyRequest

    with report_errors():
        names = ("gpus", "cap_w", "smoke", "meter", "simulate", "seed", "system")
        run_options = {name: context.params[name] for name in names}
        given = {p.name for p in context.command.params if is_given(context, p)}
        request = StudyRequest(
            make_request(STUDY, run_options), seed=seed if "seed" in given else None, **options
        )
        if dry_run:
            command.check(request, resume, out)
            return
        sys.exit(0 if requeue.run_study(request, resume, out) else 1)
