"""Charts are drawn, and their scripts loaded, while the report goes on."""

from collections.abc import Iterator, Sequence

import pytest
from conftest import Submissions

from checker import engine
from checker.judging.bundle_judge import JudgedBundle
from checker.verdict import Verdict
from reporting.collect import collect


def test_drawing_can_start_before_bundles_are_compared(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    submissions.add()
    steps = []
    add_round_findings = engine.add_round_findings

    def compare(judged: Sequence[JudgedBundle]) -> Iterator[Verdict]:
        steps.append(f"compare {len(judged)}")
        return add_round_findings(judged)

    monkeypatch.setattr(engine, "add_round_findings", compare)
    collect([submissions.root], after_bundles=lambda: steps.append("judged"))
    assert steps == ["judged", "compare 1"]
