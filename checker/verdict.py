"""The verdicts of the rule book on bundles and on the other files of a round."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from checker.trust.acceptance_log import parse_version
from checker.trust.records import Review
from rules.finding import Finding, Severity
from rules.registry import rules_by_id
from rules.rule import FormRule

INTERNAL = "internal"
"""Takes the place of a rule's id in a finding about the checker itself: it failed, so a bundle was
not fully judged."""

NON_BUNDLE_STANDINGS = ("log", "waiver", "commitment", "keyring")
"""The standings of files of a round that belong to no bundle."""

ACCEPTANCE_LIFTS_NO_BAR = (1, 11, 0)
"""The first rule book under which acceptance alone lifts no finding that bars winning."""


class TrustLevel(StrEnum):
    """How much evidence supports a result, in ascending order. Each level includes those before
    it, except that a result can be accepted without a review."""

    LOCAL = "local, not signed"
    """Signatures, reviews, waivers and the LOG were not read."""
    LOCAL_SIGNED = "local, signature not verified"
    """The same of a bundle that holds a signature of a submitter."""
    SUBMITTED = "submitted"
    REVIEWED = "reviewed"
    """A reviewer of another center accepts it."""
    ACCEPTED = "accepted"
    """The LOG says so."""
    REPRODUCED = "reproduced"
    """Another center has reproduced it."""

    def reaches(self, required: "TrustLevel") -> bool:
        """Whether this level is the required one or above it."""
        levels = list(TrustLevel)
        return levels.index(self) >= levels.index(required)


@dataclass(frozen=True)
class Reproduction:
    """A run of another center, on other boards, that repeats the configuration of an original.
    Both bundles pass."""

    path: Path
    principal: str
    """Who signed the reproduction."""
    original: Path
    items_per_s_percent: float
    """How much higher than that of the original, per accelerator."""
    joules_per_item_percent: float | None
    """None if one of the results has no energy per item."""
    agrees: bool
    """Whether the differences are within the board spread or the 95 % intervals: the original is
    then reproduced, otherwise the reproduction has failed (X119)."""

    shared: tuple[str, ...] = ()
    """What the two centers have in common in this round, such as `board GPU-…`; empty if
    nothing."""

    @property
    def center(self) -> str:
        """The center of the reproduction."""
        return self.principal.partition("@")[0].casefold()


@dataclass(frozen=True)
class Verdict:
    """The verdict on one bundle, on one file of published figures, or on a file of the round that
    belongs to no bundle: the LOG, a waiver, a commitment or the keyring. The latter have a verdict
    only if they have a finding.

    `standing` and `signer` are None if they could not be established. `standing` is that of the
    bundle, `published`, or one of `NON_BUNDLE_STANDINGS`.
    """

    path: Path
    standing: str | None
    signer: str | None
    findings: tuple[Finding, ...]
    rules_not_run: int = 0
    """How many rules were not run because the evidence cannot be read."""
    withdrawn: str = ""
    """Why the bundle was withdrawn; empty if it was not."""
    withdrawn_by: str = ""
    withdrawn_at: str = ""
    handed_in_by: tuple[str, ...] = ()
    """The principals who hand the bundle in, by good requests."""
    reviews: tuple[Review, ...] = ()
    """The reviews of the bundle whose signatures are good."""
    accepted: str = ""
    """The version of the rule book under which the LOG says that the bundle was accepted; empty if
    it was not."""
    manifest_sha256: str = ""
    """The SHA-256 of MANIFEST.json; empty if there is none."""
    is_local: bool = False
    """Whether signatures, reviews, waivers and the LOG were not read."""
    has_signature: bool = False
    """Whether the bundle holds a signature of a submitter, good or not."""
    reproductions: tuple[Reproduction, ...] = ()
    """The reproductions of the bundle in the round that count, those that have failed included."""
    reproduces: Reproduction | None = None
    """The bundle as a reproduction that counts. It supports its original and is no result of its
    own."""
    judged_standing: str | None = None
    """The standing whose rules were run (`Bundle.judged_standing`); None without evidence."""
    kept: object = field(default=None, compare=False)
    """What the argument `keep` of `judge_all` returned for the bundle, if it passed. For published
    figures, the object in the file; for a published study, its `PublishedStudy`."""

    @property
    def reviewers(self) -> tuple[str, ...]:
        """The principals whose review accepts the bundle."""
        return tuple(review.reviewer for review in self.reviews if review.verdict == "accept")

    @property
    def rejecters(self) -> tuple[str, ...]:
        """The principals whose review rejects the bundle."""
        return tuple(review.reviewer for review in self.reviews if review.verdict == "reject")

    @property
    def findings_that_bar_winning(self) -> tuple[Finding, ...]:
        """Why the bundle may not win a comparison yet: the findings of rules with `bars_winning`,
        such as X114. Empty if it may.

        A report gives a bundle with such findings no rank and names none as a winner. It states
        `found` of the findings as the reason. The findings bar nothing if they are waived or notes,
        nor once a reviewer accepts the bundle, except those that no review lifts. Up to rule book
        1.10.0, acceptance lifted them too.
        """
        if self.accepted and parse_version(self.accepted) < ACCEPTANCE_LIFTS_NO_BAR:
            return ()
        is_reviewed = bool(self.reviewers)
        return tuple(finding for finding in self.findings if _bars_winning(finding, is_reviewed))

    @property
    def reproducers(self) -> tuple[str, ...]:
        """The centers that have reproduced the bundle, each once."""
        return tuple(dict.fromkeys(r.center for r in self.reproductions if r.agrees))

    @property
    def trust_level(self) -> TrustLevel:
        """The highest level that the bundle has reached."""
        if self.is_local:
            return TrustLevel.LOCAL_SIGNED if self.has_signature else TrustLevel.LOCAL
        if self.status != "pass":
            return TrustLevel.SUBMITTED
        if self.accepted:
            return TrustLevel.REPRODUCED if self.reproducers else TrustLevel.ACCEPTED
        return TrustLevel.REVIEWED if self.reviewers else TrustLevel.SUBMITTED

    @property
    def status(self) -> str:
        """`fail`, `withdrawn` or `pass`."""
        if any(map(self.fails_by, self.findings)):
            return "fail"
        return "withdrawn" if self.withdrawn else "pass"

    def fails_by(self, finding: Finding) -> bool:
        """Whether a finding is an error that counts: no waiver lifts it, and no withdrawal.

        A withdrawal lifts errors of the evidence. Errors of form and integrity still count, since
        they leave open who withdrew which bundle.
        """
        if finding.severity != Severity.ERROR or finding.waived:
            return False
        rule = rules_by_id().get(finding.rule)
        # No rule: the finding is a failure of the checker, which a withdrawal does not lift.
        return not self.withdrawn or rule is None or isinstance(rule, FormRule)


def _bars_winning(finding: Finding, is_reviewed: bool) -> bool:
    rule = rules_by_id().get(finding.rule)
    if rule is None or finding.waived or finding.severity == Severity.NOTE:
        return False
    return rule.bars_winning and not (is_reviewed and rule.review_lifts_bar)


@dataclass(frozen=True)
class Round:
    """The verdicts on everything below some paths."""

    verdicts: tuple[Verdict, ...]
    """Sorted by path."""
    skipped: tuple[Path, ...]
    """Hidden directories, not judged."""
    submissions: tuple[Path, ...] = ()
    """The directories with the keyrings, and maybe a LOG and waivers, that the bundles belong
    to."""
    reused_count: int = 0
    """Of how many bundles an earlier check had judged the evidence."""


def build_internal_finding(path: Path, action: str, error: Exception) -> Finding:
    """The finding that the checker failed on the bundle `path` while `action`, such as "running
    rule T101"."""
    message = (
        f"The checker failed while {action} of {path}, so the bundle was not fully judged. "
        "Please report it."
    )
    found = f"{type(error).__name__}: {error}"
    return Finding(INTERNAL, Severity.ERROR, "", "", found, "a judgement", message)
