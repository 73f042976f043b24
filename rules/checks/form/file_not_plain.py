"""A file of the bundle is a link or a device

## What it does
Checks that every file of a bundle is a regular file, that `signatures` and the bundle itself are
directories, and that no entry is a symbolic link, FIFO, socket or device. The checker opens and
follows none of these.

## Why it is bad
A link may point to something that changes from reader to reader, or that lies outside the
submission. Opening a FIFO or a device may block the checker or return endless data.

## What to do
Replace the link with a copy of its target.

## Source
CWE-59, Improper Link Resolution Before File Access.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import FILE_NOT_PLAIN

RULE = FormRule(__name__, FILE_NOT_PLAIN, Severity.ERROR)
