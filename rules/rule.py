"""Rules: one file for each in `rules/checks/FAMILY/`, named after the offence.

Such a file holds a docstring and one `RULE`. The docstring is the page of the rule: a title line,
then the sections `## What it does`, `## Why it is bad`, `## What to do` and `## Source`. `RULE` is
one of these kinds:

- A `BundleRule` looks at the bundle of one run. Its function is marked with `@RULE.check`.
- A `StudyRule` looks at the bundle of one study. Its function is marked with `@RULE.check`.
- An `ObservationRule` looks at the bundle of one observed job. Its function is marked with
  `@RULE.check`.
- An `AuditRule` looks at one result of another program, as a `Row`. Its function is marked with
  `@RULE.check`.
- A `FormRule` reports problems that occur while a bundle is read. It has no function: the reader
  raises the problem with the id of the rule (`rules/rule_ids.py`).
- A `RoundRule` looks at all runs of a round that passed, each as a `RunSummary`, a
  `StudyRoundRule` at all studies, each as a `StudySummary`, and an `ObservationRoundRule` at all
  observed jobs, each as an `ObservationSummary`. Their functions are marked with `@RULE.check`.

The mutations that a rule must find are in `rules/testing/cases/FAMILY/`, in a file of the same
name.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from rules.finding import Finding, Severity, Violation

if TYPE_CHECKING:  # the pages of rules are shown without NumPy, which takes 0.1 s to load
    from rules.audit.row import Row  # noqa: F401  # the parameter of a base class below
    from rules.bundle import Bundle  # noqa: F401
    from rules.observations.bundle import ObservationBundle  # noqa: F401
    from rules.run_summary import RunSummary  # noqa: F401
    from rules.studies.bundle import StudyBundle  # noqa: F401
    from rules.summaries.observation_summary import ObservationSummary  # noqa: F401
    from rules.summaries.study_summary import StudySummary  # noqa: F401
    from rules.views import AnyBundle


FAMILIES = {
    "S": "Schema and form",
    "I": "Integrity and signature",
    "P": "Protocol",
    "W": "Power readings",
    "C": "Caps and states",
    "E": "Energy",
    "T": "Throughput and plausibility",
    "M": "System and environment",
    "N": "Node power",
    "Y": "Studies of models",
    "O": "Observed jobs",
    "X": "Across the bundles of a submission",
    "F": "Evidence of other programs",
}
"""By the first letter of an id, in the order in which they are listed."""
STANDINGS = ("closed", "open", "control", "demo")
"""The standings of runs."""
STUDY_STANDING = "study"
"""The standing of every study."""
AUDIT_STANDING = "audit"
"""The standing of every result of another program."""
OBSERVED_STANDING = "observed"
"""The standing of every job that wattmark did not run. It is compared with nothing."""
BUNDLE_STANDINGS = (*STANDINGS, STUDY_STANDING, OBSERVED_STANDING)
MAX_FINDINGS = 10
"""How many findings of one rule on one bundle are listed."""

View = TypeVar("View")


@dataclass
class Rule:
    """What all rules have in common. `module` is the `__name__` of the module that defines the
    rule; name and page come from it."""

    module: str
    id: str
    severity: Severity
    since: str = "1.0"
    """The first version of the protocol for which the rule holds."""
    added: str = "1.0.0"
    """The first version of the rule book that has the rule. It does not refuse bundles that were
    accepted before."""
    standings: tuple[str, ...] = STANDINGS
    """The standings to which the rule applies."""
    waivable: bool = True
    """Whether a waiver can lift a finding. False if the finding proves a false statement."""
    bars_winning: bool = False
    """Whether a run with a finding wins no comparison before it is reviewed. A report asks
    `checker.verdict.Verdict.findings_that_bar_winning`."""
    review_lifts_bar: bool = True
    """Whether a review by another center ends that. False if only whoever runs the round, or the
    center of the bundle, can answer for it."""
    depends_on_date: bool = False
    """Whether a finding may be gone later, although the bundle is the same. No cache keeps it. None
    may appear later."""
    statistical: bool = False
    """Whether the rule judges how likely readings are. Such a rule may also report altered readings
    that another rule reports."""

    @property
    def name(self) -> str:
        """The name of the module with dashes, such as `cap-moved`."""
        return self.module.rpartition(".")[2].replace("_", "-")

    @property
    def page(self) -> str:
        """The docstring of the module."""
        return (sys.modules[self.module].__doc__ or "").strip()

    @property
    def title(self) -> str:
        """The first line of the page: the offence, in words."""
        return self.page.partition("\n")[0]

    @property
    def advice(self) -> str:
        """The section "What to do" of the page, on one line."""
        section = self.page.partition("## What to do\n")[2].partition("\n## ")[0]
        return " ".join(section.split())

    def finding(self, violation: Violation) -> Finding:
        """The violation as a finding of this rule."""
        return Finding(
            self.id,
            violation.severity or self.severity,
            violation.file,
            violation.pointer,
            violation.found,
            violation.expected,
            violation.message or self.advice,
        )

    def findings(self, violations: Iterable[Violation]) -> Iterator[Finding]:
        """The violations as findings. Beyond `MAX_FINDINGS` they are counted and not listed."""
        listed = list(violations)
        rest = len(listed) - MAX_FINDINGS
        if rest > 0:
            listed[MAX_FINDINGS:] = [_count_rest(rest, listed[0].file)]
        return map(self.finding, listed)


def _count_rest(count: int, file: str = "") -> Violation:
    """What stands for `count` violations that are not listed."""
    found = f"{count} more of the kind"
    return Violation(file, "", found, "none", "They are not listed one by one.")


def _no_check(_: object) -> Iterator[Any]:
    raise NotImplementedError("no function of the module is marked with @RULE.check")


@dataclass
class EvidenceRule(Rule, Generic[View]):
    """A rule on the evidence of one bundle, which it sees as a `View`."""

    run: Callable[[View], Iterator[Violation]] = field(default=_no_check, init=False)

    def check(
        self, function: Callable[[View], Iterator[Violation]]
    ) -> Callable[[View], Iterator[Violation]]:
        """Mark the function that looks at a bundle and yields violations."""
        self.run = function
        return function

    def judge(self, bundle: View) -> Iterator[Finding]:
        """The findings of this rule on a bundle."""
        return self.findings(self.run(bundle))


@dataclass
class BundleRule(EvidenceRule["Bundle"]):
    """A rule on the evidence of one run."""


@dataclass
class StudyRule(EvidenceRule["StudyBundle"]):
    """A rule on the evidence of one study. `since` is the first version of the method for which it
    holds."""

    standings: tuple[str, ...] = (STUDY_STANDING, "demo")


@dataclass
class ObservationRule(EvidenceRule["ObservationBundle"]):
    """A rule on the evidence of one observed job."""

    standings: tuple[str, ...] = (OBSERVED_STANDING,)


@dataclass
class AuditRule(EvidenceRule["Row"]):
    """A rule on one result of another program. It judges no bundle, and no waiver lifts it."""

    standings: tuple[str, ...] = (AUDIT_STANDING,)
    waivable: bool = field(default=False, init=False)


@dataclass
class FormRule(Rule):
    """A rule on form or integrity. It also judges bundles whose evidence cannot be read, and no
    waiver lifts it."""

    waivable: bool = field(default=False, init=False)

    def judge(self, bundle: "AnyBundle") -> Iterator[Finding]:
        """The findings of this rule: the problems with its id that occurred during reading."""
        return self.findings(p.violation for p in bundle.problems if p.rule == self.id)


@dataclass
class ComparingRule(Rule, Generic[View]):
    """A rule across the bundles of a round, of which it sees the summaries as `View`."""

    kind: ClassVar[str] = "run"
    """The name of the `BundleKind` that the rule compares."""
    sees_withdrawn: bool = False
    """Whether the rule also compares with withdrawn bundles. These must not be submitted again."""
    run: Callable[[Sequence[View]], Iterator[tuple[Path, Violation]]] = field(
        default=_no_check, init=False
    )

    def check(
        self, function: Callable[[Sequence[View]], Iterator[tuple[Path, Violation]]]
    ) -> Callable[[Sequence[View]], Iterator[tuple[Path, Violation]]]:
        """Mark the function that looks at the summaries of a round. It yields each violation with
        the path of the bundle that it belongs to."""
        self.run = function
        return function

    def judge_round(self, bundles: Sequence[View]) -> Iterator[tuple[Path, Finding]]:
        """The findings of this rule on a round, each with the path of its bundle. Beyond
        `MAX_FINDINGS` on one bundle they are counted and not listed."""
        counts: Counter[Path] = Counter()
        # Of a thousand copies each is a copy of every other one.
        for path, violation in self.run(bundles):
            counts[path] += 1
            if counts[path] <= MAX_FINDINGS:
                yield path, self.finding(violation)
        for path, count in counts.items():
            if count > MAX_FINDINGS:
                yield path, self.finding(_count_rest(count - MAX_FINDINGS))


@dataclass
class RoundRule(ComparingRule["RunSummary"]):
    """A rule across the runs of a round."""


@dataclass
class StudyRoundRule(ComparingRule["StudySummary"]):
    """A rule across the studies of a round."""

    kind: ClassVar[str] = "study"
    standings: tuple[str, ...] = (STUDY_STANDING, "demo")


@dataclass
class ObservationRoundRule(ComparingRule["ObservationSummary"]):
    """A rule across the observed jobs of a round."""

    kind: ClassVar[str] = "observation"
    standings: tuple[str, ...] = (OBSERVED_STANDING,)
