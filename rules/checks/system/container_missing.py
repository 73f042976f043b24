"""Closed results without a container's digest

## What it does
Asks, of closed bundles, that environment.json has the digest of the container that the run was made
in: `sha256:` and 64 digits.

## Why it is bad
The versions of some twenty packages are recorded, and an image holds hundreds, the system's
libraries among them. Who wants to repeat the run has to guess the rest. It is a note, because
centers without containers must be able to submit, and because packages, driver and sources, whose
absence M106 and M108 tell, decide nearly all of the throughput.

## What to do
Run in one of the images of `containers/`, whose launcher hands the digest over in
`WATTMARK_CONTAINER`.

## Source
Bundle format, environment.json, `container`.
"""

import re
from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import ENVIRONMENT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M112", Severity.NOTE, standings=("closed",), added="1.3.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    container = bundle.environment["container"]
    if container is None or not re.search(r"sha256:[0-9a-f]{64}$", container[-80:], re.ASCII):
        message = (
            "The whole software cannot be had again. Run in an image, and hand its digest over."
        )
        found = "none" if container is None else f"{container[:200]}, which has no digest"
        yield Violation(
            ENVIRONMENT, "/container", found, "sha256: and the digest of the image", message
        )
