"""The bundle is signed for another place

## What it does
Compares the center and the system in MANIFEST.json with the directories that the bundle lies in,
`submissions/CENTER/SYSTEM/RUN`. A manifest of version 1 names neither. It is accepted only if
`rules_version` in result.json is older than 1.5.0.

## Why it is bad
A bundle that was moved shows the result of one center or system as that of another one. Without the
names in the signed manifest, a center that registers the public key of another center could present
the bundles of that center as its own.

## What to do
Move the bundle back to the directory that it was signed for. If the new directory is right, the
center of the bundle signs it again there with `bench-submit sign`.

## Source
[Trust](../trust.md), bundle format version 2 of the manifest.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import MANIFEST_OF_ANOTHER_PLACE

RULE = FormRule(__name__, MANIFEST_OF_ANOTHER_PLACE, Severity.ERROR, added="1.5.0")
