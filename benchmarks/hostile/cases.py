"""The cases of benchmarks/hostile_bundles.py, and what makes them: tables and whole runs."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MIB = 2**20
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
