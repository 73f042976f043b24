"""Cases: ways to alter good bundles that a rule must find.

A file in `rules/testing/cases/FAMILY/` marks its functions with `@mutation(RULE, ...)`,
`@study_mutation(RULE, ...)`, `@observation_mutation(RULE, ...)`, `@row_mutation(RULE, ...)`,
`@tampering(RULE, ...)`, `@pairing(RULE, ...)`, `@study_pairing(RULE, ...)` or
`@observation_pairing(RULE, ...)`. Only tests import these files, and the wheel does not contain
them.
"""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

from rules.audit.row import Row
from rules.rule import Rule
from rules.testing.frames import EvidenceFrames, ObservationFrames, StudyFrames

Mutate = Callable[[EvidenceFrames], None]
MutateStudy = Callable[[StudyFrames], None]
MutateObservation = Callable[[ObservationFrames], None]
MutateRow = Callable[[Row], Row]
Tamper = Callable[[Path], None]
Pair = Callable[[EvidenceFrames, EvidenceFrames], None]
PairObservations = Callable[[ObservationFrames, ObservationFrames], None]
PairStudies = Callable[[StudyFrames, StudyFrames], None]


@dataclass(frozen=True)
class Mutation:
    """One way to alter the evidence of a good bundle before it is sealed and signed."""

    name: str
    apply: Mutate
    also_reported: frozenset[str]
    """The ids of other rules that must also report the altered bundle."""
    may_report: frozenset[str]
    """The ids of rules that report some altered bundles only, such as those of a board whose power
    swings within a batch."""
    rederive: bool
    """Whether the stated figures are computed again from the altered evidence, as a careful cheat
    would do."""
    serving: bool
    """Whether the good bundle is that of a server."""


@dataclass(frozen=True)
class StudyMutation:
    """One way to alter the evidence of a good study before it is sealed and signed."""

    name: str
    apply: MutateStudy
    also_reported: frozenset[str]
    """The ids of other rules that must also report the altered bundle."""
    rederive: bool
    """Whether the stated figures are computed again from the altered evidence."""
    sessions: int
    """How many sessions the good study has."""


@dataclass(frozen=True)
class ObservationMutation:
    """One way to alter the evidence of a good observed job before it is sealed and signed."""

    name: str
    apply: MutateObservation
    also_reported: frozenset[str]
    rederive: bool
    """Whether the stated figures are computed again from the altered evidence."""


@dataclass(frozen=True)
class RowMutation:
    """One way to alter a good row of another program's evidence."""

    name: str
    apply: MutateRow
    also_reported: frozenset[str]


@dataclass(frozen=True)
class Tampering:
    """One way to alter the files of a sealed and signed bundle, given its directory."""

    name: str
    apply: Tamper
    also_reported: frozenset[str]
    reseal: bool
    """Whether manifest and signature are made again afterwards, as the submitter could do."""


@dataclass(frozen=True)
class Pairing:
    """One way to alter the evidence of two good bundles of one round, so that they contradict each
    other. The first bundle is at fault."""

    name: str
    apply: Pair
    also_reported: frozenset[str]
    both_at_fault: bool
    """Whether both bundles are at fault."""
    other_center: bool
    """Whether the second bundle is of another center."""
    reproduces: bool
    """Whether the first bundle states that it reproduces the second."""


@dataclass(frozen=True)
class StudyPairing:
    """One way to alter the first of two good studies of one round, so that it contradicts the
    second."""

    name: str
    apply: PairStudies
    also_reported: frozenset[str]
    other_center: bool
    """Whether the second study is of another center. Both are then at fault, because nothing shows
    which one was first."""


@dataclass(frozen=True)
class ObservationPairing:
    """One way to alter the later of two good observed jobs of one center, so that it contradicts
    the other."""

    name: str
    apply: PairObservations
    also_reported: frozenset[str]


Case = (
    Mutation
    | StudyMutation
    | ObservationMutation
    | RowMutation
    | Tampering
    | Pairing
    | StudyPairing
    | ObservationPairing
)
_CASES: dict[str, list[Case]] = {}


def mutation(
    rule: Rule,
    *also_reported: str,
    may_report: tuple[str, ...] = (),
    rederive: bool = True,
    serving: bool = False,
) -> Callable[[Mutate], Mutate]:
    """Mark a function that alters the evidence of a good bundle."""

    def mark(function: Mutate) -> Mutate:
        rule_ids = frozenset(also_reported), frozenset(may_report)
        _add(rule, Mutation(function.__name__, function, *rule_ids, rederive, serving))
        return function

    return mark


def study_mutation(
    rule: Rule, *also_reported: str, rederive: bool = True, sessions: int = 1
) -> Callable[[MutateStudy], MutateStudy]:
    """Mark a function that alters the evidence of a good study."""

    def mark(function: MutateStudy) -> MutateStudy:
        rule_ids = frozenset(also_reported)
        _add(rule, StudyMutation(function.__name__, function, rule_ids, rederive, sessions))
        return function

    return mark


def observation_mutation(
    rule: Rule, *also_reported: str, rederive: bool = True
) -> Callable[[MutateObservation], MutateObservation]:
    """Mark a function that alters the evidence of a good observed job."""

    def mark(function: MutateObservation) -> MutateObservation:
        rule_ids = frozenset(also_reported)
        _add(rule, ObservationMutation(function.__name__, function, rule_ids, rederive))
        return function

    return mark


def row_mutation(rule: Rule, *also_reported: str) -> Callable[[MutateRow], MutateRow]:
    """Mark a function that alters a good row, which it returns."""

    def mark(function: MutateRow) -> MutateRow:
        _add(rule, RowMutation(function.__name__, function, frozenset(also_reported)))
        return function

    return mark


def tampering(rule: Rule, *also_reported: str, reseal: bool = False) -> Callable[[Tamper], Tamper]:
    """Mark a function that alters the files of a sealed bundle."""

    def mark(function: Tamper) -> Tamper:
        _add(rule, Tampering(function.__name__, function, frozenset(also_reported), reseal))
        return function

    return mark


def pairing(
    rule: Rule,
    *also_reported: str,
    both_at_fault: bool = False,
    other_center: bool = False,
    reproduces: bool = False,
) -> Callable[[Pair], Pair]:
    """Mark a function that alters the evidence of two good bundles."""

    def mark(function: Pair) -> Pair:
        flags = both_at_fault, other_center, reproduces
        _add(rule, Pairing(function.__name__, function, frozenset(also_reported), *flags))
        return function

    return mark


def study_pairing(
    rule: Rule, *also_reported: str, other_center: bool = False
) -> Callable[[PairStudies], PairStudies]:
    """Mark a function that alters the first of two good studies."""

    def mark(function: PairStudies) -> PairStudies:
        rule_ids = frozenset(also_reported)
        _add(rule, StudyPairing(function.__name__, function, rule_ids, other_center))
        return function

    return mark


def observation_pairing(
    rule: Rule, *also_reported: str
) -> Callable[[PairObservations], PairObservations]:
    """Mark a function that alters the later of two good observed jobs."""

    def mark(function: PairObservations) -> PairObservations:
        _add(rule, ObservationPairing(function.__name__, function, frozenset(also_reported)))
        return function

    return mark


def cases_of(rule: Rule) -> Sequence[Case]:
    """The cases of a rule, in the order of its file: mutations, tamperings, pairings."""
    _load_cases()
    kinds = get_args(Case)
    return sorted(_CASES.get(rule.id, []), key=lambda case: kinds.index(type(case)))


def _add(rule: Rule, case: Case) -> None:
    _CASES.setdefault(rule.id, []).append(case)


@cache
def _load_cases() -> None:
    package = importlib.import_module("rules.testing.cases")
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(info.name)
