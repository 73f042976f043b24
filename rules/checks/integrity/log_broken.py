"""The LOG is broken

## What it does
Reads `submissions/LOG` line by line. Asks that each line is whole, of its schema, and holds the
SHA-256 of the line before; that neither times nor versions of the rule book go back; that no time
lies more than a day ahead, and each version is one of a rule book that there is; that a directory
is accepted once; and that only what was accepted is withdrawn, once.

## Why it is bad
The LOG says which bundle was accepted when, and by which rule book. A line that was changed,
dropped, moved or put in breaks the chain. A broken LOG speaks for no bundle: all are judged by the
present rule book.

## What to do
Restore the LOG from the repository's history; lines are only ever appended, with `bench-check
accept`. Lines missing at the end do not break the chain: compare the head that `bench-check verify`
prints with the one that was published.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import LOG_BROKEN

RULE = FormRule(__name__, LOG_BROKEN, Severity.ERROR, added="1.3.0")
