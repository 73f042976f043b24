"""Nodes whose clocks do not fit the run

## What it does
Reads the pairs of monotonic and wall clock that every node notes before its first and after its
last sample (`clocks` of result.json; a bundle that names a rule book before 1.3.0 need not have
any). It asks that every node has both pairs, that its samples lie between them, and, over several
nodes, that every epoch of one node was going on at some instant of the same epoch of the others, by
the wall clocks, give or take a second.

## Why it is bad
Windows and samples are on the clock of their node. Ranks that train together are in the same epoch
at the same time. Where that cannot have been so, tables of several runs were put together, or the
clocks of a node tell of another one.

## What to do
Synchronise the nodes' clocks (NTP; a second is enough), and run again. Leave the tables as the
nodes wrote them.

## Source
Protocol, section "what counts"; bundle format, result.json, `clocks`.
"""

from collections.abc import Iterator

from rules import RELEASED
from rules.bundle import Bundle
from rules.bundle_format.records import Json
from rules.bundle_format.table import RESULT, SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P118", Severity.ERROR, added="1.3.0")

SYNCHRONISED_S = 1.0
FIRST_WITH_CLOCKS = "1.3.0"


Pairs = dict[str, dict[str, Json]]


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    clocks: Pairs = {}
    for pair in bundle.result.get("clocks", []):
        clocks.setdefault(pair["node"], {})[pair["when"]] = pair
    if (
        not clocks
        and bundle.result["rules_version"] in RELEASED[: RELEASED.index(FIRST_WITH_CLOCKS)]
    ):
        return
    for node in dict.fromkeys(r["node"] for r in bundle.result["ranks"]):
        if set(clocks.get(node, {})) != {"before", "after"}:
            yield _found(
                RESULT,
                "/clocks",
                f"{node}: {len(clocks.get(node, {}))} pairs of clocks",
                "one before and one after",
            )
    for uuid, own in bundle.samples_of.items():
        pairs = clocks.get(own.text("node").names[own.text("node").codes[0]], {})
        first_ns, last_ns = int(own.ints("read_ns").min()), int(own.ints("read_ns").max())
        if len(pairs) == 2:
            begin_ns, end_ns = pairs["before"]["monotonic_ns"], pairs["after"]["monotonic_ns"]
            if first_ns < begin_ns or last_ns > end_ns:
                yield _found(
                    SAMPLES,
                    "",
                    f"{uuid}: read from {first_ns} to {last_ns} ns",
                    f"within {begin_ns} to {end_ns} ns",
                )
    yield from _epochs_apart(bundle, clocks)


def _epochs_apart(bundle: Bundle, clocks: Pairs) -> Iterator[Violation]:
    """Epochs that two nodes cannot have run at the same time."""
    node_of = {r["rank"]: r["node"] for r in bundle.result["ranks"]}
    lag_ns = {
        node: pair["before"]["wall_ns"] - pair["before"]["monotonic_ns"]
        for node, pair in clocks.items()
        if "before" in pair
    }
    of_epoch: dict[int, list[tuple[int, int, str]]] = {}
    for (epoch, rank), (start_ns, end_ns) in bundle.spans.items():
        node = node_of.get(rank)
        if node in lag_ns:
            of_epoch.setdefault(epoch, []).append(
                (start_ns + lag_ns[node], end_ns + lag_ns[node], node)
            )
    for epoch, spans in of_epoch.items():
        ended, began = min(spans, key=lambda s: s[1]), max(spans, key=lambda s: s[0])
        late_s = (began[0] - ended[1]) / 1e9
        if late_s > SYNCHRONISED_S:
            found = (
                f"epoch {epoch} began on {began[2]} {late_s:.1f} s after it had ended on {ended[2]}"
            )
            yield _found(RESULT, "/clocks", found, "epochs that all nodes run at the same time")


def _found(file: str, pointer: str, found: str, expected: str) -> Violation:
    message = (
        "The nodes' clocks and the tables tell of different times. Synchronise the clocks and "
        "run again, on all nodes at once."
    )
    return Violation(file, pointer, found, expected, message)
