"""The options that commands of bench-submit share."""

import contextlib
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from checker.command_line.completion import complete_from, list_variants, list_workloads
from checker.command_line.config import DEFAULT_OUT
from checker.options import SiteOption, drop_unit

if TYPE_CHECKING:
    pass

Command = TypeVar("Command", bound=Callable[..., Any])


def parse_cap(context: click.Context, option: click.Parameter, text: str) -> float | None:
    """Return the cap in W that `--cap` gives, None for `as-found`. Raises BadParameter."""
    if re.fullmatch("as[-_ ]?found", text, re.IGNORECASE):
        return None
    with contextlib.suppress(ValueError):
        if 0 < (cap_w := float(drop_unit(text, "W"))) < math.inf:
            return cap_w
    raise click.BadParameter(f"{text}: give watts, such as 400, or as-found")


class _Clock(click.IntRange):
    """A clock in MHz, with or without a unit."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        text = drop_unit(str(value), "MHz")
        if not re.fullmatch("-?[0-9]+", text):
            self.fail(f"{value}: give whole MHz, such as 1200", param, ctx)
        return super().convert(int(text), param, ctx)


class _Duration(click.FloatRange):
    """A duration in s, with or without a unit."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        text = drop_unit(str(value), "s")
        try:
            duration_s = float(text)
        except ValueError:
            self.fail(f"{value}: give seconds, such as 30", param, ctx)
        return super().convert(duration_s, param, ctx)


def _list_meters(_: click.Context) -> dict[str, str]:
    from harness.power.sources import source_names

    return dict.fromkeys(source_names(), "")


def _list_simulated_boards(_: click.Context) -> dict[str, str]:
    from harness.simulation.board_models import MODELS

    return {name: model.name for name, model in MODELS.items()}


METER_HELP = (
    "power meter: nvidia, amd, rapl or one of your own (docs/write-a-meter.md)  "
    "[default: the first that can be used here]"
)
METER = click.option(
    "--meter",
    metavar="NAME[:ARGUMENT]",
    shell_complete=complete_from(_list_meters),
    help=METER_HELP,
)
SYSTEM = click.option(
    "--system",
    cls=SiteOption,
    type=click.Path(path_type=Path),
    help="TOML file that describes the system",
)
METERS = click.option(
    "--meters",
    type=click.Path(path_type=Path),
    help="TOML file that says where the node meters of --system are (docs/node-power.md)  "
    "[default: ~/.config/wattmark/meters.toml]",
)
CORPUS = click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    help="pre-training: a text file to train on; standing open",
)
WEIGHTS = click.option(
    "--weights",
    type=click.Path(path_type=Path),
    help="checkpoint to load; without it the weights are initialised from the seed",
)
NODE = click.option(
    "--node",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="with several nodes: the number of this node, from 0",
)
HEAD = click.option(
    "--head",
    metavar="HOST:PORT",
    help="with several nodes: address of node 0, to which all nodes connect",
)
OUT = click.option(
    "-o",
    "--out",
    cls=SiteOption,
    default=DEFAULT_OUT,
    show_default=True,
    type=click.Path(path_type=Path),
    help="directory for bundles",
)
_SEED_RANGE = click.IntRange(0, 2**32 - 1)
SEED = click.option("--seed", default=1, show_default=True, type=_SEED_RANGE)
SMOKE = click.option(
    "--smoke",
    is_flag=True,
    help="small size of the workload, which a laptop finishes in seconds; never compared",
)
SIMULATE = click.option(
    "--simulate",
    metavar="MODEL",
    shell_complete=complete_from(_list_simulated_boards),
    callback=lambda _, __, text: text and text.lower(),
    help="simulated accelerators: h100, h200, b200, gb200 or mi300x, optionally with faults, as in "
    "h200,drop=5 (docs/simulated.md); never compared",
)
EPOCH_SECONDS = click.option(
    "--epoch-seconds",
    "epoch_s",
    type=_Duration(0.1, 3600),
    help="length of an epoch in s; standing closed needs 30 or more, a control run or training "
    "to a target 10",
)
GPUS = click.option(
    "--gpus",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="accelerators of this node to use",
)
NODES = click.option(
    "--nodes",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="nodes of the run, each with --gpus accelerators",
)
CAP = click.option(
    "--cap",
    "cap_w",
    metavar="WATTS|as-found",
    default="as-found",
    show_default=True,
    callback=parse_cap,
    help="power cap of each accelerator; if another cap is in force, the run sets this one and "
    "restores the former cap at its end",
)
SM_CLOCK = click.option(
    "--sm-clock",
    "sm_clock_mhz",
    metavar="MHZ",
    type=_Clock(1),
    help="lock the SM clock of each accelerator during the run; standing open",
)
JSON = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="print one JSON object with the bundles to standard output, and all else to standard "
    "error",
)
VERBOSE = click.option(
    "-v",
    "--verbose",
    "is_verbose",
    is_flag=True,
    help="end each run with details: drift, sensor term, idle power, latencies, and all notes of "
    "the rules",
)
DRY_RUN = click.option(
    "--dry-run", is_flag=True, help="show the checks before the run and run nothing"
)
_RUN_SETTINGS = (
    click.option(
        "--like",
        "--variant",
        "variant",
        default="tuned",
        show_default=True,
        shell_complete=complete_from(list_variants),
        help="as `workloads` lists them; --like mayr takes the settings of a publication "
        "(docs/mayr.md)",
    ),
    click.option(
        "--batch",
        metavar="N|auto",
        help="samples per batch of an accelerator; auto finds the highest stable number",
    ),
    click.option(
        "--concurrency",
        metavar="N|auto",
        help="serving: requests in flight; auto finds the highest stable number",
    ),
    click.option("--cpu-threads", type=click.IntRange(1, 9999), help="CPU threads of each process"),
)
"""The settings of a run that a sweep can vary; a sweep takes several values of each."""
_SHARED_OPTIONS = (
    SMOKE,
    METER,
    SIMULATE,
    EPOCH_SECONDS,
    SEED,
    SYSTEM,
    METERS,
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
        help="option of the implementation; may be repeated",
    ),
    CORPUS,
    WEIGHTS,
    click.option(
        "--prompt-tokens",
        type=click.IntRange(1),
        help="serving: tokens of a prompt; standing open if it is not the workload's",
    ),
    click.option(
        "--output-tokens",
        type=click.IntRange(1),
        help="serving: tokens of an answer; standing open if it is not the workload's",
    ),
    click.option(
        "--request-rate",
        "rate_per_s",
        type=click.FloatRange(0, min_open=True),
        help="serving: mean rate of Poisson arrivals, in requests per s",
    ),
    click.option(
        "--export",
        metavar="prometheus:PORT|textfile:FILE",
        help="publish power, energy, cap, items and epochs while a run goes on: over HTTP, or in a "
        "file for node_exporter (docs/monitoring.md)",
    ),
    OUT,
    VERBOSE,
    JSON,
)
_BURN_OPTIONS = (
    click.option(
        "--precision",
        default="bf16",
        show_default=True,
        type=click.Choice(("bf16", "fp16", "tf32", "fp8", "fp64")),
        help="precision of the matrix products",
    ),
    click.option(
        "--input",
        "input_name",
        metavar="normal|uniform|sparse:SHARE|zeros",
        help="values of the matrices; fewer changing bits draw less power, so that another limit "
        "than the cap shows  [default: normal]",
    ),
    click.option(
        "--side",
        type=click.Choice(("1024", "2048", "4096", "8192", "16384")),
        help="rows and columns of a matrix  [default: 8192]",
    ),
    click.option(
        "--host-load",
        is_flag=True,
        help="load the cores and the memory of the host too, with stress-ng where it is installed",
    ),
    GPUS,
    NODES,
    NODE,
    HEAD,
    CAP,
    SMOKE,
    METER,
    SIMULATE,
    EPOCH_SECONDS,
    SEED,
    SYSTEM,
    METERS,
    OUT,
    VERBOSE,
    JSON,
    DRY_RUN,
)
_REPRODUCE_OPTIONS = (
    click.option(
        "--seed",
        type=_SEED_RANGE,
        help="another seed than that of the newest challenge, or of the original",
    ),
    METER,
    SYSTEM,
    METERS,
    CORPUS,
    WEIGHTS,
    NODE,
    HEAD,
    OUT,
    VERBOSE,
    JSON,
)


RUN_SECTIONS = {
    "What": (
        "variant",
        "precision",
        "batch",
        "concurrency",
        "cpu_threads",
        "smoke",
        "seed",
        "epoch_s",
        "implementation",
        "options",
        "corpus",
        "weights",
        "prompt_tokens",
        "output_tokens",
        "rate_per_s",
    ),
    "Where": ("gpus", "system", "out"),
    "Power": ("cap", "cap_w", "sm_clock", "sm_clock_mhz", "meter", "meters"),
    "Several nodes": ("nodes", "node", "head", "for_slurm"),
    "Simulation": ("simulate",),
    "Course": (
        "references",
        "repeats",
        "target_percent",
        "resume",
        "dry_run",
        "is_confirmed",
        "is_verbose",
        "as_json",
        "export",
    ),
}
"""Where the options of a run and of a sweep stand in their help."""
WORKLOAD = click.argument("workload", required=False, shell_complete=complete_from(list_workloads))


def add_run_settings(command: Command) -> Command:
    """Decorate a command with the settings of a run that a sweep can vary."""
    return _add_options(command, _RUN_SETTINGS)


def add_shared_options(command: Command) -> Command:
    """Decorate a command with the options that a run and all runs of a sweep have."""
    return _add_options(command, _SHARED_OPTIONS)


def add_burn_options(command: Command) -> Command:
    """Decorate a command with the options of a control run."""
    return _add_options(command, _BURN_OPTIONS)


def add_reproduce_options(command: Command) -> Command:
    """Decorate a command with the options that the bundle of the original cannot answer."""
    return _add_options(command, _REPRODUCE_OPTIONS)


def _add_options(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
