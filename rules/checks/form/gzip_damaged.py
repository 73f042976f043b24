"""A compressed file cannot be decompressed to text

## What it does
Checks that samples.csv.gz, batches.csv.gz, log.txt.gz and, if the bundle has them, requests.csv.gz
and events.jsonl.gz are each one complete gzip stream of UTF-8 text, with nothing after the end of
the stream.

## Why it is bad
A truncated stream has lost its last samples. Some programs read data after the end of a stream and
others ignore it.

## What to do
Restore the file from the machine of the run.

## Source
RFC 1952 (GZIP file format), section 2.2.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import GZIP_DAMAGED

RULE = FormRule(__name__, GZIP_DAMAGED, Severity.ERROR)
