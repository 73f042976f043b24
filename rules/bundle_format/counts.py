"""How many epochs, ranks, accelerators, nodes, sessions and points a bundle may name (rule S111).

The time and memory of judging grow with these numbers. Small files can name millions of them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rules.bundle_format.files import Refused, build_refusal
from rules.bundle_format.records import Json
from rules.bundle_format.study_records import POINTS_FILE, STUDY_FILE
from rules.bundle_format.table import RESULT, SYSTEM, Table
from rules.rule_ids import TOO_MANY_PARTS

MAX_EPOCHS = 1_000
"""Protocol 1.0 has 11 epochs. A thousand epochs of 30 s take more than eight hours."""
MAX_ACCELERATORS = 512
"""64 nodes of eight boards. The largest run so far has four boards."""
MAX_RANKS = MAX_NODES = MAX_ACCELERATORS
"""A rank and a node have at least one accelerator."""
MAX_PARTS = 8_192
"""Pairs of epoch and accelerator. 512 accelerators in 11 epochs are 5 632."""
MAX_READBACKS = MAX_PARTS
"""A run reads the limits of each accelerator back before it, after each epoch and at its end. For
512 accelerators in 11 epochs these are 6 656 readbacks."""
MAX_METERS = MAX_FEEDS = MAX_NODES
"""A node has a few feeds, and a meter has at least one."""
MAX_TEXTS = MAX_ACCELERATORS
"""Different texts in a column of a table. Accelerators are the most numerous."""
MAX_ARCHITECTURES = 4_096
"""Different texts in the column of architectures. timm has 900 with published accuracy."""
MAX_SESSIONS = 128
"""All 1 193 models and sizes in two setups take 120 sessions of 20 minutes."""
MAX_WORK = 2_400
"""Entries of a study. All models and sizes in two setups are 2 386."""
MAX_POINTS = 40_000
"""Each of `MAX_WORK` entries has at most 14 batch sizes of a ladder and two long windows, and there
are the anchors of the sessions."""
MAX_POINT_PARTS = 110_000
"""Each entry has at most 14 parts of a ladder and 20 parts of long windows."""
MAX_STUDY_READBACKS = 10_000
"""A study reads the limits back around each session, and after each entry and anchor."""


def check_table(name: str, table: Table) -> None:
    """Raises Refused if a table has too many epochs, ranks, points or parts of points."""
    if name == POINTS_FILE and len(table) > MAX_POINTS:
        raise _refuse(name, "", f"{len(table)} points", f"at most {MAX_POINTS}")
    if "part" in table.columns and len(table) > MAX_POINT_PARTS:
        raise _refuse(name, "", f"{len(table)} parts", f"at most {MAX_POINT_PARTS}")
    if "epoch" not in table.columns or not len(table):
        return
    epochs, ranks = table.ints("epoch"), table.ints("rank")
    for column, numbers, limit in (("epoch", epochs, MAX_EPOCHS), ("rank", ranks, MAX_RANKS)):
        # Epochs and ranks count from 0, so the largest number bounds how many there are.
        if (largest := int(numbers.max())) >= limit:
            raise _refuse(name, "", f"{column} {largest}", f"{column}s 0 to {limit - 1}")
    pairs = int(np.count_nonzero(np.bincount(epochs * MAX_RANKS + ranks)))
    if pairs > MAX_PARTS:
        raise _refuse(name, "", f"{pairs} pairs of epoch and rank", f"at most {MAX_PARTS}")


def check_texts(name: str, column: str, count: int) -> None:
    """Raises Refused if a column of text has too many different texts."""
    limit = MAX_ARCHITECTURES if column == "architecture" else MAX_TEXTS
    if count > limit:
        found, expected = f"{count} different texts in {column}", f"at most {limit}"
        raise _refuse(name, "", found, expected)


def check_document(name: str, document: Json) -> None:
    """Raises Refused if a document has lists that are too long. The document need not be valid by
    its schema."""
    problems = tuple(
        problem
        for pointer, count, limit in _count_lists(name, document)
        if count > limit
        for problem in _refuse(name, pointer, f"{count} entries", f"at most {limit}").problems
    )
    if problems:
        raise Refused(*problems)


def _count_lists(name: str, document: Json) -> Iterator[tuple[str, int, int]]:
    """The lists of a document that name parts of a run: pointer, number of entries and limit."""
    if name == RESULT:
        yield "/ranks", _count(document, "ranks"), MAX_RANKS
        yield "/ranks/*/accelerators", _count(document, "ranks", "accelerators"), MAX_ACCELERATORS
        yield "/readbacks", _count(document, "readbacks"), MAX_READBACKS
        yield "/epochs", _count(document, "epochs"), MAX_EPOCHS
        yield "/epochs/*/accelerators", _count(document, "epochs", "accelerators"), MAX_PARTS
        yield "/observed", _count(document, "observed"), MAX_ACCELERATORS
        yield "/clocks", _count(document, "clocks"), MAX_READBACKS
        yield "/node_sampling", _count(document, "node_sampling"), MAX_METERS
        yield "/node_clocks", _count(document, "node_clocks"), MAX_METERS
    elif name == STUDY_FILE:
        yield "/work", _count(document, "work"), MAX_WORK
        yield "/sessions", _count(document, "sessions"), MAX_SESSIONS
        yield "/sessions/*/clocks", _count(document, "sessions", "clocks"), MAX_READBACKS
        yield (
            "/sessions/*/readbacks",
            _count(document, "sessions", "readbacks"),
            MAX_STUDY_READBACKS,
        )
        yield (
            "/sessions/*/accelerators",
            _count(document, "sessions", "accelerators"),
            MAX_ACCELERATORS,
        )
    elif name == SYSTEM:
        yield "/nodes", _count(document, "nodes"), MAX_NODES
        yield "/meters", _count(document, "meters"), MAX_METERS
        yield "/meters/*/feeds", _count(document, "meters", "feeds"), MAX_FEEDS
        yield "/nodes/*/accelerators", _count(document, "nodes", "accelerators"), MAX_ACCELERATORS


def _count(document: Json, key: str, inner_key: str = "") -> int:
    """The number of entries of a list, or of all lists `inner_key` in its entries."""
    entries = _get_list(document, key)
    if not inner_key:
        return len(entries)
    return sum(len(_get_list(entry, inner_key)) for entry in entries)


def _get_list(value: Any, key: str) -> list[Any]:
    entries = value.get(key) if isinstance(value, dict) else None
    return entries if isinstance(entries, list) else []


def _refuse(name: str, pointer: str, found: str, expected: str) -> Refused:
    message = (
        "No run has so many, and judging them takes too long. Check what wrote the file. If a real "
        "run needs more, open an issue: the rule book sets these limits."
    )
    return build_refusal(TOO_MANY_PARTS, name, pointer, found, expected, message)
