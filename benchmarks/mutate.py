"""Ways of mutating a submission: bytes, JSON documents by their structure, tables by cell, row and
column, and the directories that hold them."""

import contextlib
import gzip
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from rules.bundle_format.files import MAX_BYTES
from rules.bundle_format.records import MANIFEST_FILE

NUMBERS = (
    0,
    1,
    -1,
    2,
    7,
    255,
    65535,
    2**31,
    2**32 - 1,
    2**53,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63),
    10**30,
    0.0,
    -0.0,
    0.5,
    1e-300,
    1e15,
    1e300,
    float("nan"),
    float("inf"),
)
TEXTS = (
    "",
    " ",
    "a",
    "é",
    "\x00",
    "\x1b[2J",
    "\ud800",
    "../../etc/passwd",
    "/etc/passwd",
    "2026-02-30T00:00:00Z",
    "9" * 400,
    "A" * 70000,
    "n" * 4096,
    "\u202e\u061c\u200b",
    " =1+1",
    "\uff1d1+1;=1+1",
    "closed",
    "open",
    "demo",
    "1.0",
    "9.9",
    "epoch-3",
    "before",
    "NVIDIA",
    "AMD",
    "simulated",
)
CELLS = (
    b"",
    b"0",
    b"-1",
    b"1",
    b"nan",
    b"inf",
    b"1e3",
    b"1.5",
    b'"',
    b'"1"',
    b"a,b",
    b"9007199254740993",
    b"P0",
    b"ok",
    b"9223372036854775807",
    b"99999999999999999999",
    b"\xff",
    b"\x00",
    b"\r",
    b" 1",
    b"\xc2\xa0",
    b"65535",
    b"4294967295",
)


def mutate_bytes(raw: bytes, random: Random) -> bytes:
    mutated = bytearray(raw)
    for _ in range(random.choice((1, 1, 2, 8))):
        start, length = random.randrange(len(mutated) + 1), random.choice((1, 2, 16, 400))
        part = mutated[start : start + length]
        action = random.randrange(5)
        if action == 0 and part:
            mutated[start] ^= 1 << random.randrange(8)
        elif action == 1:
            mutated[start : start + length] = b""
        elif action == 2:
            mutated[start:start] = random.randbytes(length)
        elif action == 3:
            mutated[start:start] = part * random.choice((1, 50))
        elif action == 4:
            del mutated[start:]
    return bytes(mutated)


def list_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values inside a JSON value."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(deeper for key, part in inner for deeper in list_paths(part, (*path, key)))]


def make_hostile_value(random: Random) -> Any:
    kind = random.randrange(6)
    if kind == 0:
        return random.choice(TEXTS)
    if kind == 1:
        return random.choice((None, True, False, [], {}, [[]], [None] * 500, {"a": {}}, [{}] * 3))
    return random.choice(NUMBERS)


def alter_value(value: Any, random: Random) -> Any:
    """A value of the same type: what a schema lets through."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice(
            (
                0,
                1,
                value + 1,
                value - 1,
                -value,
                value * 10,
                value * 1000,
                value // 2,
                2**53,
                10**15,
            )
        )
    if isinstance(value, float):
        return random.choice(
            (0.0, -value, value * 1e3, value / 3600, value * (1 + 1e-9), 1e300, 5e-324)
        )
    if isinstance(value, str):
        return random.choice((value[:-1], value + value, value.upper(), *TEXTS))
    if isinstance(value, list):
        return random.choice(([], value[:-1], value + value, value[::-1], value[:1]))
    return dict(list(value.items())[:-1]) if value else make_hostile_value(random)


def lengthen_list(value: Any, random: Random) -> None:
    """Repeat the entries of one list inside a JSON value, up to the size limit of a document:
    nothing larger reaches the code that reads documents."""
    lists = []
    for path in list_paths(value):
        part = value
        for key in path:
            part = part[key]
        if isinstance(part, list) and part:
            lists.append(part)
    if lists:
        longer = random.choice(lists)
        most_repeats = (MAX_BYTES[MANIFEST_FILE] - len(json.dumps(value))) // len(
            json.dumps(longer)
        )
        longer *= max(1, min(20 * choose_count(random) // len(longer), most_repeats))


def mutate_json(raw: bytes, random: Random) -> bytes:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return mutate_bytes(raw, random)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        *path, last_key = random.choice(list_paths(value)[1:] or [()]) or (None,)
        if last_key is None:
            return json.dumps(make_hostile_value(random)).encode()
        parent = value
        for key in path:
            parent = parent[key]
        action = random.randrange(8)
        if action == 0:
            del parent[last_key]
        elif action == 1:
            parent[last_key] = make_hostile_value(random)
        elif action == 2 and isinstance(parent, dict):
            parent[random.choice(("x-a", "format", "a", "", "loss", "A" * 300))] = (
                make_hostile_value(random)
            )
        elif action == 3:
            source = value
            for key in random.choice(list_paths(value)):
                source = source[key]
            parent[last_key] = json.loads(json.dumps(source))
        else:
            parent[last_key] = alter_value(parent[last_key], random)
    if random.random() < 0.03:
        lengthen_list(value, random)
    text = json.dumps(value, ensure_ascii=random.random() < 0.5)
    if random.random() < 0.05:
        text = text.replace(
            ":", random.choice((': 01, "a":', ":" + "[" * 3000, ': 1e999, "a":')), 1
        )
    return text.encode(errors="surrogatepass")


def mutate_table(raw: bytes, random: Random) -> bytes:
    """Cells, rows and columns of a CSV text, of the right form or not."""
    rows = [line.split(b",") for line in raw.rstrip(b"\n").split(b"\n")]
    for _ in range(random.choice((1, 1, 2, 4))):
        width, body = len(rows[0]), range(1, len(rows))
        column, action, share = (
            random.randrange(width),
            random.randrange(10),
            random.choice((0.01, 0.3, 1.0)),
        )
        places = [i for i in body if random.random() < share] or list(body)[:1]
        if action == 0 and places:
            rows[places[0]][column:][:1] = [random.choice(CELLS)]
            rows[places[0]][min(column, len(rows[places[0]]) - 1)] = random.choice(CELLS)
        elif action == 1:
            removed = set(places)
            rows = [row for i, row in enumerate(rows) if i == 0 or i not in removed]
        elif action == 2:
            rows += [rows[i] for i in places]
        elif action == 3:
            rows[1:] = random.sample(rows[1:], len(rows) - 1)
        elif action == 4:
            shift = random.choice((-(10**9), -1, 1, 10**9, 10**12))
            change_cells(
                rows, places, column, lambda cell, shift=shift: b"%d" % max(0, int(cell) + shift)
            )
        elif action == 5:
            factor = random.choice((0, 2, 10, 1000, 10**6))
            change_cells(
                rows, places, column, lambda cell, factor=factor: b"%d" % (int(cell) * factor)
            )
        elif action == 6:
            constant = random.choice(
                (*CELLS, *[row[min(column, len(row) - 1)] for row in rows[1:2]])
            )
            change_cells(rows, places, column, lambda _, constant=constant: constant)
        elif action == 7:
            other_column = random.randrange(width)
            for row in rows[1:]:
                if max(column, other_column) < len(row):
                    row[column], row[other_column] = row[other_column], row[column]
        elif action == 8 and places:
            rows += count_up(rows[places[0]], column, 20 * choose_count(random))
        else:
            rows = rows[: random.choice((1, 2, 3, len(rows) // 2 + 1))]
    return b"\n".join(map(b",".join, rows)) + random.choice((b"\n", b"\n", b"\n", b"", b"\n\n"))


def choose_count(random: Random) -> int:
    """How often something is repeated: mostly once, rarely a thousand times."""
    return random.choice((1, 1, 1, 1, 60, 60, 1_000) if random.random() < 0.3 else (1,))


def count_up(row: list[bytes], column: int, count: int) -> list[list[bytes]]:
    """Copies of a row with other numbers in one column: epochs, ranks, accelerators or statuses."""
    return [[*row[:column], b"%d" % n, *row[column + 1 :]] for n in range(count)]


def mutate_lines(raw: bytes, random: Random) -> bytes:
    """A text of one JSON document per line, with one line mutated, and all lines repeated."""
    lines = raw.splitlines(keepends=True) or [b"{}"]
    number = random.randrange(len(lines))
    lines[number] = mutate_json(lines[number], random) + b"\n"
    return b"".join(lines * random.choice((1, 1, 2, 20)))


def change_cells(
    rows: list[list[bytes]], places: list[int], column: int, convert: Callable[[bytes], bytes]
) -> None:
    """Change the cells of a column in some rows; `to` may raise ValueError for what is no
    number."""
    for i in places:
        with contextlib.suppress(ValueError):
            if i < len(rows) and column < len(rows[i]):
                rows[i] = [*rows[i][:column], convert(rows[i][column]), *rows[i][column + 1 :]]


def mutate_file(name: str, raw: bytes, random: Random) -> bytes:
    if random.random() < 0.1:
        return mutate_bytes(raw, random)
    if name.endswith(".gz"):
        try:
            text = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error):  # it was mutated before
            return mutate_bytes(raw, random)
        if "log.txt" in name or random.random() < 0.1:
            mutated = mutate_bytes(text, random) * choose_count(random)
        elif name.endswith(".jsonl.gz"):
            mutated = mutate_lines(text, random)
        else:
            mutated = mutate_table(text, random)
        return gzip.compress(mutated, 1, mtime=0)
    if name.endswith(".json"):
        return mutate_json(raw, random)
    if Path(name).name == "LOG":
        return mutate_lines(raw, random)
    if Path(name).name in ("allowed_signers", "revoked_signers"):
        words = re.split(rb"(\s+|,|\")", raw)
        words[random.randrange(len(words))] = random.choice(
            (b"", b'"', b"*", b"!", b"cert-authority", b"a@b", b"\n", b'valid-before="1"')
        )
        return b"".join(words)
    return mutate_bytes(raw, random)
