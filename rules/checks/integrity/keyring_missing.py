"""There is no keyring

## What it does
Looks for a directory `keyring` with a file `allowed_signers` beside the directories of the centers,
in the nearest directory at or above the bundle that has one. `--keyring` names another keyring.

## Why it is bad
Without a keyring no key belongs to a known principal, so no signature counts.

## What to do
Check bundles in their place below `submissions/`, or name a keyring with `--keyring`.
`--local` judges a run without one.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import KEYRING_MISSING

RULE = FormRule(__name__, KEYRING_MISSING, Severity.ERROR)
