"""Bundles that are made to exhaust the checker: by name, what alters a good bundle."""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_MIB = 2**20
MOST_ROWS = 500_000
"""Of a table: the limit of `rules/bundle_format/csv_table.py`."""
SAMPLES_HEADER = (
    "scheduled_ns,read_ns,node,accelerator,power_mw,power_avg_mw,energy_mj,sm_mhz,mem_mhz,temp_c,"
    "mem_temp_c,power_state,slowdown,util_pct,cap_mw,status\n"
)
BATCHES_HEADER = "epoch,batch,rank,start_ns,end_ns,items\n"
REQUESTS_HEADER = "epoch,request,rank,sent_ns,first_ns,end_ns,prompt_tokens,output_tokens\n"
CASES: dict[str, tuple[Callable[[Path], None], bool]] = {}
"""By name: what alters the bundle in a directory, and whether signatures are verified."""


def add_case(
    name: str, signed: bool = False
) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    """Register the function that makes the case `name`."""

    def mark(function: Callable[[Path], None]) -> Callable[[Path], None]:
        CASES[name] = (function, signed)
        return function

    return mark


# Helpers


def write_packed(path: Path, *parts: bytes) -> None:
    path.write_bytes(gzip.compress(b"".join(parts), 1, mtime=0))


def edit_json(path: Path, edit: Callable[[Any], None]) -> None:
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document, separators=(",", ":")))


def write_table(path: Path, header: str, row: Callable[[int], str], count: int) -> None:
    write_packed(path, header.encode(), "".join(row(n) for n in range(count)).encode())


def make_sample(n: int, accelerator: str, status: str = "ok") -> str:
    time_ns = 10**12 + n * 1_000_000
    return (
        f"{time_ns},{time_ns},node0,{accelerator},690000,690000,{n},1500,3201,50,50,P0,0,99,700000,"
        f"{status}\n"
    )


def make_batch(epoch: int, rank: int, n: int, begin_ns: int = 10**12, step_ns: int = 1_000) -> str:
    start_ns = begin_ns + n * step_ns
    return f"{epoch},{n},{rank},{start_ns},{start_ns + step_ns * 9 // 10},64\n"


def make_request(n: int, sent_ns: int, latency_ns: int) -> str:
    epoch = n * 11 // MOST_ROWS
    return f"{epoch},{n},0,{sent_ns},{sent_ns + 9},{sent_ns + latency_ns},1024,512\n"


def set_accelerators(bundle: Path, count: int, ranks: int) -> list[str]:
    """Let system.json and result.json name so many accelerators, shared evenly by so many ranks."""
    names = [f"GPU-{n:08x}" for n in range(count)]

    def edit_system(system: Any) -> None:
        (first, *_) = system["nodes"][0]["accelerators"]
        system["nodes"] = system["nodes"][:1]
        system["nodes"][0]["accelerators"] = [first | {"uuid": name} for name in names]

    def edit_result(result: Any) -> None:
        share = count // ranks
        node = result["ranks"][0]["node"]
        result["ranks"] = [
            {"rank": r, "node": node, "accelerators": names[r * share : (r + 1) * share]}
            for r in range(ranks)
        ]

    edit_json(bundle / "system.json", edit_system)
    edit_json(bundle / "result.json", edit_result)
    return names


def write_run(bundle: Path, accelerators: int, ranks: int, epochs: int, rows: int) -> None:
    """A whole run of so many parts: all accelerators are sampled, all ranks work in all epochs."""
    names = set_accelerators(bundle, accelerators, ranks)
    ticks = rows // accelerators
    # The steps of all accelerators are equal, so the times of each rise.
    step_ns = 100_000_000
    lines = [
        f"{10**12 + tick * step_ns},{10**12 + tick * step_ns + 1000 * i},node0,{name},690000,"
        f"690000,{tick * 69_000},1500,3201,50,50,P0,0,99,700000,ok\n"
        for tick in range(ticks)
        for i, name in enumerate(names)
    ]
    write_packed(bundle / "samples.csv.gz", SAMPLES_HEADER.encode(), "".join(lines).encode())
    span_ns = (ticks - 2) * step_ns // epochs
    lines = [
        f"{epoch},{epoch},{rank},{begin_ns},{begin_ns + span_ns - 1000},64\n"
        for epoch in range(epochs)
        for begin_ns in (10**12 + step_ns + epoch * span_ns,)
        for rank in range(ranks)
    ]
    write_packed(bundle / "batches.csv.gz", BATCHES_HEADER.encode(), "".join(lines).encode())


# Directories


@add_case("directories 1 500 levels deep")
def nest_directories(bundle: Path) -> None:
    descriptor = os.open(bundle.parent, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)


@add_case("20 000 hidden directories")
def hide_directories(bundle: Path) -> None:
    for n in range(20_000):
        (bundle.parent / f".{n}").mkdir()


@add_case("100 000 files beside the evidence")
def add_files(bundle: Path) -> None:
    for n in range(100_000):
        (bundle / f"{n}").touch()


@add_case("20 000 files of reviews", signed=True)
def add_reviews(bundle: Path) -> None:
    (bundle / "signatures").mkdir(exist_ok=True)
    signature = next((bundle / "signatures").glob("submission.*.sig")).read_bytes()
    for n in range(10_000):
        (bundle / f"signatures/review.r{n}@example.org.sig").write_bytes(signature)
        (bundle / f"signatures/review.r{n}@example.org.json").write_text("{}")


@add_case("5 000 submitters' signatures", signed=True)
def add_submitters(bundle: Path) -> None:
    signature = next((bundle / "signatures").glob("submission.*.sig")).read_bytes()
    for n in range(5_000):
        (bundle / f"signatures/submission.reference{n}@example.org.sig").write_bytes(signature)


# Tables


@add_case("3 000 000 epochs")
def many_epochs(bundle: Path) -> None:
    write_table(bundle / "batches.csv.gz", BATCHES_HEADER, lambda n: make_batch(n, 0, n), 3_000_000)


@add_case("499 991 epochs")
def fewer_epochs(bundle: Path) -> None:
    write_table(
        bundle / "batches.csv.gz", BATCHES_HEADER, lambda n: make_batch(n, 0, n), MOST_ROWS - 9
    )


@add_case("1 000 000 pairs of epoch and rank")
def many_pairs(bundle: Path) -> None:
    write_table(
        bundle / "batches.csv.gz",
        BATCHES_HEADER,
        lambda n: make_batch(n // 1000, n % 1000, n),
        1_000_000,
    )


@add_case("1 000 000 accelerators in samples")
def many_accelerators(bundle: Path) -> None:
    write_table(
        bundle / "samples.csv.gz", SAMPLES_HEADER, lambda n: make_sample(n, f"G{n}"), MOST_ROWS
    )


@add_case("1 000 000 different statuses")
def many_statuses(bundle: Path) -> None:
    write_table(
        bundle / "samples.csv.gz", SAMPLES_HEADER, lambda n: make_sample(n, "G", f"s{n}"), MOST_ROWS
    )


@add_case("most rows of samples")
def most_samples(bundle: Path) -> None:
    (name,) = set_accelerators(bundle, 1, 1)
    write_table(
        bundle / "samples.csv.gz", SAMPLES_HEADER, lambda n: make_sample(n, name), MOST_ROWS
    )


@add_case("most rows of batches")
def most_batches(bundle: Path) -> None:
    write_table(
        bundle / "batches.csv.gz",
        BATCHES_HEADER,
        lambda n: make_batch(n * 11 // MOST_ROWS, 0, n),
        MOST_ROWS,
    )


@add_case("most rows of requests")
def most_requests(bundle: Path) -> None:
    write_table(
        bundle / "requests.csv.gz",
        REQUESTS_HEADER,
        lambda n: make_request(n, 10**12 + n, 99),
        MOST_ROWS,
    )


@add_case("most rows of all tables of a server")
def most_rows(bundle: Path) -> None:
    server = next(ROOT.glob("submissions/reference/h200/*serve*"))
    for file in server.iterdir():
        if file.is_file():
            shutil.copy(file, bundle)
    write_run(bundle, 1, 1, 11, MOST_ROWS)
    begin_ns = 10**12 + 10**9
    write_table(
        bundle / "batches.csv.gz",
        BATCHES_HEADER,
        lambda n: make_batch(n * 11 // MOST_ROWS, 0, n, begin_ns, 90_000_000),
        MOST_ROWS,
    )
    write_table(
        bundle / "requests.csv.gz",
        REQUESTS_HEADER,
        lambda n: make_request(n, begin_ns + n * 90_000_000, 85_000_000),
        MOST_ROWS,
    )


@add_case("shortest rows of samples, up to the largest size")
def short_samples(bundle: Path) -> None:
    write_packed(
        bundle / "samples.csv.gz", SAMPLES_HEADER.encode(), b"1,1,n,G,,,,,,,,,,,,k\n" * 3_900_000
    )


@add_case("one cell of 90 MiB")
def long_cell(bundle: Path) -> None:
    write_packed(
        bundle / "samples.csv.gz",
        SAMPLES_HEADER.encode(),
        b"1,1,n,G,,,,,,,,,,,,",
        b"k" * (90 * _MIB),
        b"\n",
    )


@add_case("a row of 90 MiB of commas")
def wide_row(bundle: Path) -> None:
    write_packed(bundle / "samples.csv.gz", SAMPLES_HEADER.encode(), b"," * (90 * _MIB), b"\n")


@add_case("quoted cells in every row")
def quoted_cells(bundle: Path) -> None:
    write_table(
        bundle / "samples.csv.gz",
        SAMPLES_HEADER,
        lambda n: make_sample(n, '"G"'),
        MOST_ROWS - 9,
    )


@add_case("an offence in the last row")
def late_offence(bundle: Path) -> None:
    write_table(
        bundle / "samples.csv.gz",
        SAMPLES_HEADER,
        lambda n: make_sample(n, "G") if n < MOST_ROWS - 10 else "x\n",
        MOST_ROWS - 9,
    )


@add_case("statuses of 2 000 characters")
def long_statuses(bundle: Path) -> None:
    write_table(
        bundle / "samples.csv.gz",
        SAMPLES_HEADER,
        lambda n: make_sample(n, "G", f"{n:02000}"),
        60_000,
    )


# The largest run that the limits allow, in several proportions


@add_case("1 024 accelerators in 11 epochs")
def largest_run(bundle: Path) -> None:
    write_run(bundle, 1_024, 1_024, 11, MOST_ROWS)


@add_case("1 024 accelerators in 16 epochs")
def most_parts(bundle: Path) -> None:
    write_run(bundle, 1_024, 1_024, 16, MOST_ROWS)


@add_case("1 024 accelerators of one rank in 16 epochs")
def most_parts_of_one_rank(bundle: Path) -> None:
    write_run(bundle, 1_024, 1, 16, MOST_ROWS)


@add_case("16 accelerators in 1 000 epochs")
def many_epochs_of_a_node(bundle: Path) -> None:
    write_run(bundle, 16, 16, 1_000, MOST_ROWS)


@add_case("1 accelerator in 1 000 epochs")
def many_epochs_of_a_board(bundle: Path) -> None:
    write_run(bundle, 1, 1, 1_000, MOST_ROWS)


# Log and events


@add_case("60 MiB of line breaks as log")
def blank_log(bundle: Path) -> None:
    write_packed(bundle / "log.txt.gz", b"\n" * (60 * _MIB))


@add_case("60 MiB of log that looks like host names")
def names_in_log(bundle: Path) -> None:
    write_packed(bundle / "log.txt.gz", b"a.b.c@d.e.local /home/x" * (60 * _MIB // 23))


@add_case("60 MiB of log of almost host names")
def almost_names_in_log(bundle: Path) -> None:
    write_packed(bundle / "log.txt.gz", b"a" * 100 + b".ac.@" + b"a-" * (30 * _MIB))


@add_case("31 MiB of events")
def many_events(bundle: Path) -> None:
    write_packed(bundle / "events.jsonl.gz", b"{}\n" * (31 * _MIB // 3))


@add_case("as many good events as fit")
def good_events(bundle: Path) -> None:
    source = next(ROOT.glob("submissions/reference/h200/*/events.jsonl.gz"))
    line = gzip.decompress(source.read_bytes()).splitlines(keepends=True)[1]
    write_packed(bundle / "events.jsonl.gz", line * min(31 * _MIB // len(line), 32_768))


@add_case("one event of 31 MiB")
def long_event(bundle: Path) -> None:
    write_packed(bundle / "events.jsonl.gz", b'{"x-a":[' + b"{}," * (10 * _MIB) + b"{}]}\n")


# JSON


def add_extension(make_text: Callable[[], bytes]) -> Callable[[Path], None]:
    """A valid environment.json with this text as the value of an extension."""

    def extend(bundle: Path) -> None:
        path = bundle / "environment.json"
        raw = path.read_bytes().strip()
        path.write_bytes(raw[:-1].rstrip() + b',"x-a":' + make_text() + b"}")

    return extend


EXTENSIONS = {
    "15 MiB of empty objects": lambda: b"[" + b"{}," * (5 * _MIB) + b"{}]",
    "15 MiB of empty lists": lambda: b"[" + b"[]," * (5 * _MIB) + b"[]]",
    "15 MiB of digits as a number": lambda: b"1" * (15 * _MIB),
    "15 MiB of digits as a fraction": lambda: b"0." + b"1" * (15 * _MIB),
    "15 MiB of numbers": lambda: b"[" + b"1," * (7 * _MIB) + b"1]",
    "15 MiB of one text": lambda: b'"' + b"a" * (15 * _MIB) + b'"',
    "15 MiB of escapes": lambda: b'"' + rb"\u0000" * (15 * _MIB // 6) + b'"',
    "1 000 000 keys": lambda: b"{" + b",".join(b'"%d":1' % n for n in range(1_000_000)) + b"}",
    "15 MiB of brackets": lambda: b"[" * (15 * _MIB),
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


@add_case("JSON: 30 000 readbacks")
def most_readbacks(bundle: Path) -> None:
    def edit(result: Any) -> None:
        result["readbacks"] = result["readbacks"][:1] * 30_000

    edit_json(bundle / "result.json", edit)


@add_case("JSON: 30 000 readbacks and then an offence")
def late_offence_in_result(bundle: Path) -> None:
    def edit(result: Any) -> None:
        result["readbacks"] = result["readbacks"][:1] * 30_000 + [{}]

    edit_json(bundle / "result.json", edit)


@add_case("JSON: 1 000 epochs of 1 000 accelerators")
def epochs_in_result(bundle: Path) -> None:
    def edit(result: Any) -> None:
        epoch = result["epochs"][1]
        epoch["accelerators"] = [{"a": 1}] * 1_000
        result["epochs"] = [epoch] * 1_000

    edit_json(bundle / "result.json", edit)


@add_case("JSON: 200 000 trials of batch sizes")
def batch_trials(bundle: Path) -> None:
    trial = {"batch_size": 1, "outcome": "ok", "items_per_s": 1, "peak_memory_bytes": 1}

    def edit(result: Any) -> None:
        result["settings"]["batch_search"] = [trial] * 200_000

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
