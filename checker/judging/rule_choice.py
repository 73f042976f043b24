"""The rules that judge a bundle, by its kind, its standing and its version."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from checker.trust.acceptance_log import parse_version
from rules.bundle import Bundle
from rules.bundle_format.records import OBSERVATION, RUN, STUDY
from rules.observations.bundle import ObservationBundle
from rules.registry import (
    bundle_rules,
    form_rules,
    observation_round_rules,
    observation_rules,
    round_rules,
    study_round_rules,
    study_rules,
)
from rules.rule import Rule
from rules.views import AnyBundle, get_version


def select_rules(bundle: AnyBundle) -> frozenset[str]:
    """The ids of the rules to run on a bundle."""
    # Rules on evidence have nothing to look at. The verdict states how many were not run.
    if bundle.evidence is None:
        return frozenset(rule.id for rule in form_rules())
    return _select_rules_for(
        name_kind(bundle),
        bundle.judged_standing,
        get_version(bundle),
        bool(bundle.problems),
    )


@cache
def _select_rules_for(
    kind: str, standing: str, protocol: str, has_problems: bool
) -> frozenset[str]:
    """The ids of the rules that look at the evidence of a kind of bundle, with this standing and
    version of the method or protocol; with those on form and integrity if the bundle has problems
    for them to report."""
    on_form = form_rules() if has_problems else ()
    book: Sequence[Rule] = _RULES[kind]()
    on_evidence = (
        rule
        for rule in book
        if standing in rule.standings and parse_version(protocol) >= parse_version(rule.since)
    )
    return frozenset(rule.id for rule in (*on_form, *on_evidence))


def name_kind(bundle: AnyBundle) -> str:
    """The name of the `BundleKind` of a bundle."""
    if isinstance(bundle, ObservationBundle):
        return OBSERVATION.name
    return RUN.name if isinstance(bundle, Bundle) else STUDY.name


_RULES: Mapping[str, Callable[[], Sequence[Rule]]] = {
    RUN.name: bundle_rules,
    STUDY.name: study_rules,
    OBSERVATION.name: observation_rules,
}
"""The rules on the evidence of one bundle, by the name of its kind."""
_ROUND_RULES: Mapping[str, Callable[[], Sequence[Rule]]] = {
    RUN.name: round_rules,
    STUDY.name: study_round_rules,
    OBSERVATION.name: observation_round_rules,
}


def count_rules_on_evidence(kind: str) -> int:
    """How many rules look at the evidence of a kind of bundle, alone or beside others."""
    return len(_RULES[kind]()) + len(_ROUND_RULES[kind]())
