"""The manifest lists a path outside the bundle

## What it does
Asks that every path in MANIFEST.json is a plain relative path: not absolute, without `..`, without
a backslash, in its shortest form. Such a path is never opened.

## Why it is bad
Whoever verifies the bundle with `sha256sum -c` reads the listed paths. One that leaves the bundle
makes them read files of their own.

## What to do
Make the manifest anew with the harness.

## Source
CWE-22, Improper Limitation of a Pathname to a Restricted Directory.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import MANIFEST_PATH_UNSAFE

RULE = FormRule(__name__, MANIFEST_PATH_UNSAFE, Severity.ERROR)
