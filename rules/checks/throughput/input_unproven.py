"""Input or weights that are claimed and not named

## What it does
Asks that `settings` of result.json agrees with itself: `input` is `real` exactly where
`corpus_sha256` is the hash of a corpus, and `weights` is `seeded` or `sha256:` and the hash of a
checkpoint. The hash of nothing and a hash of one repeated digit are none.

## Why it is bad
Synthetic input that is called real, or random weights that are called trained, sound better than
they are. A hash lets anybody who has the file look whether it is the one.

## What to do
Give the harness the file (`--corpus`, `--weights`); it writes the hash. Otherwise declare
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

OF_NOTHING = hashlib.sha256(b"").hexdigest()


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    settings = bundle.result["settings"]
    corpus, weights = settings.get("corpus_sha256"), settings["weights"]
    if settings["input"] == "synthetic" and corpus is not None:
        yield _found(
            "/settings/input",
            "synthetic, with the hash of a corpus",
            "real, where a corpus was read",
        )
    if settings["input"] == "real" and not _is_hash(corpus):
        yield _found(
            "/settings/corpus_sha256", f"{corpus}, with real input", "the SHA-256 of the corpus"
        )
    if weights != "seeded" and not (
        weights.startswith("sha256:") and _is_hash(weights.removeprefix("sha256:"))
    ):
        yield _found(
            "/settings/weights", weights, "seeded, or sha256: and the hash of the checkpoint"
        )


def _is_hash(text: str | None) -> bool:
    """Whether this can be the SHA-256 of a file that holds something."""
    return (
        text is not None
        and re.fullmatch(r"[0-9a-f]{64}", text) is not None
        and len(set(text)) > 1
        and text != OF_NOTHING
    )


def _found(pointer: str, found: str, expected: str) -> Violation:
    return Violation(
        RESULT,
        pointer,
        found[:200],
        expected,
        "What the run read is claimed and not named. Name it, or do not claim it.",
    )
