"""A file of the bundle is missing

## What it does
Checks that a bundle contains result.json, system.json, environment.json, samples.csv.gz,
batches.csv.gz, log.txt.gz and MANIFEST.json, those of requests.csv.gz and events.jsonl.gz that the
manifest lists, and that each file can be read. The rule also reports a path on the command line
that contains no bundle.

## Why it is bad
Every figure is recomputed from the evidence. If a file is missing, the figures cannot be verified.

## What to do
Copy the whole bundle again from the machine of the run. The harness writes a bundle completely or
not at all, so the file was lost afterwards.

## Source
Bundle format, `docs/design.md` section 6.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import FILE_MISSING

RULE = FormRule(__name__, FILE_MISSING, Severity.ERROR)
