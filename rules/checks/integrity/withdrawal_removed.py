"""A withdrawal was removed

## What it does
Checks that each bundle which was withdrawn according to the acceptance log has a valid withdrawal
in `signatures/`.

## Why it is bad
The withdrawn bundle would be compared again, without any notice to readers.

## What to do
Restore the two files of the withdrawal from the history of the repository. A withdrawal is final:
repeat the run to submit it again.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import WITHDRAWAL_REMOVED

RULE = FormRule(__name__, WITHDRAWAL_REMOVED, Severity.ERROR, added="1.3.0")
