"""Input or weights are stated without a valid hash

## What it does
Checks that `settings` of result.json is consistent: `input` is `real` if and only if
`corpus_sha256` is the hash of a corpus, and `weights` is `seeded`, or `sha256:` and the hash of a
checkpoint. The hash of an empty file and a hash of one repeated digit are invalid.

## Why it is bad
Synthetic input that is stated as real, or random weights that are stated as trained, overstate the
result. With a hash, anybody who has the file can verify it.

## What to do
Pass the file to the harness (`--corpus`, `--weights`), which writes the hash. Otherwise declare
`synthetic` and `seeded`.

## Source
Bundle format, result.json, `settings`. Protocol, section "input".
"""

import hashlib
import re
from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T112", Severity.ERROR, added="1.3.0")

HASH_OF_EMPTY_FILE = hashlib.sha256(b"").hexdigest()


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    settings = bundle.settings
    corpus_sha256, weights = settings.corpus_sha256, settings.weights
    if settings.input == "synthetic" and corpus_sha256 is not None:
        observed = "synthetic, with the hash of a corpus"
        yield Violation(RESULT, "/settings/input", observed, "real, because a corpus was read")
    # Both directions are wrong: a hash without a corpus, and a corpus without a hash.
    if settings.input == "real" and not _is_file_hash(corpus_sha256):
        observed = f"{corpus_sha256}, with real input"[:200]
        expected = "the SHA-256 of the corpus"
        yield Violation(RESULT, "/settings/corpus_sha256", observed, expected)
    is_hash = weights.startswith("sha256:") and _is_file_hash(weights.removeprefix("sha256:"))
    if weights != "seeded" and not is_hash:
        expected = "seeded, or sha256: and the hash of the checkpoint"
        yield Violation(RESULT, "/settings/weights", weights[:200], expected)


def _is_file_hash(text: str | None) -> bool:
    """Whether the text can be the SHA-256 of a file that is not empty."""
    return (
        text is not None
        and re.fullmatch(r"[0-9a-f]{64}", text) is not None
        # A hash of one repeated digit is a placeholder.
        and len(set(text)) > 1
        and text != HASH_OF_EMPTY_FILE
    )
