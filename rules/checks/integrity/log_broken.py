"""The acceptance log is invalid

## What it does
Reads `submissions/LOG` line by line and checks that

- each line is complete, matches its schema and contains the SHA-256 of the line before;
- times and rule book versions never decrease;
- no time is more than one day in the future, and each version is that of a released rule book;
- each directory is accepted once;
- only accepted bundles are withdrawn, each once;
- with `--expect-head HASH`, one of the lines has this hash.

## Why it is bad
The acceptance log states when each bundle was accepted, and by which rule book. A line that was
changed, removed, moved or inserted breaks the hash chain. An invalid log counts for no bundle: the
present rule book then judges all of them.

## What to do
Restore the log from the history of the repository. Only append lines, with `bench-check accept`.
Lines missing at the end do not break the chain. Give the published head with `--expect-head`.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import LOG_BROKEN

RULE = FormRule(__name__, LOG_BROKEN, Severity.ERROR, added="1.3.0")
