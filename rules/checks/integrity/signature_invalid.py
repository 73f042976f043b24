"""The signature does not fit the manifest

## What it does
Verifies each signature, whoever's key it is: the submitter's over the bytes of MANIFEST.json in the
namespace `submission@wattmark`; those of reviews, withdrawals and waivers over their own file, in
`review@wattmark`, `withdrawal@wattmark` and `waiver@wattmark`.

## Why it is bad
Either what is signed was changed afterwards, or the signature was made for something else, such as
another role or another bundle.

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
