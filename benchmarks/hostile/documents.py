"""Hostile logs, events and JSON documents."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile.cases import CASES, MIB, ROOT, add_case, edit_json, set_accelerators, write_packed

# Log and events


@add_case("60 MiB of line breaks as log")
def blank_log(bundle: Path) -> None:
    write_packed(bundle / "log.txt.gz", b"\n" * (60 * MIB))


@add_case("the most lines of log")
def most_lines(bundle: Path) -> None:
    write_packed(bundle / "log.txt.gz", b"/home/x a.b.c@d.e.local\n" * 499_999)


@add_case("60 MiB of log that looks like host names")
def names_in_log(bundle: Path) -> None:
    write_packed(bundle / "log.txt.gz", b"a.b.c@d.e.local /home/x" * (60 * MIB // 23))


@add_case("60 MiB of log of almost host names")
def almost_names_in_log(bundle: Path) -> None:
    write_packed(bundle / "log.txt.gz", b"a" * 100 + b".ac.@" + b"a-" * (30 * MIB))


@add_case("31 MiB of events")
def many_events(bundle: Path) -> None:
    write_packed(bundle / "events.jsonl.gz", b"{}\n" * (31 * MIB // 3))


@add_case("as many good events as fit")
def good_events(bundle: Path) -> None:
    source = next(ROOT.glob("submissions/reference/h200/*/events.jsonl.gz"))
    line = gzip.decompress(source.read_bytes()).splitlines(keepends=True)[1]
    write_packed(bundle / "events.jsonl.gz", line * min(31 * MIB // len(line), 32_768))


@add_case("one event of 31 MiB")
def long_event(bundle: Path) -> None:
    write_packed(bundle / "events.jsonl.gz", b'{"x-a":[' + b"{}," * (10 * MIB) + b"{}]}\n")


# JSON


def add_extension(make_text: Callable[[], bytes]) -> Callable[[Path], None]:
    """A valid environment.json with this text as the value of an extension."""

    def extend(bundle: Path) -> None:
        path = bundle / "environment.json"
        raw = path.read_bytes().strip()
        path.write_bytes(raw[:-1].rstrip() + b',"x-a":' + make_text() + b"}")

    return extend


EXTENSIONS = {
    "15 MiB of empty objects": lambda: b"[" + b"{}," * (5 * MIB) + b"{}]",
    "15 MiB of empty lists": lambda: b"[" + b"[]," * (5 * MIB) + b"[]]",
    "15 MiB of digits as a number": lambda: b"1" * (15 * MIB),
    "15 MiB of digits as a fraction": lambda: b"0." + b"1" * (15 * MIB),
    "15 MiB of numbers": lambda: b"[" + b"1," * (7 * MIB) + b"1]",
    "15 MiB of one text": lambda: b'"' + b"a" * (15 * MIB) + b'"',
    "15 MiB of escapes": lambda: b'"' + rb"\u0000" * (15 * MIB // 6) + b'"',
    "1 000 000 keys": lambda: b"{" + b",".join(b'"%d":1' % n for n in range(1_000_000)) + b"}",
    "15 MiB of brackets": lambda: b"[" * (15 * MIB),
    "the most values: numbers": lambda: b"[" + b"1," * 490_000 + b"1]",
    "the most values: objects": lambda: b"[" + b"{}," * 240_000 + b"{}]",
    "the most values: host names": lambda: (
        b"[" + b",".join(b'"a%d.b.local"' % n for n in range(490_000)) + b"]"
    ),
    "900 levels": lambda: b"[" * 900 + b"]" * 900,
    "texts with host names": lambda: (
        b"[" + b",".join(b'"a%d.b.local"' % n for n in range(700_000)) + b"]"
    ),
}
CASES |= {
    f"JSON: {name}": (add_extension(make_text), False) for name, make_text in EXTENSIONS.items()
}


@add_case("JSON: 100 000 accelerators in system.json")
def accelerators_in_system(bundle: Path) -> None:
    set_accelerators(bundle, 60_000, 1)


@add_case("JSON: 60 000 readbacks")
def many_readbacks(bundle: Path) -> None:
    def edit(result: Any) -> None:
        result["readbacks"] = result["readbacks"][:1] * 60_000

    edit_json(bundle / "result.json", edit)


@add_case("JSON: the most readbacks")
def most_readbacks(bundle: Path) -> None:
    def edit(result: Any) -> None:
        result["readbacks"] = result["readbacks"][:1] * 8_192

    edit_json(bundle / "result.json", edit)


@add_case("JSON: the most readbacks, the last with an offence")
def late_offence_in_result(bundle: Path) -> None:
    def edit(result: Any) -> None:
        result["readbacks"] = result["readbacks"][:1] * 8_191 + [{}]

    edit_json(bundle / "result.json", edit)


@add_case("JSON: 1 000 epochs of 1 000 accelerators")
def epochs_in_result(bundle: Path) -> None:
    def edit(result: Any) -> None:
        epoch = result["epochs"][1]
        epoch["accelerators"] = [{"a": 1}] * 1_000
        result["epochs"] = [epoch] * 1_000

    edit_json(bundle / "result.json", edit)


@add_case("JSON: 60 000 trials of batch sizes")
def batch_trials(bundle: Path) -> None:
    trial = {"batch_size": 1, "outcome": "ok", "items_per_s": 1, "peak_memory_bytes": 1}

    def edit(result: Any) -> None:
        result["settings"]["batch_search"] = [trial] * 60_000

    edit_json(bundle / "result.json", edit)


@add_case("JSON: 100 000 settings")
def many_settings(bundle: Path) -> None:
    def edit(result: Any) -> None:
        result["implementation"]["settings"] = {f"{n}": "x.local" for n in range(100_000)}

    edit_json(bundle / "result.json", edit)


@add_case("JSON: 100 000 options and then an offence")
def many_options(bundle: Path) -> None:
    def edit(result: Any) -> None:
        result["settings"]["options"] = {f"{n}": "x" for n in range(100_000)} | {"z": 1}

    edit_json(bundle / "result.json", edit)


@add_case("JSON: names of 4 096 characters")
def long_names(bundle: Path) -> None:
    def edit(system: Any) -> None:
        system["name"] = system["site"] = "n" * 4_096

    edit_json(bundle / "system.json", edit)
