"""N106 on every committed run, with the readings of a simulated node meter."""

import copy
from pathlib import Path

import numpy as np
import pytest
from support.mutation_cases import read_measured

from rules.bundle import Bundle
from rules.checks.node.clock_contradicts_power import RULE
from rules.finding import Finding
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power

SUBMISSIONS = Path(__file__).parents[3] / "submissions"
MEASURED = sorted(path.parent for path in SUBMISSIONS.rglob("result.json"))
DELAY_S = 3.0


def make_evidence(origin: Path) -> EvidenceFrames:
    evidence = copy.deepcopy(read_measured(origin))
    add_node_power(evidence)
    return evidence


def judge(evidence: EvidenceFrames) -> list[Finding]:
    return list(RULE.judge(Bundle(Path("bundle"), (), evidence.evidence())))


def delay_stamps(evidence: EvidenceFrames, seconds: float, feed: str | None = None) -> None:
    table = evidence.node_samples
    assert table is not None
    rows = table["feed"] == feed if feed else np.ones(len(table), dtype=bool)
    table.loc[rows, "meter_ns"] += round(seconds * 1e9)


def split_meter(evidence: EvidenceFrames) -> None:
    """Let each feed have a meter of its own."""
    table = evidence.node_samples
    assert table is not None
    table["meter"] = "pdu-" + table["feed"]
    (meter,), (clock,) = evidence.system["meters"], evidence.result["node_clocks"]
    feeds = meter["feeds"]
    evidence.system["meters"] = [
        {**meter, "id": f"pdu-{feed['feed']}", "feeds": [feed]} for feed in feeds
    ]
    evidence.result["node_clocks"] = [{**clock, "meter": f"pdu-{feed['feed']}"} for feed in feeds]


@pytest.mark.parametrize("origin", MEASURED, ids=lambda path: path.name)
def test_a_delay_is_found_and_a_right_clock_is_not(origin: Path) -> None:
    evidence = make_evidence(origin)
    assert judge(evidence) == []
    delay_stamps(evidence, DELAY_S)
    findings = judge(evidence)
    if not findings and evidence.result["standing"] == "control":
        return  # Its power is constant, and its few pauses do not exclude every other shift.
    (finding,) = findings
    assert finding.pointer == "/node_clocks/0/offset_ns"
    late_s = float(finding.found.removesuffix(" s late").rpartition(" ")[2])
    assert late_s == pytest.approx(DELAY_S, abs=0.1)


def test_a_delay_within_the_declared_bound_is_accepted() -> None:
    evidence = make_evidence(MEASURED[0])
    delay_stamps(evidence, DELAY_S)
    evidence.result["node_clocks"][0]["bound_ns"] = 2_000_000_000
    assert judge(evidence) == []


def test_each_meter_of_a_node_is_placed_alone() -> None:
    evidence = make_evidence(MEASURED[0])
    split_meter(evidence)
    assert judge(evidence) == []
    delay_stamps(evidence, -DELAY_S, "B")
    (finding,) = judge(evidence)
    assert finding.found.startswith("meter pdu-B on ")
    assert finding.found.endswith(" s early")


def test_a_meter_of_the_processors_is_not_placed() -> None:
    evidence = make_evidence(MEASURED[0])
    delay_stamps(evidence, DELAY_S)
    evidence.system["meters"][0]["scope"] = "cpu"
    assert judge(evidence) == []
