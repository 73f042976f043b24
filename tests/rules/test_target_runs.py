"""A run with a target whose epochs differ as its seeds do is accepted."""

import numpy as np
from conftest import Submissions, copy_evidence
from support.bundles import rederive

from checker.engine import judge
from rules.testing.target import TARGET, train_to_target


def test_honest_run_to_a_target_passes(submissions: Submissions) -> None:
    evidence = copy_evidence()
    train_to_target(evidence)
    rederive(evidence)
    verdict = judge(submissions.add(evidence))
    assert (verdict.standing, verdict.status) == ("open", "pass")
    assert verdict.rules_not_run == 0
    # No run of the workload is known yet.
    assert {finding.rule for finding in verdict.findings} <= {"T124"}


def test_epochs_of_other_lengths_are_no_offence(submissions: Submissions) -> None:
    evidence = copy_evidence()
    train_to_target(evidence)
    batches = evidence.batches
    lengths_ns = batches["end_ns"] - batches["start_ns"]
    shares = 0.5 + 0.05 * (batches["epoch"] % 10)
    batches["end_ns"] = batches["start_ns"] + (lengths_ns * shares).astype("int64")
    rederive(evidence)
    reported = {finding.rule for finding in judge(submissions.add(evidence)).findings}
    assert not reported & {"P103", "P108", "P120", "T125"}


def test_an_accuracy_in_single_precision_is_that_of_whole_samples(
    submissions: Submissions,
) -> None:
    evidence = copy_evidence()
    train_to_target(evidence)
    rederive(evidence)
    for epoch in evidence.result["epochs"]:
        for training in epoch["trainings"]:
            training["accuracy"] = float(np.float32(TARGET.accuracy))
    reported = {finding.rule for finding in judge(submissions.add(evidence)).findings}
    assert not reported & {"P128", "P131"}
