"""Every alteration of a good bundle that a rule must find (see mutation_cases.py), through the real
path: write, seal, sign, load, verify, judge. The good bundle gives no finding. docs/mutations.md
lists the same cases.
"""

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Submissions, copy_evidence, copy_study
from support.mutation_cases import Case, list_cases

from checker.engine import judge


@pytest.fixture(scope="module")
def score(request: pytest.FixtureRequest) -> Iterator[list[bool]]:
    """Whether each case of the module was caught; says the mutation score at its end."""
    caught: list[bool] = []
    yield caught
    plugins = request.config.pluginmanager
    terminal, capture = plugins.get_plugin("terminalreporter"), plugins.get_plugin("capturemanager")
    if terminal is not None and capture is not None:
        with capture.global_and_fixture_disabled():
            terminal.write_line(f"\nmutation score: {sum(caught)} of {len(caught)} caught")


@pytest.mark.parametrize("serving", [False, True])
def test_good_bundle_gives_no_finding(submissions: Submissions, serving: bool) -> None:
    verdict = judge(submissions.add(copy_evidence(serving)))
    assert verdict.findings == ()
    assert verdict.rules_not_run == 0


@pytest.mark.parametrize("sessions", [1, 2])
def test_good_study_gives_no_finding(submissions: Submissions, sessions: int) -> None:
    verdict = judge(submissions.add_study(copy_study(sessions)))
    assert verdict.findings == ()
    assert verdict.rules_not_run == 0


@pytest.mark.parametrize("case", list(list_cases()), ids=lambda case: case.name)
def test_spoilt_bundle_is_noticed(case: Case, submissions: Submissions, score: list[bool]) -> None:
    difference = case.find_difference(submissions)
    score.append(not difference)
    assert difference == ""


def test_page_of_the_mutations_is_current() -> None:
    """It tells of the rules and ways of now, and that all were caught, which the cases above say
    again."""
    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "mutation_table.py"))
    assert script["is_current"](), "run: python scripts/mutation_table.py"
