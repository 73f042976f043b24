"""Mutations that the rule `idle-contradicts-evidence` must find."""

from dataclasses import replace

from rules.bundle_format.events import PhaseEnded
from rules.checks.node.idle_contradicts_evidence import RULE
from rules.declarations.run import RunDeclaration
from rules.metrics.figures_json import idle_to_json
from rules.metrics.idle import RESIDENT, compute_idle_figures
from rules.metrics.parts import split_into_parts
from rules.testing.case import mutation
from rules.testing.cases.protocol.events_contradict_result import record_events
from rules.testing.frames import EvidenceFrames

PHASES = ("bare", "start-up", "build", "resident", "warm-up", "calibration")
MARGIN_NS = 200_000_000


def record_idle(evidence: EvidenceFrames) -> None:
    """Give the evidence of one node the phases that the harness would have recorded, between its
    first sample and its first batch."""
    start_ns = int(evidence.samples["read_ns"].min()) + MARGIN_NS
    first_batch_ns = int(evidence.batches["start_ns"].min())
    length_ns = (first_batch_ns - start_ns) // len(PHASES)
    events = [
        PhaseEnded(
            node="node0",
            attempt=evidence.result["attempt"],
            time_ns=0,
            phase=phase,
            start_ns=start_ns + i * length_ns,
            end_ns=start_ns + (i + 1) * length_ns,
        )
        for i, phase in enumerate(PHASES)
    ]
    record_events(evidence)
    evidence.events = (*(evidence.events or ()), *events)
    rederive_idle(evidence)


def rederive_idle(evidence: EvidenceFrames) -> None:
    """Compute the stated idle power and phases again from the evidence."""
    tables, run = evidence.evidence(), RunDeclaration.from_document(evidence.result)
    parts = split_into_parts(evidence.result, tables.samples, tables.batches)
    figures = compute_idle_figures(
        run, tables.events or (), parts, tables.batches, evidence.result["energy_of_record"], {}
    )
    evidence.result.update(idle_to_json(figures))


def _move_phase(evidence: EvidenceFrames, phase: str, by_s: float) -> None:
    """Move the window of a phase, and compute the stated figures again."""
    shift_ns = round(by_s * 1e9)
    evidence.events = tuple(
        replace(event, start_ns=event.start_ns + shift_ns, end_ns=event.end_ns + shift_ns)
        if isinstance(event, PhaseEnded) and event.phase == phase
        else event
        for event in evidence.events or ()
    )
    rederive_idle(evidence)


@mutation(RULE, rederive=False)
def resident_power_halved(evidence: EvidenceFrames) -> None:
    record_idle(evidence)
    evidence.result["idle"][0]["resident_w"] *= 0.5


@mutation(RULE, rederive=False)
def preparation_energy_understated(evidence: EvidenceFrames) -> None:
    record_idle(evidence)
    for phase in evidence.result["phases"]:
        if phase["phase"] == "preparation":
            phase["energy_j"] *= 0.9


@mutation(RULE, rederive=False)
def phases_left_out_of_result(evidence: EvidenceFrames) -> None:
    record_idle(evidence)
    del evidence.result["idle"], evidence.result["phases"]


@mutation(RULE, rederive=False)
def idle_power_without_events(evidence: EvidenceFrames) -> None:
    record_idle(evidence)
    evidence.events = tuple(e for e in evidence.events or () if not isinstance(e, PhaseEnded))


@mutation(RULE, rederive=False)
def resident_phase_during_load(evidence: EvidenceFrames) -> None:
    record_idle(evidence)
    _move_phase(evidence, RESIDENT, 60.0)


@mutation(RULE, rederive=False)
def bare_phase_during_build(evidence: EvidenceFrames) -> None:
    record_idle(evidence)
    _move_phase(evidence, "bare", 0.6)


@mutation(RULE, rederive=False)
def board_of_run_called_unused(evidence: EvidenceFrames) -> None:
    record_idle(evidence)
    evidence.result["idle"][-1]["used"] = False


@mutation(RULE, rederive=False)
def energy_of_unused_board_too_high(evidence: EvidenceFrames) -> None:
    record_idle(evidence)
    board = {**evidence.result["idle"][0], "accelerator": "GPU-unused", "used": False}
    evidence.result["idle"].append({**board, "energy_j": 2 * board["energy_j"]})
