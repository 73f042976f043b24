"""The signing key is revoked

## What it does
Checks that no signature of a submission, review, withdrawal or waiver is by a key in the keyring's
`revoked_signers`, even if the bundle was accepted before the key was revoked.

A review or a withdrawal by another center than that of the bundle is set aside with a note: the
keyring may change after it was made, and the bundle stands without it. A withdrawal that the LOG
lists stays in force.

## Why it is bad
A key is revoked when it was lost or stolen. Another person may have signed at any time, because an
SSH signature contains no date.

## What to do
Ask the center to sign the bundle again with its new key.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS. KEY REVOCATION LISTS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import SIGNER_REVOKED

RULE = FormRule(__name__, SIGNER_REVOKED, Severity.ERROR)
