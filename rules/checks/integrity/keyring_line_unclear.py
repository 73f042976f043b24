"""A line of the keyring is unclear

## What it does
Asks that each line of the keyring's `allowed_signers` is one that OpenSSH reads, spells out its
principals, without `*`, `?` or `!`, and spells out in `namespaces=` what the key is for:
`submission@wattmark`, `review@wattmark`, `withdrawal@wattmark`, `waiver@wattmark`.

## Why it is bad
OpenSSH passes over a line that it cannot read, and a key without namespaces, or with a pattern for
them, is good for all.

## What to do
Mend the line. For the roles of reviewer, withdrawer and waiver only a line counts that names the
namespace.

## Source
ssh-keygen(1), section ALLOWED SIGNERS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import KEYRING_LINE_UNCLEAR

RULE = FormRule(__name__, KEYRING_LINE_UNCLEAR, Severity.WARNING, added="1.3.0")
