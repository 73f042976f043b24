"""Baselines: files of findings that `bench-check --baseline` shows but does not fail."""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import click

from checker.output import OutputError, refuse_output, write_output
from checker.printable import printable
from checker.verdict import INTERNAL, Verdict
from rules.finding import Finding

_MARK = "# Findings that are known: "
"""How every baseline begins, whichever version of bench-check wrote it."""
HEADER = (
    f"{_MARK}bench-check --baseline shows them and does not fail. For developing a submission;",
    "# reviewers do not use it. Columns, separated by tabs: rule, bundle, file, place, "
    "fingerprint. Written by --write-baseline.",
)


@dataclass(frozen=True)
class BaselineLine:
    """One finding of a baseline."""

    rule: str
    bundle: str
    """See `bundle_key`."""
    file: str
    place: str
    fingerprint: str

    @property
    def text(self) -> str:
        """The columns, separated by spaces."""
        return " ".join((self.rule, self.bundle, self.file, self.place, self.fingerprint))


def bundle_key(path: Path) -> str:
    """The name of a bundle, CENTER/SYSTEM/RUN. It does not depend on where the submissions lie, nor
    on the working directory."""
    return _name_last_parts(os.path.normpath(path.absolute()))


@lru_cache(maxsize=1024)
def _name_last_parts(path: str) -> str:
    return printable("/".join(Path(path).parts[-3:]))


def compute_fingerprint(verdict: Verdict, finding: Finding) -> str:
    """A hash of a finding in 16 hexadecimal digits: of its rule, bundle, file, place and of what
    was found.

    The order of the findings, the working directory and the wording of advice do not change it.
    """
    # Without the message: a reworded message must not make a known finding new.
    parts = (finding.rule, bundle_key(verdict.path), finding.file, finding.pointer, finding.found)
    # NUL separates the parts, because `printable` leaves none inside them.
    return hashlib.sha256("\0".join(map(printable, parts)).encode()).hexdigest()[:16]


def refuse_baseline(path: Path) -> None:
    """Raises click.BadParameter if a baseline may not be written to `path`."""
    try:
        refuse_output(path, _MARK)
    except OutputError as error:
        raise click.BadParameter(str(error), param_hint="--write-baseline") from None


def write_baseline(path: Path, verdicts: Iterable[Verdict]) -> None:
    """Write a baseline of all findings of `verdicts`, sorted by bundle, one a line. Raises
    click.BadParameter if it may not be written, and UnwritableError if it cannot."""
    lines = {
        (
            bundle_key(verdict.path),
            finding.rule,
            printable(finding.file) or "-",
            printable(finding.pointer) or "-",
            compute_fingerprint(verdict, finding),
        )
        for verdict in verdicts
        for finding in verdict.findings
        # A failure of the checker never counts as known.
        if finding.rule != INTERNAL
    }
    rows = ("\t".join((rule, bundle, *rest)) for bundle, rule, *rest in sorted(lines))
    text = "".join(f"{line}\n" for line in (*HEADER, *rows))
    try:
        write_output(path, text, _MARK)
    except OutputError as error:
        raise click.BadParameter(str(error), param_hint="--write-baseline") from None


def read_baseline(path: Path) -> tuple[BaselineLine, ...]:
    """Read a baseline. Raises click.BadParameter if the file is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(
            f"{path}: cannot be read: {error}", param_hint="--baseline"
        ) from None
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) != 5:
                message = (
                    f"{path}: line {number} is not a line of a baseline; write the file with "
                    "--write-baseline"
                )
                raise click.BadParameter(message, param_hint="--baseline")
            lines.append(BaselineLine(*cells))
    return tuple(lines)
