"""Every alteration of a good bundle that a rule must find, as cases that can be run: for the tests
and for docs/mutations.md.

Exactly the rule of the case and its `also_reported` rules must report the altered bundle. Rules
in `may_report`, statistical rules and those of `BEYOND` may report it. The cases of runs also alter
the evidence of a measured run where reference bundles are committed.
"""

import contextlib
import copy
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from conftest import PRINCIPAL, Submissions, copy_evidence, copy_study, make_key
from support.bundles import make_other_run, rederive

from checker.engine import judge, judge_all
from rules.bundle_format.files import read_files
from rules.finding import Finding
from rules.metrics.run import MetricsError
from rules.registry import audit_rules, rules_by_id
from rules.rule import Rule
from rules.testing.case import Case as Alteration
from rules.testing.case import (
    Mutation,
    ObservationMutation,
    ObservationPairing,
    Pairing,
    RowMutation,
    StudyMutation,
    StudyPairing,
    Tampering,
    cases_of,
)
from rules.testing.frames import EvidenceFrames, read_frames
from rules.testing.observations import (
    make_later_observation,
    make_observation_frames,
    rederive_observation,
)
from rules.testing.rows import make_good_row
from rules.testing.studies import make_study_frames, state_figures
from rules.testing.tampering import add_challenge, describe_original

OTHER = "elsewhere@wattmark"
OTHER_SEED = 8
"""Seed of a good study that shares nothing with the usual one."""
BEYOND = frozenset({"P126", "P127", "T124", "X122"})
"""Rules on what no known result covers, and on evidence that rule books ask for. An alteration of
date, cap, variant or ranks has them as a consequence, and old measured runs lack the evidence."""
_PLACE = re.compile(r"(/.*|(rows?|line) [0-9]+(-[0-9]+)?)?")
"""A JSON pointer, rows, a line, or the whole file."""
MEASURED = Path(__file__).parents[2] / "submissions" / "reference"
TRAINING_BUNDLE, SERVING_BUNDLE = (
    next((path.parent for path in sorted(MEASURED.glob(f"h200/*{name}*/result.json"))), None)
    for name in ("resnet50-train", "llama3-8b-serve")
)


@dataclass(frozen=True)
class Case:
    """One alteration, of the synthetic good bundle or, with `origin`, of a measured one."""

    rule: Rule
    alteration: Alteration
    origin: Path | None = None

    @property
    def name(self) -> str:
        return f"{'measured' if self.origin else 'made'}-{self.rule.id}-{self.alteration.name}"

    @property
    def is_judged_alone(self) -> bool:
        """Whether the bundle is judged by itself, with the keyring as it is. Otherwise the case
        needs a round of its own, which it may alter."""
        return isinstance(
            self.alteration, Mutation | StudyMutation | ObservationMutation | RowMutation
        )

    def find_difference(self, submissions: Submissions) -> str:
        """The rules that report the bundle unexpectedly and the rules that miss it. Empty if the
        case passes."""
        if isinstance(self.alteration, Mutation):
            return self._judge_mutation(self.alteration, submissions)
        if isinstance(self.alteration, StudyMutation):
            return self._judge_study_mutation(self.alteration, submissions)
        if isinstance(self.alteration, ObservationMutation):
            return self._judge_observation_mutation(self.alteration, submissions)
        if isinstance(self.alteration, RowMutation):
            return self._judge_row_mutation(self.alteration)
        if isinstance(self.alteration, Tampering):
            return self._judge_tampering(self.alteration, submissions)
        if isinstance(self.alteration, StudyPairing):
            return self._judge_study_pairing(self.alteration, submissions)
        if isinstance(self.alteration, ObservationPairing):
            return self._judge_observation_pairing(self.alteration, submissions)
        return self._judge_pairing(self.alteration, submissions)

    @property
    def _expected_rules(self) -> frozenset[str]:
        return self.alteration.also_reported | {self.rule.id}

    @property
    def _rules_before(self) -> frozenset[str]:
        return find_rules_before(self.origin) if self.origin else frozenset()

    def _copy_evidence(self, serving: bool = False) -> EvidenceFrames:
        return copy.deepcopy(read_measured(self.origin)) if self.origin else copy_evidence(serving)

    def _judge_mutation(self, mutation: Mutation, submissions: Submissions) -> str:
        evidence = self._copy_evidence(mutation.serving)
        mutation.apply(evidence)
        if mutation.rederive:
            # If no figures can be computed, nobody can state others, and the old figures stay.
            with contextlib.suppress(MetricsError):
                rederive(evidence)
        # An altered bundle may lose earlier findings, such as a note on closed bundles when it
        # becomes a demo.
        reported = _name_rules(judge(submissions.add(evidence)).findings)
        return _describe_difference(
            reported, self._expected_rules, mutation.may_report | self._rules_before
        )

    def _judge_study_mutation(self, mutation: StudyMutation, submissions: Submissions) -> str:
        study = copy_study(mutation.sessions)
        mutation.apply(study)
        if mutation.rederive:
            with contextlib.suppress(MetricsError):
                state_figures(study)
        reported = _name_rules(judge(submissions.add_study(study)).findings)
        return _describe_difference(reported, self._expected_rules)

    def _judge_observation_mutation(
        self, mutation: ObservationMutation, submissions: Submissions
    ) -> str:
        frames = make_observation_frames()
        mutation.apply(frames)
        if mutation.rederive:
            rederive_observation(frames)
        reported = _name_rules(judge(submissions.add_observation(frames)).findings)
        return _describe_difference(reported, self._expected_rules)

    def _judge_row_mutation(self, mutation: RowMutation) -> str:
        row = mutation.apply(make_good_row())
        reported = _name_rules(f for rule in audit_rules() for f in rule.judge(row))
        return _describe_difference(reported, self._expected_rules)

    def _judge_tampering(self, tampering: Tampering, submissions: Submissions) -> str:
        directory = submissions.add()
        tampering.apply(directory)
        if tampering.reseal:
            submissions.reseal(directory)
        # All verdicts count, because some are on the log, the waivers or the keyring.
        reported = _name_rules(f for v in judge_all([directory]).verdicts for f in v.findings)
        return _describe_difference(reported, self._expected_rules)

    def _judge_pairing(self, pairing: Pairing, submissions: Submissions) -> str:
        """The first bundle is at fault, or both are."""
        first, second = self._copy_evidence(), self._copy_evidence()
        make_other_run(second)
        pairing.apply(first, second)
        for evidence in (first, second):
            rederive(evidence)
        second_center, second_principal = _open_second_center(submissions, pairing.other_center)
        second_path = second_center.add(second, "bundle-number-2", principal=second_principal)
        if pairing.reproduces:
            first.result["reproduces"] = describe_original(second_path)
            add_challenge(second_path, first.result["settings"]["seed"])
        paths = [submissions.add(first, "bundle-number-1"), second_path]
        reported = {v.path: _name_rules(v.findings) for v in judge_all([submissions.root]).verdicts}
        expected = self._rules_before | self._expected_rules
        differences = (
            _describe_difference(reported[paths[0]], expected),
            _describe_difference(
                reported[paths[1]], expected if pairing.both_at_fault else self._rules_before
            ),
        )
        return "; the other: ".join(filter(None, differences))

    def _judge_study_pairing(self, pairing: StudyPairing, submissions: Submissions) -> str:
        study, other = make_study_frames(seed=OTHER_SEED), copy_study()
        pairing.apply(study, other)
        state_figures(study)
        center, principal = _open_second_center(submissions, pairing.other_center)
        other_path = center.add_study(other, "study-number-1", principal)
        path = submissions.add_study(study, "study-number-2")
        reported = {v.path: _name_rules(v.findings) for v in judge_all([submissions.root]).verdicts}
        differences = (
            _describe_difference(reported[path], self._expected_rules),
            _describe_difference(
                reported[other_path], self._expected_rules if pairing.other_center else frozenset()
            ),
        )
        return "; the other: ".join(filter(None, differences))

    def _judge_observation_pairing(
        self, pairing: ObservationPairing, submissions: Submissions
    ) -> str:
        later, other = make_later_observation(), make_observation_frames()
        pairing.apply(later, other)
        rederive_observation(later)
        other_path, path = map(submissions.add_observation, (other, later))
        reported = {
            v.path: {f.rule for f in v.findings} for v in judge_all([submissions.root]).verdicts
        }
        differences = (
            _describe_difference(reported[path], self._expected_rules),
            _describe_difference(reported[other_path], frozenset()),
        )
        return "; the other: ".join(filter(None, differences))


def _open_second_center(submissions: Submissions, is_other: bool) -> tuple[Submissions, str]:
    """The center of the second bundle, and its principal."""
    if not is_other:
        return submissions, PRINCIPAL
    center, principal = replace(submissions, key=submissions.root / "elsewhere-key"), OTHER
    submissions.allow(make_key(center.key), principal)
    return center, principal


def list_cases() -> Iterator[Case]:
    """All cases, in the order of the rules."""
    for rule in rules_by_id().values():
        for alteration in cases_of(rule):
            origins: tuple[Path | None, ...] = (None, TRAINING_BUNDLE)
            if not isinstance(alteration, Mutation | Pairing):
                origins = (None,)
            elif isinstance(alteration, Mutation) and alteration.serving:
                origins = (None, SERVING_BUNDLE)
            yield from (Case(rule, alteration, origin) for origin in dict.fromkeys(origins))


@cache
def read_measured(path: Path) -> EvidenceFrames:
    evidence, problems = read_frames(read_files(path))
    assert evidence is not None, (
        f"{path}: the committed reference bundle cannot be read: {problems}"
    )
    return evidence


@cache
def find_rules_before(path: Path) -> frozenset[str]:
    """The ids of the rules that report the bundle unaltered, without those on seal and signature,
    which an altered bundle gets anew."""
    return frozenset(f.rule for f in judge(path).findings if not f.rule.startswith("I"))


def _name_rules(findings: Iterable[Finding]) -> set[str]:
    """The rules that report these findings, with the place of a finding that names none."""
    return {f.rule if _PLACE.fullmatch(f.pointer) else f"{f.rule} at {f.pointer}" for f in findings}


def _describe_difference(
    reported: set[str], expected: frozenset[str], may_report: frozenset[str] = frozenset()
) -> str:
    may_report |= {rule.id for rule in rules_by_id().values() if rule.statistical} | BEYOND
    unexpected, missed = reported - expected - may_report, expected - reported
    return ", ".join(
        [f"missed {rule}" for rule in sorted(missed)]
        + [f"unexpected {rule}" for rule in sorted(unexpected)]
    )
