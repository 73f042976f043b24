"""Every alteration of a good bundle that a rule must find (see mutation_cases.py), through the real
path: write, seal, sign, load, verify, judge. The good bundle gives no finding. docs/mutations.md
lists the same cases.
"""

import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions, copy_evidence, copy_study
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


def test_good_observed_job_gives_no_finding(submissions: Submissions) -> None:
    verdict = judge(submissions.add_observation())
    assert (verdict.standing, verdict.status, verdict.findings) == ("observed", "pass", ())
    assert verdict.rules_not_run == 0


@pytest.fixture(scope="module")
def shared_round(tmp_path_factory: pytest.TempPathFactory, signing_key: Path) -> Submissions:
    """A round for bundles that are judged one at a time. The checker remembers its keyring."""
    empty_round = Submissions(tmp_path_factory.mktemp("shared") / "submissions", signing_key)
    empty_round.allow(signing_key)
    return empty_round


# `make test` spoils the bundles of tests/support/bundles.py, `make test-all` committed runs too.
CASES = [
    pytest.param(
        case, id=case.name, marks=[pytest.mark.extended("committed runs")] if case.origin else []
    )
    for case in list_cases()
]


@pytest.mark.parametrize("case", CASES)
def test_spoilt_bundle_is_noticed(
    case: Case, submissions: Submissions, shared_round: Submissions, score: list[bool]
) -> None:
    center = shared_round.root / PRINCIPAL.split("@")[0]
    difference = case.find_difference(shared_round if case.is_judged_alone else submissions)
    shutil.rmtree(center, ignore_errors=True)
    score.append(not difference)
    assert difference == ""


def test_page_of_the_mutations_is_current() -> None:
    """It tells of the rules and ways of now, and that all were caught, which the cases above say
    again."""
    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "mutation_table.py"))
    assert script["is_current"](), "run: python scripts/mutation_table.py"
