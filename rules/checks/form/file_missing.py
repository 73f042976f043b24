"""A file of the bundle is missing

## What it does
Asks that a bundle holds result.json, system.json, environment.json, samples.csv.gz, batches.csv.gz,
log.txt.gz and MANIFEST.json, and that each can be read. A path to check with no bundle at or below
it is reported here too.

## Why it is bad
Every figure is recomputed from the evidence. Where a part is missing, the figure stands on
somebody's word.

## What to do
Copy the bundle again, whole, from where the run was made. The harness writes a bundle complete or
not at all, so a file was lost on the way.

## Source
Bundle format, `docs/design.md` section 6.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import FILE_MISSING

RULE = FormRule(__name__, FILE_MISSING, Severity.ERROR)
