"""Every way of spoiling a good bundle that a rule names, as cases that can be run: for the tests,
and for docs/mutations.md.

Each must be noticed by exactly the rule that names it and the companions it names; those named as
speaking sometimes may, and so may those that judge by statistics. Where reference bundles are
committed, the evidence of a measured run is spoilt in the same ways.
"""

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from conftest import PRINCIPAL, Submissions, fresh_evidence
from support.bundles import another_run, rederive

from checker.engine import judge, judge_all
from rules.bundle_format.files import read_files
from rules.metrics.run import MetricsError
from rules.registry import rules_by_id
from rules.rule import Rule
from rules.testing.case import Mutation, Pairing, Tampering, cases_of
from rules.testing.frames import EvidenceFrames, read_frames

MEASURED = Path(__file__).parents[2] / "submissions" / "reference"
TRAINED, SERVED = (
    next((path.parent for path in sorted(MEASURED.glob(f"*/*{name}*/result.json"))), None)
    for name in ("resnet50-train", "llama3-8b-serve")
)


@dataclass(frozen=True)
class Case:
    """One way of spoiling, tried on the made good bundle or, with `origin`, on a measured one."""

    rule: Rule
    spoiling: Mutation | Tampering | Pairing
    origin: Path | None = None

    @property
    def name(self) -> str:
        return f"{'measured' if self.origin else 'made'}-{self.rule.id}-{self.spoiling.name}"

    def differs(self, submissions: Submissions) -> str:
        """What was found and not expected, or expected and not found; empty where the case is
        caught as it must be."""
        if isinstance(self.spoiling, Mutation):
            return self._mutated(self.spoiling, submissions)
        if isinstance(self.spoiling, Tampering):
            return self._tampered(self.spoiling, submissions)
        return self._paired(self.spoiling, submissions)

    @property
    def _expected(self) -> frozenset[str]:
        return self.spoiling.also_reported | {self.rule.id}

    @property
    def _before(self) -> frozenset[str]:
        return found_before(self.origin) if self.origin else frozenset()

    def _fresh(self, serving: bool = False) -> EvidenceFrames:
        return copy.deepcopy(measured(self.origin)) if self.origin else fresh_evidence(serving)

    def _mutated(self, mutation: Mutation, submissions: Submissions) -> str:
        evidence = self._fresh(mutation.serving)
        mutation.apply(evidence)
        if mutation.rederive:
            with contextlib.suppress(
                MetricsError
            ):  # then nobody can state other figures, and the old ones stay
                rederive(evidence)
        # A spoilt bundle may lose what spoke before: a note on closed ones, where it is made a
        # demo.
        found = {f.rule for f in judge(submissions.add(evidence)).findings}
        return _apart(found, self._expected, mutation.may_report | self._before)

    def _tampered(self, tampering: Tampering, submissions: Submissions) -> str:
        directory = submissions.add()
        tampering.apply(directory)
        if tampering.reseal:
            submissions.reseal(directory)
        found = {
            f.rule for v in judge_all([directory]).verdicts for f in v.findings
        }  # those on LOG, waivers and keyring too
        return _apart(found, self._expected)

    def _paired(self, pairing: Pairing, submissions: Submissions) -> str:
        """The first of the two is the one at fault and the other as good as before, or both are at
        fault."""
        both = first, second = self._fresh(), self._fresh()
        another_run(second)
        pairing.apply(first, second)
        for evidence in both:
            rederive(evidence)
        other = "elsewhere@wattmark" if pairing.elsewhere else PRINCIPAL
        if pairing.elsewhere:
            submissions.allow(submissions.key, other)
        paths = [
            submissions.add(first, "bundle-number-1"),
            submissions.add(second, "bundle-number-2", principal=other),
        ]
        found = {
            v.path: {f.rule for f in v.findings} for v in judge_all([submissions.root]).verdicts
        }
        spoilt = self._before | self._expected
        differ = (
            _apart(found[paths[0]], spoilt),
            _apart(found[paths[1]], spoilt if pairing.both else self._before),
        )
        return "; the other: ".join(filter(None, differ))


def cases() -> Iterator[Case]:
    """All of them, in the order of the rules."""
    for rule in rules_by_id().values():
        for spoiling in cases_of(rule):
            origins: tuple[Path | None, ...] = (None, TRAINED)
            if isinstance(spoiling, Tampering):
                origins = (None,)
            elif isinstance(spoiling, Mutation) and spoiling.serving:
                origins = (None, SERVED)
            yield from (Case(rule, spoiling, origin) for origin in dict.fromkeys(origins))


@cache
def measured(path: Path) -> EvidenceFrames:
    evidence, problems = read_frames(read_files(path))
    assert evidence is not None, (
        f"{path}: the committed reference bundle cannot be read: {problems}"
    )
    return evidence


@cache
def found_before(path: Path) -> frozenset[str]:
    """What the evidence gives unspoilt. How it is sealed and signed is left out: spoilt, it is so
    anew."""
    return frozenset(f.rule for f in judge(path).findings if not f.rule.startswith("I"))


def _apart(
    found: set[str], expected: frozenset[str], sometimes: frozenset[str] = frozenset()
) -> str:
    sometimes |= {rule.id for rule in rules_by_id().values() if rule.statistical}
    unexpected, missed = found - expected - sometimes, expected - found
    return ", ".join(
        [f"missed {rule}" for rule in sorted(missed)]
        + [f"unexpected {rule}" for rule in sorted(unexpected)]
    )
