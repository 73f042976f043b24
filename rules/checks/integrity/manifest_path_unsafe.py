"""The manifest lists a path outside the bundle

## What it does
Checks that every path in MANIFEST.json is a plain relative path in normal form: not absolute,
without `..` and without a backslash. The checker never opens another path.

## Why it is bad
`sha256sum -c` reads the listed paths. A path that leaves the bundle makes it read other files of
the user.

## What to do
Create the manifest again with the harness.

## Source
CWE-22, Improper Limitation of a Pathname to a Restricted Directory.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import MANIFEST_PATH_UNSAFE

RULE = FormRule(__name__, MANIFEST_PATH_UNSAFE, Severity.ERROR)
