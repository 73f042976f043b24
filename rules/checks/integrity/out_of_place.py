"""A keyring, published figures or a directory where none belongs

## What it does
Looks for a directory `keyring` below the directory of another keyring, and for files in a directory
`published` that is not beside the keyring. The valid keyring is the outermost one at or above a
bundle that has a file `allowed_signers`. The checker ignores other keyrings, the acceptance logs
and waivers beside them, and the unsigned figures in such a directory. The rule also reports
directories more than 16 levels below the checked path. The checker does not search them.

## Why it is bad
With a keyring of its own, a center could bring its own reviewers and waivers. With published
figures of its own, it could add values that nobody measured. A reader may mistake these files for
the valid ones. Bundles in very deep directories would not be judged. A bundle of a round is three
levels deep.

## What to do
Remove the directory. The administrator of the round adds keys to the keyring, and published figures
to the directory beside it.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import OUT_OF_PLACE

RULE = FormRule(__name__, OUT_OF_PLACE, Severity.ERROR, added="1.3.0")
