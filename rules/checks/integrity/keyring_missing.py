"""There is no keyring

## What it does
Asks that a directory `keyring` with a file `allowed_signers` lies beside the centers' directories,
in the nearest directory at or above the bundle that has one; or is named with `--keyring`.

## Why it is bad
Without a keyring no key is known to be anybody's, so no signature counts.

## What to do
Check bundles where they lie in `submissions/`, or name a keyring with `--keyring`.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import KEYRING_MISSING

RULE = FormRule(__name__, KEYRING_MISSING, Severity.ERROR)
