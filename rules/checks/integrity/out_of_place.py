"""A keyring, or published figures, below a center

## What it does
Looks for directories `keyring` below another one's, and for files in a directory `published` that
does not lie beside the keyring. The keyring that counts is the outermost at or above a bundle that
has a file `allowed_signers`. The others, and the LOG and the waivers beside them, count for
nothing. So do the figures: nobody has signed them.

## Why it is bad
A center could bring along its own keyring, and with it its own reviewers and waivers; or figures
that nobody measured. What is passed over in silence may be there to be taken for the real one.

## What to do
Remove it. Keys are added to the keyring of the round by whoever runs it, and published figures to
the directory beside it.

## Source
[Trust](../trust.md); ssh-keygen(1), option `-Y verify`.
"""

from rules.finding import Severity
from rules.rule import FormRule
from rules.rule_ids import OUT_OF_PLACE

RULE = FormRule(__name__, OUT_OF_PLACE, Severity.ERROR, added="1.3.0")
