"""A line of the keyring is ambiguous

## What it does
Checks that OpenSSH can read each line of the keyring's `allowed_signers` with its options and dates
(`valid-before="20261231"`), that the principals contain no `*`, `?` or `!`, and that `namespaces=`
lists the roles of the key explicitly: `submission@wattmark`, `review@wattmark`,
`withdrawal@wattmark`, `waiver@wattmark`.

## Why it is bad
OpenSSH skips a line that it cannot read. A key without namespaces, or with a pattern for them, is
valid for every role.

## What to do
Correct the line. For reviewers, withdrawals and waivers, only a line that names the namespace
counts.

## Source
ssh-keygen(1), section ALLOWED SIGNERS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import KEYRING_LINE_UNCLEAR

RULE = FormRule(__name__, KEYRING_LINE_UNCLEAR, Severity.WARNING, added="1.3.0")
