"""The key that signed is not valid now

## What it does
Asks that the present time lies within `valid-after` and `valid-before` of the key's line in
`allowed_signers`, where these are given; both are read as UTC. Of a bundle that is in
`submissions/LOG` the time of its acceptance counts as well.

## Why it is bad
The center said for how long it answers for the key.

## What to do
Sign the bundle again with the center's present key, or ask the keeper of the keyring to prolong the
key.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import SIGNER_EXPIRED

RULE = FormRule(__name__, SIGNER_EXPIRED, Severity.ERROR)
