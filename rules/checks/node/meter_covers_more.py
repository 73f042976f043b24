"""Node meter covers more than the run

## What it does
Looks for meters of record that cover more nodes than took part or share power supplies with other
nodes, and for nodes with accelerators that did not take part. Such figures of nodes are shown and
never ranked.

## Why it is bad
The node figures contain power that the run did not use. Nobody can tell how much, so nothing is
subtracted.

## What to do
Measure whole nodes, and use all of their accelerators.

## Source
Koszczał et al. 2023 and EE HPC WG, Power Measurement Methodology 2.0: the machine fraction.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N113", Severity.NOTE, since="1.1", added="1.6.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.node_samples is None:
        return
    system = bundle.system_declaration
    for meter in system.meters_of_record:
        nodes = len({feed.node for feed in meter.feeds})
        if meter.nodes_covered is not None and meter.nodes_covered > nodes:
            yield Violation(
                SYSTEM,
                f"{meter.pointer}/nodes_covered",
                f"meter {meter.id} covers {meter.nodes_covered} nodes",
                f"the {nodes} of the run",
            )
        if meter.shared_psu:
            found = f"meter {meter.id}: power supplies are shared with other nodes"
            yield Violation(SYSTEM, f"{meter.pointer}/shared_psu", found, "supplies of its own")
    for node in system.nodes:
        if node.unused_accelerators:
            yield Violation(
                SYSTEM,
                f"{node.pointer}/accelerators_installed",
                f"{node.name}: {node.unused_accelerators} accelerators did not take part",
                "all of the node",
            )
