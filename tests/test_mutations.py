"""Every way of spoiling a good bundle that a rule names, through the real path: write, seal, sign, load, verify, judge.

Each must be noticed by exactly the rule that names it and the companions it names; those named as speaking
sometimes may. The good bundle gives no finding.
Where a reference bundle is committed, the evidence of a measured run is spoilt in the same ways.
"""

import contextlib
import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from conftest import Submissions, fresh_evidence
from good import rederive

from checker.engine import judge, judge_all
from checker.files import read_files
from checker.load import read_evidence
from rules.metrics import MetricsError
from rules.records import Evidence
from rules.rule import Mutation, Pairing, Rule, Tampering, rules_by_id

RULES = rules_by_id().values()
TAMPERINGS = [pytest.param(r, t, id=f"{r.id}-{t.name}") for r in RULES for t in r.tamperings]
MEASURED = Path(__file__).parents[1] / "submissions" / "reference"
TRAINED, SERVED = (sorted(MEASURED.glob(f"*/*{name}*/result.json"))[:1] for name in ("resnet50-train", "llama3-8b-serve"))
ORIGINS = [
    pytest.param(rule, mutation, origin, id=f"{'measured' if origin else 'made'}-{rule.id}-{mutation.name}")
    for rule in RULES
    for mutation in rule.mutations
    for origin in (None, *(path.parent for path in (SERVED if mutation.serving else TRAINED)))
]

PAIRINGS = [
    pytest.param(rule, pairing, origin, id=f"{'measured' if origin else 'made'}-{rule.id}-{pairing.name}")
    for rule in RULES
    for pairing in rule.pairings
    for origin in (None, *(path.parent for path in TRAINED))
]


class Score:
    """How many of the spoilt bundles were caught as they must be."""

    caught = 0
    total = 0

    def compare(self, found: set[str], expected: set[str], sometimes: frozenset[str] = frozenset()) -> None:
        found = found - (sometimes - expected)
        self.total += 1
        self.caught += found == expected
        assert found == expected


@pytest.fixture(scope="module")
def score(request: pytest.FixtureRequest) -> Iterator[Score]:
    """Counts over the whole module, and says the mutation score at its end."""
    counted = Score()
    yield counted
    plugins = request.config.pluginmanager
    terminal, capture = plugins.get_plugin("terminalreporter"), plugins.get_plugin("capturemanager")
    if terminal is not None and capture is not None:
        with capture.global_and_fixture_disabled():
            terminal.write_line(f"\nmutation score: {counted.caught} of {counted.total} caught")


def findings(path: Path) -> set[str]:
    return {finding.rule for finding in judge(path).findings}


def spoil(evidence: Evidence, mutation: Mutation) -> None:
    mutation.apply(evidence)
    if mutation.rederive:
        with contextlib.suppress(MetricsError):  # then nobody can state other figures, and the old ones stay
            rederive(evidence)


def expected(rule: Rule, spoiling: Mutation | Tampering | Pairing) -> set[str]:
    return {rule.id, *spoiling.companions}


@pytest.mark.parametrize("serving", [False, True])
def test_good_bundle_gives_no_finding(submissions: Submissions, serving: bool) -> None:
    verdict = judge(submissions.add(fresh_evidence(serving)))
    assert verdict.findings == ()
    assert verdict.rules_not_run == 0


@cache
def _measured(path: Path) -> Evidence:
    evidence, problems = read_evidence(read_files(path))
    assert evidence is not None, f"{path}: the committed reference bundle cannot be read: {problems}"
    return evidence


@cache
def _found_before(path: Path) -> frozenset[str]:
    """What the evidence gives unspoilt. How it is sealed and signed is left out: spoilt, it is so anew."""
    return frozenset(rule for rule in findings(path) if not rule.startswith("I"))


@pytest.mark.parametrize(("rule", "mutation", "origin"), ORIGINS)
def test_mutation_is_noticed(rule: Rule, mutation: Mutation, origin: Path | None, submissions: Submissions, score: Score) -> None:
    evidence = copy.deepcopy(_measured(origin)) if origin else fresh_evidence(mutation.serving)
    before = _found_before(origin) if origin else frozenset()
    spoil(evidence, mutation)
    score.compare(findings(submissions.add(evidence)), before | expected(rule, mutation), mutation.sometimes)


@pytest.mark.parametrize(("rule", "tampering"), TAMPERINGS)
def test_tampering_is_noticed(rule: Rule, tampering: Tampering, submissions: Submissions, score: Score) -> None:
    directory = submissions.add()
    tampering.apply(directory)
    if tampering.reseal:
        submissions.reseal(directory)
    score.compare(findings(directory), expected(rule, tampering))


@pytest.mark.parametrize(("rule", "pairing", "origin"), PAIRINGS)
def test_pairing_is_noticed(rule: Rule, pairing: Pairing, origin: Path | None, submissions: Submissions, score: Score) -> None:
    """The first of the two is the one at fault; the other is as good as before."""
    first, second = (copy.deepcopy(_measured(origin)) if origin else fresh_evidence() for _ in range(2))
    pairing.apply(first, second)
    for evidence in (first, second):
        rederive(evidence)
    paths = [submissions.add(evidence, f"bundle-number-{n}") for n, evidence in enumerate((first, second), start=1)]
    found = {v.path: {f.rule for f in v.findings} for v in judge_all([submissions.root]).verdicts}
    before = _found_before(origin) if origin else frozenset()
    score.compare(found[paths[0]], before | expected(rule, pairing))
    assert found[paths[1]] == before
