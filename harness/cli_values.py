"""The values that the command line of bench-submit gives: requests, arguments of a batch script,
and how a command ends."""

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from harness.run.outcome import Outcome
    from harness.run.plan import RunRequest


def make_request(workload: str, options: dict[str, Any]) -> "RunRequest":
    """Return the run that the options request. Raises UsageError, or MeterError if there is no such
    meter."""
    # Imported here to keep --help fast.
    from harness.power.sources import source_class
    from harness.power.sources.simulated import SimulatedSource
    from harness.run.plan import RunRequest

    meter = options["meter"]
    if meter is not None:
        if options["simulate"] is not None:
            raise click.UsageError("--meter and --simulate: give one of them")
        # `--meter simulated:h200` and `--simulate h200` mean the same.
        if issubclass(source_class(meter), SimulatedSource):
            options = {**options, "meter": None, "simulate": meter.partition(":")[2]}
    # The system of a site is that of its real boards and meters.
    if options["simulate"] is not None and _is_site_default("system"):
        options = {**options, "system": None}
    if (concurrency := options.pop("concurrency", None)) is not None:
        options["batch"] = _check_concurrency(workload, concurrency, options["batch"])
    return RunRequest(workload, **options)


def _check_concurrency(workload: str, concurrency: str, batch: str | None) -> str:
    """Return the value of --concurrency, which a run calls its batch. Raises UsageError."""
    from rules.workloads import workloads

    if batch is not None:
        raise click.UsageError("--batch and --concurrency are one setting of a server; give one")
    if workload in workloads() and workloads()[workload].mode != "inference":
        raise click.UsageError(
            f"--concurrency: {workload} serves no requests; give --batch instead"
        )
    if concurrency != "auto" and not re.fullmatch("[1-9][0-9]{0,6}", concurrency):
        raise click.UsageError(
            f"--concurrency {concurrency}: give a number of requests of at least 1, or auto"
        )
    return concurrency


def _is_site_default(name: str) -> bool:
    """Return whether config.toml gives the value of a parameter of the present command."""
    context = click.get_current_context(silent=True)
    source = context.get_parameter_source(name) if context else None
    return source is ParameterSource.DEFAULT_MAP


def is_given(context: click.Context, parameter: click.Parameter) -> bool:
    """Return whether the command line gives the parameter."""
    source = context.get_parameter_source(str(parameter.name))
    # A site default counts as such: DEFAULT_MAP.
    return source not in (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


@contextlib.contextmanager
def state_outcome(as_json: bool) -> Iterator[Callable[["Outcome"], NoReturn]]:
    """Give the function that ends a command by its outcome. With `as_json`, all else that the block
    prints goes to standard error."""
    output = sys.stdout

    def end(outcome: "Outcome") -> NoReturn:
        if as_json:
            from harness.run.outcome import render_json

            click.echo(render_json(outcome), file=output)
        sys.exit(0 if outcome.passes else 1)

    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        yield end


_BESIDE_RESUME = ("resume", "as_json", "is_confirmed", "is_verbose")


def refuse_other_options(context: click.Context) -> None:
    """Raise UsageError if another parameter is given with --resume, which repeats a plan
    unchanged."""
    names = [
        parameter.opts[-1]
        for parameter in context.command.params
        if is_given(context, parameter) and parameter.name not in _BESIDE_RESUME
    ]
    if names:
        raise click.UsageError(
            f"--resume takes the plan of the {context.command.name} as it is; leave out "
            f"{', '.join(names)}"
        )


def format_run_arguments(context: click.Context, run: click.Command) -> list[str]:
    """Return the arguments that the command line of a sweep and the site defaults give for
    `bench-submit run`, without the settings that a sweep can vary."""
    # The batch script sets the nodes too.
    own_names = {"variant", "batch", "concurrency", "cpu_threads", "gpus", "nodes"}
    shared_names = {parameter.name for parameter in run.params} - own_names
    arguments: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        is_default = context.get_parameter_source(name) is ParameterSource.DEFAULT
        if name not in shared_names or is_default:
            continue
        value = context.params[name]
        if isinstance(parameter, click.Argument):
            arguments.append(value)
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            arguments.append(parameter.opts[-1])
        else:
            for item in value if parameter.multiple else [value]:
                arguments += [parameter.opts[-1], str(item)]
    return arguments
