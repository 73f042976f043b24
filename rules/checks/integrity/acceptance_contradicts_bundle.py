"""The acceptance log and the bundle contradict each other

## What it does
Checks that the run ended before the bundle was accepted, with a tolerance of one day for clock
differences. Checks that the rule book which accepted the bundle is not older than the rule book
that the bundle states.

## Why it is bad
An acceptance date that is too early would lift the expiry of keys and waivers. A rule book that is
too old would turn errors into notes. If log and bundle contradict each other, the acceptance does
not count for this bundle.

## What to do
Restore `submissions/LOG` from the history of the repository. If the clock of the node was wrong,
withdraw the bundle and repeat the run.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import ACCEPTANCE_CONTRADICTS_BUNDLE

RULE = FormRule(__name__, ACCEPTANCE_CONTRADICTS_BUNDLE, Severity.ERROR, added="1.3.0")
