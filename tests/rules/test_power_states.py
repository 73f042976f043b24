"""Boards whose driver chooses the power state of CUDA: which state they declare, and which one the
rules ask for."""

from pathlib import Path

import pytest
from support.bundles import make_evidence

from rules.boards import driver_chooses_state, expected_state
from rules.bundle import Bundle
from rules.registry import rules_by_id
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_every, select_load

GEFORCE = "NVIDIA GeForce RTX 4090"


def make_run(name: str, declared: str | None, sampled: str) -> EvidenceFrames:
    evidence = make_evidence()
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = name
    evidence.result["power"]["state"] = declared
    evidence.samples["power_state"] = sampled
    return evidence


def list_reporting(evidence: EvidenceFrames) -> set[str]:
    bundle = Bundle(Path("center/system/run"), (), evidence.evidence())
    return {id for id in ("C104", "C105") if list(rules_by_id()[id].judge(bundle))}


@pytest.mark.parametrize(
    ("name", "chooses"),
    [
        (GEFORCE, True),
        ("NVIDIA TITAN V", True),
        ("NVIDIA RTX A6000", True),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", True),
        ("Quadro RTX 6000", True),
        ("NVIDIA H200", False),
        ("NVIDIA L40S", False),
        ("Tesla T4", False),
        ("AMD Instinct MI250X", False),
    ],
)
def test_the_driver_chooses_the_state_of_graphics_boards_only(name: str, chooses: bool) -> None:
    assert driver_chooses_state(name) is chooses
    assert expected_state(name, "P0") == ("P2" if chooses else "P0")
    assert expected_state(name, "auto") == "auto" and expected_state(name, None) is None


@pytest.mark.parametrize("sampled", ["P0", "P1", "P2"])
@pytest.mark.parametrize("declared", ["P0", "P2"])
def test_the_state_that_such_a_board_keeps_counts(declared: str, sampled: str) -> None:
    assert list_reporting(make_run(GEFORCE, declared, sampled)) == set()


@pytest.mark.parametrize(
    ("name", "declared", "sampled", "ids"),
    [
        (GEFORCE, "P2", "P5", {"C104"}),
        (GEFORCE, "P5", "P5", {"C105"}),
        (GEFORCE, None, "P2", {"C105"}),
        ("NVIDIA H200", "P0", "P2", {"C104"}),
        ("NVIDIA H200", "P2", "P2", {"C105"}),
    ],
)
def test_other_states_and_boards_are_judged_as_before(
    name: str, declared: str | None, sampled: str, ids: set[str]
) -> None:
    assert list_reporting(make_run(name, declared, sampled)) == ids


def test_a_board_that_changes_its_state_is_reported() -> None:
    evidence = make_run(GEFORCE, "P2", "P2")
    evidence.samples.loc[select_every(20, select_load(evidence)), "power_state"] = "P0"
    assert list_reporting(evidence) == {"C104"}
