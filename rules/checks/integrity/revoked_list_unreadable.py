"""The list of revoked keys cannot be read

## What it does
Asks that the keyring's `revoked_signers`, where there is one, is what OpenSSH reads: a key
revocation list, or lines of public keys (`KIND KEY COMMENT`, without the principal and the options
of `allowed_signers`), blank ones and comments.

## Why it is bad
OpenSSH takes every key for revoked where it cannot read the list to its end. So nobody is trusted
until it is mended.

## What to do
Mend or remove the line that is named: of a line of `allowed_signers` only the kind and the key
belong here.

## Source
ssh-keygen(1), option `-Y verify` and section KEY REVOCATION LISTS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import REVOKED_LIST_UNREADABLE

RULE = FormRule(__name__, REVOKED_LIST_UNREADABLE, Severity.ERROR, added="1.3.0")
