"""The signer may not sign in this directory

## What it does
Takes the center from the path (the first directory below the one that contains the keyring) and the
principals of the center from the keyring (those of `allowed_signers` whose part before the `@` is
the name of the center). Checks that each signature of a submitter is by one of these principals,
with a key that the keyring accepts for it in the namespace `submission@wattmark`. Checks for each
review, withdrawal and waiver that the keyring accepts the key for the signer and for the namespace
of that role, in a line that names the namespace.

A review or a withdrawal by another center than that of the bundle is set aside with a note: the
keyring may change after it was made, and the bundle stands without it. A withdrawal that the LOG
lists stays in force.

## Why it is bad
Anyone can create a key and a valid signature. A signature counts only if the key is known to belong
to the center. The name inside the bundle is no proof, because the author of the bundle chooses it.

## What to do
Move the bundle to the directory of the center that signed it, sign it with the key of this center,
or ask the administrator of the keyring to add the key.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import SIGNER_NOT_OF_PATH

RULE = FormRule(__name__, SIGNER_NOT_OF_PATH, Severity.ERROR)
