"""The signer may not sign what lies here

## What it does
Takes the center from the path (the first directory below the one that holds the keyring) and its
principals from the keyring (those of `allowed_signers` whose part before the `@` is the center's
name). Asks that each signature of a submitter is by one of these principals, and with a key that
the keyring accepts for it and for the namespace `submission@wattmark`. Asks of each review,
withdrawal and waiver that the keyring accepts the key for who signs and for the namespace of that
role, in a line that names the namespace.

## Why it is bad
Anyone can make a key and a good signature. It only means something where the key is known to be the
center's. The name in the bundle cannot say so: whoever forges a bundle chooses it.

## What to do
Move the bundle below the directory of the center that signed it, sign it with that center's key, or
ask the keeper of the keyring to add the key.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import SIGNER_NOT_OF_PATH

RULE = FormRule(__name__, SIGNER_NOT_OF_PATH, Severity.ERROR)
