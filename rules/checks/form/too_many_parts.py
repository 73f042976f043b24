"""The bundle has more epochs, ranks or accelerators than any run

## What it does
Counts the parts of a run that the tables, result.json and system.json name. A bundle has at most 1
000 epochs, 512 ranks, 512 nodes, 512 accelerators, 8 192 pairs of epoch and rank, 8 192 pairs of
epoch and accelerator, 8 192 readbacks, and 512 different texts in a column of a table. Epochs and
ranks count from 0. A study has at most 2 400 entries, 128 sessions, 40 000 points, 110 000 parts of
points, 10 000 readbacks, and 4 096 architectures.

## Why it is bad
The time and memory of judging grow with the number of parts and not only with the size of the
files. A file of some megabytes can name millions of them. Protocol 1.0 has 11 epochs, and 512
accelerators are 64 nodes of eight boards. They have 5 632 parts. A thousand epochs of 30 s take
more than eight hours.

## What to do
Check the program that wrote the file. If a real run needs more, open an issue: the rule book sets
these limits.

## Source
CWE-770, Allocation of Resources Without Limits or Throttling.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import TOO_MANY_PARTS

RULE = FormRule(__name__, TOO_MANY_PARTS, Severity.ERROR, added="1.5.0")
