"""One key is used under two names

## What it does
Looks for a key that the keyring lets two centers submit with. The first line keeps the key. The
later line is an error, and so is every bundle that is signed with the key below the later center.
It also compares the keys of the reviews of a bundle: a key counts for one reviewer.

## Why it is bad
A signature proves who has the private key. A center that registers the public key of another center
could present bundles of that center as its own. A person with two names could look like two
independent reviewers.

## What to do
Remove the later line of `allowed_signers`, and ask that center for a key that nobody else has.
Remove the second review.

## Source
[Trust](../trust.md), section on the keyring.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import KEY_UNDER_TWO_NAMES

RULE = FormRule(__name__, KEY_UNDER_TWO_NAMES, Severity.ERROR, added="1.5.0")
