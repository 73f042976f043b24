"""Node power far above that of the accelerators

## What it does
Looks for nodes that used more than 2.5 times the energy of their accelerators over the scored
epochs, where all accelerators of the nodes took part.

## Why it is bad
The meter measures more than the nodes of the run, or its scale is wrong.

## What to do
State in system.json what the meter includes, or correct its scale. If accelerators of the node did
not take part, state `accelerators_installed`.

## Source
MLPerf Training and Inference logs: 1.2 with eight B200 and 1.4 with eight H100 under load. NVIDIA
DGX H100 data sheet: 10.2 kW for boards of 5.6 kW, 1.8.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N102", Severity.WARNING, since="1.1", added="1.6.0")
MAX_RATIO = 2.5


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    figures = bundle.node_figures
    if figures is None or figures.headline.over_accelerators is None:
        return
    ratio = figures.headline.over_accelerators.mean
    all_used = not any(node.unused_accelerators for node in bundle.system_declaration.nodes)
    if ratio > MAX_RATIO and all_used:
        yield Violation(
            RESULT,
            "/node/over_accelerators",
            f"the nodes used {ratio:.2f} times the energy of their accelerators",
            f"at most {MAX_RATIO} with all accelerators in use",
        )
