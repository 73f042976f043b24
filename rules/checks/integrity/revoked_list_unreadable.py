"""The list of revoked keys cannot be read

## What it does
Checks that OpenSSH can read the keyring's `revoked_signers`, if it exists: a key revocation list,
or lines of public keys (`KIND KEY COMMENT`, without the principal and the options of
`allowed_signers`), empty lines and comments.

## Why it is bad
If OpenSSH cannot read the whole list, it treats every key as revoked. No signature counts until the
list is corrected.

## What to do
Correct or remove the named line. Of a line of `allowed_signers`, copy only the kind and the key.

## Source
ssh-keygen(1), option `-Y verify` and section KEY REVOCATION LISTS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import REVOKED_LIST_UNREADABLE

RULE = FormRule(__name__, REVOKED_LIST_UNREADABLE, Severity.ERROR, added="1.3.0")
