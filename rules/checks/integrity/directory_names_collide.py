"""The names of two directories look alike

## What it does
Compares the names of the directories that the bundle lies in with those beside them. It reports two
names that are equal after Unicode normalisation (NFKC) and case folding, such as `Example` and
`example`, or `strasse` and `straße`. A directory that holds an accepted bundle keeps its name.

## Why it is bad
Readers take the two directories for one center or one system. File systems that ignore case merge
them.

## What to do
Put the bundles into one directory, or rename the later one. Sign moved bundles again with
`bench-submit sign`.

## Source
Unicode Standard Annex #15 (NFKC) and section 3.13 of the Unicode Standard (case folding).
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import DIRECTORY_NAMES_COLLIDE

RULE = FormRule(__name__, DIRECTORY_NAMES_COLLIDE, Severity.ERROR, added="1.5.0")
