"""A packed file cannot be unpacked to text

## What it does
Asks that samples.csv.gz, batches.csv.gz and log.txt.gz are each one complete gzip stream of UTF-8
text, with nothing after its end.

## Why it is bad
A cut stream has lost its last samples. What follows the end of a stream is read by some programs
and not by others.

## What to do
Restore the file from where the run was made.

## Source
RFC 1952 (GZIP file format), section 2.2.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import GZIP_DAMAGED

RULE = FormRule(__name__, GZIP_DAMAGED, Severity.ERROR)
