"""A closed result without the digest of its container

## What it does
Checks that environment.json of closed bundles contains the digest of the container image of the
run: `sha256:` and 64 hexadecimal digits.

## Why it is bad
A bundle records the versions of about twenty packages. An image contains hundreds of packages,
including system libraries, so nobody can repeat the run exactly without the image.

The finding is only a note. Centers without containers must be able to submit, and nearly all of the
throughput depends on packages, driver and sources, which M106 and M108 check.

## What to do
Run in one of the images of `containers/`. Their launcher passes the digest in `WATTMARK_CONTAINER`.

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


def has_digest(container: str) -> bool:
    """Whether the text for `container` ends with the digest of an image."""
    return re.search(r"sha256:[0-9a-f]{64}$", container[-80:], re.ASCII) is not None


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    container = bundle.environment_declaration.container
    # A name or tag can point to another image tomorrow. Only the digest identifies its content.
    if container is None or not has_digest(container):
        observed = "none" if container is None else f"{container[:200]}, without a digest"
        yield Violation(ENVIRONMENT, "/container", observed, "sha256: and the digest of the image")
