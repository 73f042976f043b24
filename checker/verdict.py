"""What the rule book says of bundles and of what lies beside them: the verdicts that are shown."""

from dataclasses import dataclass, field
from pathlib import Path

from checker.trust.records import Review
from rules.finding import Finding, Severity
from rules.registry import rules_by_id
from rules.rule import FormRule

INTERNAL = "internal"
"""Stands where a rule's id does in a finding about the checker itself: a bundle was not judged to
the end."""

BESIDE = ("log", "waiver", "keyring")
"""Standings of what lies beside bundles and is no bundle."""


@dataclass(frozen=True)
class Verdict:
    """What the rule book says of one bundle, or of one file of published figures; or of what
    belongs to no bundle: the LOG, a waiver, the keyring, which have a verdict only where there is
    something to say.

    `standing` and `signer` are None where they could not be established. Beside those of bundles
    and `published` there are the standings `BESIDE`.
    """

    path: Path
    standing: str | None
    signer: str | None
    findings: tuple[Finding, ...]
    rules_not_run: int = 0
    """How many rules could not be asked because the evidence cannot be read."""
    withdrawn: str = ""
    """Why the bundle was withdrawn; empty where it was not."""
    withdrawn_by: str = ""
    withdrawn_at: str = ""
    reviews: tuple[Review, ...] = ()
    """The good, signed reviews of the bundle."""
    accepted: str = ""
    """The version of the rule book under which the LOG says that the bundle was accepted; empty
    where it does not."""
    manifest_sha256: str = ""
    """The SHA-256 of MANIFEST.json; empty where there is none."""
    kept: object = field(default=None, compare=False)
    """What `judge_all` was asked to keep of a bundle that passed."""

    @property
    def reviewers(self) -> tuple[str, ...]:
        """The principals whose review accepts the bundle."""
        return tuple(review.reviewer for review in self.reviews if review.verdict == "accept")

    @property
    def rejecters(self) -> tuple[str, ...]:
        """The principals whose review rejects the bundle."""
        return tuple(review.reviewer for review in self.reviews if review.verdict == "reject")

    @property
    def status(self) -> str:
        """`fail`, `withdrawn` or `pass`."""
        if any(map(self.fails_by, self.findings)):
            return "fail"
        return "withdrawn" if self.withdrawn else "pass"

    def fails_by(self, finding: Finding) -> bool:
        """Whether a finding is an error that counts: no waiver lifts it, and no withdrawal, which
        lifts what is wrong with evidence. Who withdrew what must still be sure, so form and
        integrity count."""
        if finding.severity != Severity.ERROR or finding.waived:
            return False
        rule = rules_by_id().get(finding.rule)
        return not self.withdrawn or rule is None or isinstance(rule, FormRule)


@dataclass(frozen=True)
class Round:
    """The verdicts on everything below some paths, in order of path, and the hidden directories
    that were left out."""

    verdicts: tuple[Verdict, ...]
    skipped: tuple[Path, ...]
    submissions: tuple[Path, ...] = ()
    """The directories with a keyring, and maybe a LOG and waivers, that the bundles hang on."""
