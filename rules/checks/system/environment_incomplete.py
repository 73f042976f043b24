"""An environment that does not say with what was measured

## What it does
Asks that environment.json names packages, the driver, and where the code came from: a git commit, a
container, or a hash of the sources that is not all zeros.

## Why it is bad
Nobody can repeat a run without knowing with what it was made. The run stands; it is shown as not
repeatable.

## What to do
Run from a git checkout or a container, and hand in environment.json as `bench-submit` writes it.

## Source
Bundle format, environment.json.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import ENVIRONMENT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M106", Severity.WARNING, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    environment = bundle.environment
    message = "With what was measured cannot be told. Hand in the environment as it was recorded."
    if not environment["packages"]:
        yield Violation(
            ENVIRONMENT, "/packages", "none", "the installed packages and their versions", message
        )
    if environment["driver"] is None:
        yield Violation(
            ENVIRONMENT, "/driver", "null", "the version of the accelerator's driver", message
        )
    hashed = set(environment["source_sha256"]) != {"0"}
    if environment["git"] is None and environment["container"] is None and not hashed:
        expected = "a git commit, a container or a hash of the sources"
        yield Violation(
            ENVIRONMENT, "/source_sha256", "neither commit, container nor hash", expected, message
        )
