"""The submitter's signature is missing

## What it does
Asks that the bundle holds `signatures/submission.<principal>.sig`. This holds for demo bundles too,
which are signed with a throw-away key.

## Why it is bad
Without a signature nobody stands for the bundle, and nobody can tell whether it was changed.

## What to do
Sign it with `bench-submit sign`, on the machine where the key is.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import SIGNATURE_MISSING

RULE = FormRule(__name__, SIGNATURE_MISSING, Severity.ERROR)
