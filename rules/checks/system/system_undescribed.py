"""The system is not described

## What it does
Checks that the name, site, cooling and interconnect in system.json, the CPU of every node and the
vendor of every accelerator have a value. If something is not known, write "not stated". An empty
text, a dash or "TODO" is not a value.

## Why it is bad
Readers compare systems. Air or water cooling and the interconnect of the boards explain power
differences of several per cent. It is a warning, because the run itself is valid.

## What to do
Describe the system in a TOML file and pass it to `bench-submit` with `--system`.

## Source
Bundle format, system.json.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "M114", Severity.WARNING, standings=("closed", "open", "control"), added="1.3.0"
)

PLACEHOLDERS = {"", "-", "?", "n/a", "todo", "tbd", "fixme", "xxx"}
"""Texts that are not a value, in lower case."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    system = bundle.system_declaration
    texts = {
        "/name": system.name,
        "/site": system.site,
        "/cooling": system.cooling,
        "/interconnect": system.interconnect,
    }
    for node in system.nodes:
        texts[f"{node.pointer}/cpu"] = node.cpu
        for accelerator in node.accelerators:
            texts[f"{accelerator.pointer}/vendor"] = accelerator.vendor
    for pointer, text in texts.items():
        # The schema requires the keys, so an empty description is the usual way to omit one.
        if text.strip().lower() in PLACEHOLDERS:
            yield Violation(SYSTEM, pointer, repr(text), "a description, or: not stated")
