"""The signature does not match the signed file

## What it does
Verifies each signature, regardless of whose key made it: the signature of the submitter over the
bytes of MANIFEST.json in the namespace `submission@wattmark`, and those of reviews, withdrawals and
waivers over their own file in `review@wattmark`, `withdrawal@wattmark` and `waiver@wattmark`.

## Why it is bad
Either the signed file was changed afterwards, or the signature was made for another purpose, such
as another role or another bundle.

## What to do
Restore the file, or have it signed again: `bench-submit sign`, `bench-check review`, `withdraw` or
`waive`.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import SIGNATURE_INVALID

RULE = FormRule(__name__, SIGNATURE_INVALID, Severity.ERROR)
