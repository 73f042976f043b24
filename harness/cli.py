"""bench-submit: runs workloads under the protocol and signs their bundles.

The commands import their modules when they are called, which keeps --help fast.
"""

import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from typing import Any, NoReturn

import click

from checker.command_line.completion import SHELLS, format_script
from checker.command_line.help import SectionedCommand, SectionedGroup
from checker.options import KEY, PRINCIPAL, BundlePath, complete_unfinished_run, parse_percent
from checker.terminal import colour_mode, run_program
from harness import __version__
from harness.cli_options import (
    CAP,
    DRY_RUN,
    GPUS,
    HEAD,
    NODE,
    NODES,
    RUN_SECTIONS,
    SM_CLOCK,
    WORKLOAD,
    add_burn_options,
    add_reproduce_options,
    add_run_settings,
    add_shared_options,
)
from harness.cli_values import make_request, refuse_other_options, state_outcome
from harness.commands.errors import report_errors
from harness.commands.export import export
from harness.commands.observe import observe
from harness.commands.rating import rating
from harness.commands.study import study
from harness.commands.sweep import sweep
from harness.power_logs.commands import attach_power, power_log

SECTIONS = {
    "Look": ("doctor", "workloads"),
    "Measure": ("run", "sweep", "study", "burn", "reproduce"),
    "Power of the node": ("rating", "power-log", "attach-power", "observe"),
    "Hand in": ("sign", "export"),
    "Keep in order": ("restore", "completion"),
}
"""The commands in the order of use."""
MARK_COLOURS = {True: "green", False: "red", None: "yellow"}


@click.group(
    cls=SectionedGroup,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="bench-submit")
def main() -> None:
    """Run a workload under the measurement protocol and write a bundle of evidence."""


@main.command(
    cls=SectionedCommand,
    sections=RUN_SECTIONS,
    examples=(
        "bench-submit run resnet50-train --simulate h200 --epoch-seconds 1",
        "bench-submit run llama3-8b-serve --like fp8-kv --cap 500 --system system.toml",
    ),
)
@WORKLOAD
@add_run_settings
@add_shared_options
@GPUS
@NODES
@NODE
@HEAD
@CAP
@SM_CLOCK
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    help="directory of an unfinished run, to run it again",
)
@click.option(
    "--until-ci",
    "target_percent",
    callback=parse_percent,
    metavar="PERCENT",
    help="repeat the run, each with the next seed, until the 95 % interval over runs of J per item "
    "is this narrow, such as 0.5%; the same command continues",
)
# The batch script of a sweep gives it. A run that a user starts belongs to no sweep.
@click.option("--sweep-label", metavar="JSON", hidden=True)
@DRY_RUN
@click.pass_context
def run(
    context: click.Context,
    /,
    workload: str | None,
    out: Path,
    resume: Path | None,
    target_percent: float | None,
    sweep_label: str | None,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run WORKLOAD: eleven epochs under the protocol. Writes a bundle to OUT."""
    from harness.commands import requeue
    from harness.run import command, repeats

    with report_errors(), state_outcome(as_json) as end:
        if sweep_label is not None:
            from harness.sweep.slurm import parse_label

            options["sweep"] = parse_label(sweep_label)
        if resume is not None:
            refuse_other_options(context)
            end(command.resume(complete_unfinished_run(str(resume)), options["is_verbose"]))
        elif workload is not None and dry_run:
            end(command.check(make_request(workload, options), out))
        elif workload is not None and target_percent is not None:
            request = make_request(workload, options)
            end(repeats.run_until_narrow(request, out, target_percent))
        elif workload is not None:
            end(requeue.run(make_request(workload, options), out))
        else:
            raise click.UsageError(
                "name a workload (bench-submit workloads lists them), or a run with --resume"
            )


@main.command()
@add_burn_options
def burn(
    precision: str,
    input_name: str | None,
    side: str | None,
    out: Path,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Make a control run: load the accelerators with matrix products, as much as they can take.
    Writes a bundle with the standing control to OUT. It is compared with no workload; other runs
    state their power as a share of it, unless --input or --side lowers its load."""
    from harness.commands import requeue
    from harness.run import command

    with report_errors(), state_outcome(as_json) as end:
        chosen = {"input": input_name, "side": side}
        load = tuple(f"{name}={value}" for name, value in chosen.items() if value is not None)
        request = make_request("burn", {"variant": precision, "options": load, **options})
        if dry_run:
            end(command.check(request, out))
        end(requeue.run(request, out))


@main.command()
@click.argument("bundle", type=BundlePath())
@add_reproduce_options
@click.option("--dry-run", is_flag=True, help="show the checks before the run and run nothing")
def reproduce(bundle: Path, out: Path, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Repeat the run of BUNDLE on accelerators of the same kind here: the same workload, settings,
    cap and seed. Writes a bundle that names the original to OUT."""
    from harness.commands import requeue
    from harness.reproduce import make_reproduction_request
    from harness.run import command

    with report_errors(), state_outcome(as_json) as end:
        request = make_reproduction_request(bundle, **options)
        if dry_run:
            end(command.check(request, out))
        end(requeue.run(request, out))


@main.command()
@click.argument("bundle", type=BundlePath())
@KEY
@PRINCIPAL
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
def sign(bundle: Path, key: Path, principal: str, as_json: bool) -> None:
    """Sign the finished BUNDLE with an SSH key, in its directory submissions/CENTER/SYSTEM/RUN.

    The manifest then names center and system. The signature counts in that directory only. In a
    directory with a keyring, a request hands the bundle in to the round.
    """
    from harness.commands.sign import sign as sign_bundle
    from harness.sign import NoKeyError, SigningError

    try:
        signed = sign_bundle(bundle, key, principal)
    except NoKeyError as error:
        raise click.UsageError(str(error)) from None
    except SigningError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        document = {"format": "wattmark-signed/1", **asdict(signed)}
        click.echo(json.dumps(document, default=str, ensure_ascii=False, indent=1))
    else:
        click.echo(signed)


@main.command()
def restore() -> None:
    """Restore the power limits that a run has changed and not restored.

    The journal of the run lists the limits. It is caps.json in /var/lib/wattmark, or in the
    directory that WATTMARK_STATE names. If it is lost, damaged or altered, its copy in
    /run/wattmark counts. Setting limits needs root. The exit status is 0 if all limits are restored
    or there is nothing to restore. It is 1 if a board could not be restored, or if the run is still
    running.
    """
    from harness.errors import MeterError
    from harness.power.caps import restore as cap_restore
    from harness.power.caps.registry import (
        RESTORABLE,
        explain_lost_journals,
        find_lost_paths,
        journal_paths,
        state_directories,
    )

    paths = dict.fromkeys((*journal_paths(), *find_lost_paths()))
    lost = [text for text in explain_lost_journals() if not text.endswith(RESTORABLE)]
    for text in lost:
        click.echo(f"Error: {text}", err=True)
    if not paths and not lost:
        directories = " or ".join(map(str, state_directories()))
        click.echo(f"nothing to restore: there is no journal in {directories}")
    has_failed = bool(lost)
    for path in paths:
        try:
            results = cap_restore.restore(path)
        except (MeterError, OSError) as error:
            # Another journal can still be restored.
            click.echo(f"Error: {error}", err=True)
            has_failed = True
            continue
        if not results:
            # The watchdog held the lock when the journal was found, and has removed it since.
            click.echo(f"nothing to restore: a watchdog has just restored the limits of {path}")
        for line, is_restored in results:
            click.echo(line)
            has_failed = has_failed or not is_restored
    sys.exit(1 if has_failed else 0)


@main.command()
@click.option(
    "--meter",
    metavar="NAME[:ARGUMENT]",
    help="check this meter only  [default: all real meters]",
)
@click.option(
    "--meters",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="read the node meters of meters.toml instead  [default file: "
    "~/.config/wattmark/meters.toml]",
)
@click.option(
    "--system",
    type=click.Path(path_type=Path),
    help="with --meters: TOML file that describes the meters to read",
)
@click.option(
    "--sensor",
    "sensor_directory",
    is_flag=False,
    flag_value=".",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="[DIRECTORY]",
    help="examine the power sensors of the boards instead, and write all reads to DIRECTORY  "
    "[default: .]",
)
@click.option("--json", "as_json", is_flag=True, help="print the checks and the verdict as JSON")
def doctor(
    meter: str | None,
    meters: str | None,
    system: Path | None,
    sensor_directory: Path | None,
    as_json: bool,
) -> None:
    """Check what this machine can do, and show how to fix what it cannot. The last line is the
    verdict: what can be measured here, and what cannot.

    With --meters, read each node meter, and show its value, its age, the rate and the clock.

    With --sensor, load each board in pulses for 94 s, and show refresh period, averaging window and
    delay of its power and its energy counter.
    """
    from harness.doctor import examine
    from harness.meter_checks import examine_meters
    from harness.verdict import checks_to_json, format_check, format_verdict

    if system is not None and meters is None:
        raise click.UsageError("--system: give it with --meters")
    if sensor_directory is not None:
        if meters is not None:
            raise click.UsageError("--sensor reads no node meters; leave out --meters")
        if as_json:
            raise click.UsageError("--sensor writes files of its own; leave out --json")
        from rich.console import Console

        from harness.sensor.command import examine_sensors

        with report_errors():
            for text in examine_sensors(meter, sensor_directory):
                Console(width=80).print(text, soft_wrap=isinstance(text, str))
        return
    checks = list(examine(meter) if meters is None else examine_meters(meters, system))
    if as_json:
        click.echo(json.dumps(checks_to_json(checks), indent=1, ensure_ascii=False))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
        for check in checks:
            text, colour = format_check(check, width), MARK_COLOURS[check.ok]
            click.echo(click.style(text[:2], fg=colour) + text[2:], color=colour_mode())
        click.echo(format_verdict(checks, width))
    sys.exit(1 if any(check.ok is False for check in checks) else 0)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
def workloads(as_json: bool) -> None:
    """List the workloads of the rule book."""
    from rules.workloads import workloads as list_workloads

    if as_json:
        names = ("id", "title", "item", "stack", "variants", "implementation")
        listed = [{name: getattr(w, name) for name in names} for w in list_workloads().values()]
        document = {"format": "wattmark-workloads/1", "workloads": listed}
        click.echo(json.dumps(document, default=dict, ensure_ascii=False, indent=1))
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
    for workload in list_workloads().values():
        variants = ", ".join(
            name if name.endswith(precision) else f"{name} ({precision})"
            for name, precision in workload.variants.items()
        )
        click.echo(f"{workload.id}: {workload.title}")
        for name, text in (
            ("item", f"{workload.item}, stack {workload.stack}"),
            ("variants", variants),
            ("code", workload.implementation or "none yet"),
        ):
            line = f"  {name:<9}{text}"
            lines = wrap(line, width, subsequent_indent=" " * 11, break_on_hyphens=False)
            click.echo("\n".join(lines))


@main.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script with which SHELL completes the three programs (docs/install.md)."""
    click.echo(format_script(shell), nl=False)


main.add_command(sweep)
main.add_command(study)
main.add_command(power_log)
main.add_command(attach_power)
main.add_command(observe)
main.add_command(rating)
main.add_command(export)


def start() -> NoReturn:
    """Run `bench-submit` with the arguments of the process."""
    run_program(main, "bench-submit", sys.argv[1:])


if __name__ == "__main__":
    start()
