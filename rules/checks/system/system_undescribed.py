"""A system that is not described

## What it does
Asks that the site, cooling and interconnect of system.json, and the CPU and vendor of every node
and accelerator, say something. Where something is not known, "not stated" says so; an empty text, a
dash or "TODO" does not.

## Why it is bad
A reader compares systems. Whether one is cooled by water or air, and how its boards are connected,
explains differences of several per cent in power. The run itself is sound, hence a warning.

## What to do
Describe the system in a TOML file and hand it to `bench-submit` with `--system`.

## Source
Bundle format, system.json.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M114", Severity.WARNING, standings=("closed", "open"), added="1.3.0")

NOTHING = {"", "-", "?", "n/a", "todo", "tbd", "fixme", "xxx"}


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    system = bundle.system
    stated = {f"/{key}": system[key] for key in ("name", "site", "cooling", "interconnect")}
    for n, node in enumerate(system["nodes"]):
        stated[f"/nodes/{n}/cpu"] = node["cpu"]
        stated |= {
            f"/nodes/{n}/accelerators/{a}/vendor": own["vendor"]
            for a, own in enumerate(node["accelerators"])
        }
    for pointer, text in stated.items():
        if text.strip().lower() in NOTHING:
            message = (
                "Readers cannot tell what this system is. Describe it in the file of --system."
            )
            yield Violation(SYSTEM, pointer, repr(text), "a description, or: not stated", message)
