"""The LOG and the bundle contradict each other

## What it does
Asks that the run had ended when the bundle was accepted, to within a day, since clocks differ; and
that the rule book which accepted it is not older than the one that the bundle says it was made
with.

## Why it is bad
An earlier date would lift the expiry of keys and waivers, and an older rule book would turn errors
into notes. Where they contradict each other, the acceptance does not count for this bundle.

## What to do
Restore the LOG from the repository's history. Where the clock of the node was wrong, withdraw the
bundle and make the run anew.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import ACCEPTANCE_CONTRADICTS_BUNDLE

RULE = FormRule(__name__, ACCEPTANCE_CONTRADICTS_BUNDLE, Severity.ERROR, added="1.3.0")
