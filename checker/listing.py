"""Bound what an output lists of bundles that fail, so that no output grows with what strangers hand
in."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from checker.verdict import Verdict
from rules.finding import format_count

MAX_CHARACTERS = 300_000
"""Characters of the findings of failing bundles that an output lists. A bundle with ten findings
has about 3 000."""


@dataclass(frozen=True)
class Listing:
    """The verdicts that an output lists, and how much it leaves out."""

    verdicts: tuple[Verdict, ...]
    unlisted_bundles: int = 0
    unlisted_findings: int = 0

    def describe_rest(self, kind: str = "failing") -> str:
        """How many bundles of this kind are left out, in words; empty if none are."""
        if not self.unlisted_bundles:
            return ""
        bundles = format_count(self.unlisted_bundles, f"more {kind} bundle")
        findings = format_count(self.unlisted_findings, "finding")
        return f"{bundles} with {findings}; check one by its path to list its findings"


def list_verdicts(verdicts: Sequence[Verdict], fails: Callable[[Verdict], bool]) -> Listing:
    """The verdicts in their order, without the failing bundles whose findings are beyond
    `MAX_CHARACTERS`. Bundles with fewer characters come first, so that a flood hides no other
    one."""
    sizes = {
        number: _count_characters(verdict)
        for number, verdict in enumerate(verdicts)
        if fails(verdict)
    }
    left, unlisted = MAX_CHARACTERS, set[int]()
    for number in sorted(sizes, key=lambda number: sizes[number]):
        left -= sizes[number]
        # A round of one bundle lists all of its findings.
        if left < 0 and len(sizes) > 1:
            unlisted.add(number)
    return Listing(
        tuple(verdict for number, verdict in enumerate(verdicts) if number not in unlisted),
        len(unlisted),
        sum(len(verdicts[number].findings) for number in unlisted),
    )


def _count_characters(verdict: Verdict) -> int:
    texts: Iterable[str] = (
        text
        for finding in verdict.findings
        for text in (finding.found, finding.expected, finding.message)
    )
    return len(str(verdict.path)) + len(verdict.withdrawn) + sum(map(len, texts))
