"""The clocks of the nodes contradict the run

## What it does
Reads the pairs of monotonic and wall clock that every node records before its first and after its
last sample (`clocks` of result.json; bundles of a rule book before 1.3.0 may have none). Checks
that

- every node has both pairs;
- the samples of the node lie between them;
- over several nodes, every epoch of one node overlaps with the same epoch of the other nodes by the
  wall clocks, with a tolerance of one second.

## Why it is bad
Batch windows and samples are on the clock of their node. Ranks that train together are in the same
epoch at the same time. If they were not, tables of several runs were combined, or the clocks belong
to another node.

## What to do
Synchronise the clocks of the nodes (NTP; one second is enough), and run again on all nodes
together. Submit the tables as the nodes wrote them.

## Source
Protocol, section "what counts"; bundle format, result.json, `clocks`.
"""

from collections.abc import Iterator

from rules import RELEASED
from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES
from rules.declarations.run import ClockPair
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P118", Severity.ERROR, added="1.3.0")

TOLERANCE_S = 1.0
"""How far the wall clocks of synchronised nodes may differ."""
FIRST_WITH_CLOCKS = "1.3.0"
"""The first rule book whose harness records clocks."""

PairsByNode = dict[str, dict[str, ClockPair]]
"""The pairs of each node by `when`."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    pairs_by_node: PairsByNode = {}
    for pair in bundle.clock_pairs:
        pairs_by_node.setdefault(pair.node, {})[pair.when] = pair
    earlier_versions = RELEASED[: RELEASED.index(FIRST_WITH_CLOCKS)]
    # Harnesses of earlier rule books recorded no clocks, so their bundles are exempt.
    if not pairs_by_node and bundle.declaration.rules_version in earlier_versions:
        return
    for node in dict.fromkeys(rank.node for rank in bundle.ranks):
        pairs = pairs_by_node.get(node, {})
        if set(pairs) != {"before", "after"}:
            yield Violation(
                RESULT,
                "/clocks",
                f"{node}: {len(pairs)} pairs of clocks",
                "one pair before the run and one after it",
            )
    yield from _check_samples(bundle, pairs_by_node)
    yield from _check_epochs(bundle, pairs_by_node)


def _check_samples(bundle: Bundle, pairs_by_node: PairsByNode) -> Iterator[Violation]:
    """Samples outside the time between the two pairs of their node."""
    for uuid, samples in bundle.samples_of.items():
        nodes = samples.text("node")
        # M102 reports an accelerator that was sampled on several nodes.
        pairs = pairs_by_node.get(nodes.names[nodes.codes[0]], {})
        read_ns = samples.ints("read_ns")
        first_ns, last_ns = int(read_ns.min()), int(read_ns.max())
        # The check above reports missing pairs.
        if len(pairs) == 2:
            begin_ns, end_ns = pairs["before"].monotonic_ns, pairs["after"].monotonic_ns
            if first_ns < begin_ns or last_ns > end_ns:
                yield Violation(
                    SAMPLES,
                    "",
                    f"{uuid}: read from {first_ns} to {last_ns} ns",
                    f"within {begin_ns} to {end_ns} ns",
                )


def _check_epochs(bundle: Bundle, pairs_by_node: PairsByNode) -> Iterator[Violation]:
    """Epochs that two nodes cannot have run at the same time."""
    node_of_rank = {rank.rank: rank.node for rank in bundle.ranks}
    # Monotonic clocks of different nodes have nothing in common. The offset puts epochs on wall
    # time.
    wall_offset_ns = {
        node: pairs["before"].wall_ns - pairs["before"].monotonic_ns
        for node, pairs in pairs_by_node.items()
        if "before" in pairs
    }
    wall_spans: dict[int, list[tuple[int, int, str]]] = {}
    for (epoch, rank), (start_ns, end_ns) in bundle.spans.items():
        node = node_of_rank.get(rank, "")
        if node in wall_offset_ns:
            offset_ns = wall_offset_ns[node]
            span = start_ns + offset_ns, end_ns + offset_ns, node
            wall_spans.setdefault(epoch, []).append(span)
    for epoch, spans in wall_spans.items():
        latest_start_ns, _, late_node = max(spans, key=lambda span: span[0])
        _, earliest_end_ns, early_node = min(spans, key=lambda span: span[1])
        # If the node that begins last begins before the first node ends, all nodes overlap.
        gap_s = (latest_start_ns - earliest_end_ns) / 1e9
        if gap_s > TOLERANCE_S:
            yield Violation(
                RESULT,
                "/clocks",
                f"epoch {epoch} began on {late_node} {gap_s:.1f} s after it had ended on "
                f"{early_node}",
                "epochs that all nodes run at the same time",
            )
