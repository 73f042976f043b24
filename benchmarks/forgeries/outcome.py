"""What became of a forged bundle."""

from collections.abc import Sequence
from dataclasses import dataclass

MIN_GAIN = 0.05
"""Gain from which a strategy counts in the limits of docs/forensics.md."""

Findings = Sequence[Sequence[str]]
"""Pairs of rule and severity."""


@dataclass(frozen=True)
class Outcome:
    """The gain of a strategy as a share of the honest figures, and the findings on its bundle."""

    title: str
    items_per_s_gain: float
    items_per_joule_gain: float
    alone: Findings
    beside_others: Findings
    """In a round that holds other runs of the setting."""
    beside_original: Findings
    """In a round that holds the honest run, too."""

    @property
    def gains_much(self) -> bool:
        return max(self.items_per_s_gain, self.items_per_joule_gain) >= MIN_GAIN


def is_warned(findings: Findings) -> bool:
    """Whether a finding is a warning or an error."""
    return any(severity != "note" for _, severity in findings)


def render_findings(findings: Findings) -> str:
    """Errors in bold, warnings plain, notes in parentheses."""
    styles = {"error": "**{}**", "warning": "{}", "note": "({})"}
    order = list(styles)
    ordered = sorted(findings, key=lambda finding: (order.index(finding[1]), finding[0]))
    return " ".join(styles[severity].format(rule) for rule, severity in ordered) or "none"


def render_added(base: Findings, findings: Findings) -> str:
    """What findings have that `base` does not. Where they lack one of `base`, all of them."""
    known, own = ({tuple(finding) for finding in each} for each in (base, findings))
    return render_findings(sorted(own - known if known <= own else own)).replace("none", "")
