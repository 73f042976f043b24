"""Mutations that the rule `too-many-parts` must find."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

from rules.bundle_format.records import Json
from rules.checks.form.too_many_parts import RULE
from rules.testing.case import tampering


def append_rows(table: Path, rows: str) -> None:
    text = gzip.decompress(table.read_bytes())
    table.write_bytes(gzip.compress(text + rows.encode(), mtime=0))


def edit_json(path: Path, edit: Callable[[Json], object]) -> None:
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))


@tampering(RULE, reseal=True)
def many_epochs(directory: Path) -> None:
    rows = "".join(f"{epoch},0,0,1,2,1\n" for epoch in range(400_000))
    append_rows(directory / "batches.csv.gz", rows)


@tampering(RULE, reseal=True)
def epoch_1000(directory: Path) -> None:
    append_rows(directory / "batches.csv.gz", "1000,0,0,1,2,1\n")


@tampering(RULE, reseal=True)
def rank_512(directory: Path) -> None:
    append_rows(directory / "batches.csv.gz", "1,0,512,1,2,1\n")


@tampering(RULE, reseal=True)
def pairs_of_epoch_and_rank(directory: Path) -> None:
    rows = "".join(f"{epoch},0,{rank},1,2,1\n" for epoch in range(17) for rank in range(500))
    append_rows(directory / "batches.csv.gz", rows)


@tampering(RULE, reseal=True)
def accelerators_in_samples(directory: Path) -> None:
    rows = "".join(f"1,1,node0,GPU-{n},,,,,,,,,,,,ok\n" for n in range(513))
    append_rows(directory / "samples.csv.gz", rows)


@tampering(RULE, reseal=True)
def different_statuses(directory: Path) -> None:
    rows = "".join(f"1,1,node0,GPU-0,,,,,,,,,,,,failed {n}\n" for n in range(513))
    append_rows(directory / "samples.csv.gz", rows)


@tampering(RULE, reseal=True)
def accelerators_of_a_node(directory: Path) -> None:
    def repeat(system: Json) -> None:
        system["nodes"][0]["accelerators"] *= 513

    edit_json(directory / "system.json", repeat)


@tampering(RULE, reseal=True)
def accelerators_of_a_rank(directory: Path) -> None:
    def repeat(result: Json) -> None:
        result["ranks"][0]["accelerators"] *= 513

    edit_json(directory / "result.json", repeat)


@tampering(RULE, reseal=True)
def readbacks(directory: Path) -> None:
    def repeat(result: Json) -> None:
        result["readbacks"] = result["readbacks"][:1] * 8_193

    edit_json(directory / "result.json", repeat)
