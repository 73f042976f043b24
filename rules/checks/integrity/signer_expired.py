"""The signing key is not valid now

## What it does
Checks that the present time lies between `valid-after` and `valid-before` of the key's line in
`allowed_signers`, if these are given, both in UTC. For a bundle in `submissions/LOG`, the time of
its acceptance counts as well.

A review or a withdrawal by another center than that of the bundle is set aside with a note: the
keyring may change after it was made, and the bundle stands without it. A withdrawal that the LOG
lists stays in force.

## Why it is bad
The center limited the time for which it vouches for the key.

## What to do
Sign the bundle again with the present key of the center, or ask the administrator of the keyring to
extend the validity of the key.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import SIGNER_EXPIRED

RULE = FormRule(__name__, SIGNER_EXPIRED, Severity.ERROR)
