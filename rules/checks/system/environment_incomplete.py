"""The software environment is not stated

## What it does
Checks that environment.json states packages, the driver and the origin of the code: a git commit, a
container, or a hash of the sources that is not all zeros.

## Why it is bad
Nobody can repeat a run without knowing its software. The run stands and is shown as not repeatable.

## What to do
Run from a git checkout or a container, and submit environment.json as `bench-submit` wrote it.

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
    environment = bundle.environment_declaration
    if not environment.packages:
        expected = "the installed packages and their versions"
        yield Violation(ENVIRONMENT, "/packages", "none", expected)
    if environment.driver is None:
        expected = "the version of the accelerator's driver"
        yield Violation(ENVIRONMENT, "/driver", "null", expected)
    # A hash of zeros is a placeholder, not the hash of sources.
    has_hash = set(environment.source_sha256) != {"0"}
    if environment.git is None and environment.container is None and not has_hash:
        yield Violation(
            ENVIRONMENT,
            "/source_sha256",
            "neither commit, container nor hash",
            "a git commit, a container or a hash of the sources",
        )
