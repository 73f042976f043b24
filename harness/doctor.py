"""Checks what wattmark can do on this machine, and says what to do about the rest."""

import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from checker.command_line.config import (
    CONFIG_FILE,
    DEFAULT_OUT,
    FILE_KEYS,
    KEYS,
    ConfigError,
    SiteDefault,
    find_user_directory,
    list_config_files,
    read_site_defaults,
)
from harness.checks import (
    Check,
    TargetError,
    check_code,
    check_container,
    check_packages,
    check_signing,
    check_target,
)
from harness.errors import MeterError
from harness.power.caps.apply import explain_refusal
from harness.power.caps.journal import JOURNAL_FILE, Journal, is_locked
from harness.power.caps.lifetime import warn_of_state_directory
from harness.power.caps.limits import format_limit
from harness.power.caps.registry import explain_lost_journals, state_directories
from harness.power.meter_access import METERS_FILE, METERS_VARIABLE
from harness.power.source import Device, PowerSource, read_back
from harness.power.sources import measuring_meters, open_source
from harness.run.preflight import find_objections, read_first
from harness.system import EXTRAS, NVML_BINDING, find_nvml_binding
from rules.boards import counter_covers_module, expected_state


def examine(meter: str | None = None) -> Iterator[Check]:
    """All checks, in the order in which a submitter needs them; of the meters only `meter` if it is
    named."""
    yield Check("Python", True, platform.python_version())
    yield from _check_stacks()
    for name in measuring_meters() if meter is None else [meter]:
        yield from _check_meter(name, is_required=meter is not None)
    yield from _check_nvml_binding()
    yield from _check_journals()
    yield check_code()
    yield check_container()
    yield check_signing()
    yield from _check_site_defaults()


def _check_stacks() -> Iterator[Check]:
    """The stacks that are installed. One is enough, because their pinned versions conflict."""
    yield check_packages("torch", ("torch",))
    stacks = [check_packages(f"stack {name}", (name,)) for name in EXTRAS]
    is_enough = any(stack.ok for stack in stacks)
    yield from (replace(stack, ok=stack.ok or (None if is_enough else False)) for stack in stacks)


def _check_meter(name: str, is_required: bool) -> Iterator[Check]:
    try:
        source = open_source(name)
    except MeterError as error:
        yield Check(f"meter {name}", False if is_required else None, "cannot be used", str(error))
        return
    with closing(source):
        devices = source.devices()
        for device in devices:
            problems = list(find_objections(source, [device]))
            summary = f"{device.uuid}: {device.name}, {_describe_reading(source, device)}"
            yield Check(
                f"meter {name}",
                not problems,
                summary,
                "; ".join(problems),
                subject=device.name,
            )
        yield from _check_caps(name, source, devices)


def _describe_reading(source: PowerSource, device: Device) -> str:
    reading = read_first(source, device.uuid)
    power_mw = reading.power_avg_mw if reading.power_mw is None else reading.power_mw
    power = "-" if power_mw is None else f"{power_mw / 1e3:.0f} W"
    cap = "no cap" if reading.cap_mw is None else f"cap {format_limit(reading.cap_mw)}"
    counter = "no energy counter" if reading.energy_mj is None else "energy counter"
    if counter_covers_module(device.name):
        counter = "energy counter of the whole module, which is not used"
    state = expected_state(device.name, source.state)
    choice = f", computes in {state} by the driver's choice" if state != source.state else ""
    return f"{power}, {cap}, {counter}{choice}"


def _check_nvml_binding() -> Iterator[Check]:
    """Which distribution gives the module `pynvml`."""
    if (binding := find_nvml_binding()) is None:
        return
    found = f"{binding.name} {binding.version}" if binding.name else f"the file {binding.file}"
    if binding.name == NVML_BINDING:
        yield Check("NVML binding", True, found)
        return
    remedy = f"pip uninstall {binding.name}" if binding.name else "take it off the path"
    advice = f"it hides {NVML_BINDING}, and environment.json names it; {remedy}"
    yield Check("NVML binding", None, f"{found} is loaded for pynvml", advice)


def _check_caps(name: str, source: PowerSource, devices: Sequence[Device]) -> Iterator[Check]:
    """Whether `run --cap` can set a limit, without trying to."""
    readbacks = [read_back(source, device.uuid) for device in devices]
    ranges = [
        f"{format_limit(readback.min_mw)} to {format_limit(readback.max_mw)}, "
        f"default {format_limit(readback.default_mw)}"
        for readback in readbacks
        if readback.max_mw is not None
    ]
    if not ranges:
        return
    refusal = explain_refusal(name)
    result = (
        "may be set here" if refusal is None else "may not be set here; caps are measured as found"
    )
    yield Check(
        f"caps {name}",
        True if refusal is None else None,
        f"{'; '.join(dict.fromkeys(ranges))}; {result}",
        refusal or "",
    )
    if refusal is None and (warning := warn_of_state_directory(name)):
        yield Check("state directory", None, "the journal of limits may be lost", warning)


def _check_journals() -> Iterator[Check]:
    """Power limits that a run set and did not restore: a run that is running, or one that was
    killed together with its watchdog."""
    for directory in state_directories():
        try:
            journal = Journal.read(directory / JOURNAL_FILE)
        except MeterError as error:
            yield Check("limits set", False, "unknown", str(error))
            continue
        if journal is not None:
            boards = ", ".join(limit.uuid for limit in journal.accelerators)
            advice = (
                "that run is running"
                if is_locked(directory)
                else "that run is gone: bench-submit restore"
            )
            yield Check("limits set", False, f"{journal.owner}, on {boards}", advice)
    for text in explain_lost_journals():
        yield Check("limits set", False, "unknown", text)


def _check_site_defaults() -> Iterator[Check]:
    """The value of each option that config.toml may give, and where it comes from."""
    try:
        defaults = read_site_defaults()
    except ConfigError as error:
        yield Check(CONFIG_FILE, False, "cannot be used", str(error))
        return
    files = [f"{file} ({'read' if file.exists() else 'none'})" for file in list_config_files()]
    yield Check(CONFIG_FILE, True, ", ".join(reversed(files)))
    built_in = {"meters": find_user_directory() / METERS_FILE, "out": DEFAULT_OUT}
    for key in KEYS:
        default: SiteDefault | None = getattr(defaults, key)
        if key == "meters" and (path := os.environ.get(METERS_VARIABLE)):
            yield _check_default(key, path, METERS_VARIABLE)
        elif default is not None:
            yield _check_default(key, default.text, str(default.file))
        else:
            value = built_in.get(key)
            yield Check(f"--{key}", True, f"{value}, built in" if value else "not set")


def _check_default(key: str, text: str, origin: str) -> Check:
    if key in FILE_KEYS and not os.access(Path(text).expanduser(), os.F_OK):
        advice = f"write the file, or correct {key} in {origin}"
        return Check(f"--{key}", False, f"{text} is missing, from {origin}", advice)
    if key == "out":
        try:
            check_target(Path(text))
        except TargetError as error:
            return Check("--out", False, f"{text} takes no results, from {origin}", str(error))
    return Check(f"--{key}", True, f"{text}, from {origin}")
