"""The signature of the submitter is missing

## What it does
Checks that the bundle contains `signatures/submission.<principal>.sig`. This holds for demo bundles
too, which are signed with a temporary key.

## Why it is bad
Without a signature nobody is responsible for the bundle, and changes cannot be detected.

## What to do
Sign the bundle with `bench-submit sign`, on the machine that has the key.

## Source
ssh-keygen(1), options `-Y verify` and section ALLOWED SIGNERS.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import SIGNATURE_MISSING

RULE = FormRule(__name__, SIGNATURE_MISSING, Severity.ERROR)
