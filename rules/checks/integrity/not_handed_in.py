"""The center of the bundle does not hand it in

## What it does
Looks for a good request in `signatures/` of the bundle: a statement of its own center that hands it
in to this round, with the title in `submissions/round.toml` if there is one. The rule reports
bundles of rule book 1.12.0 or newer without such a request, and names who hands them in instead.

A bundle with this finding wins no comparison. No review and no acceptance changes that.

## Why it is bad
A center signs its runs when they end, and hands in some of them. Whoever has a signed run could
hand in one that its center discarded.

## What to do
The center runs `bench-check request`. `bench-submit sign` writes the request too if the bundle lies
in a directory with a keyring.

## Source
[Trust](../trust.md#requests); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import NOT_HANDED_IN

RULE = FormRule(
    __name__,
    NOT_HANDED_IN,
    Severity.WARNING,
    added="1.12.0",
    bars_winning=True,
    review_lifts_bar=False,
)
