"""What the summaries of runs and of studies have in common."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar, TypeVar


@dataclass(frozen=True)
class Challenge:
    """A seed that somebody of another center issues for reproductions of a bundle."""

    issued_by: str
    issued_at: str
    """In UTC, such as 2026-11-29T12:00:00Z."""
    seed: int


@dataclass(frozen=True)
class BundleSummary:
    """What the rules across bundles need to know of every bundle."""

    KIND: ClassVar[str] = "run"
    """The name of the `BundleKind`."""

    path: Path
    center: str
    signer: str | None
    """None without a good signature."""
    manifest_sha256: str
    """Identifies the bundle; empty if the manifest was not read."""
    until_s: float
    """Its end by its own clock, in s of Unix time. NaN if it is not a date."""
    log_line: int | None = field(default=None, kw_only=True)
    """The line of the LOG that accepts the bundle; None if none does."""
    committed_line: int | None = field(default=None, kw_only=True)
    """The first line of the LOG that has a commitment of its center to the bundle; None if there is
    none."""
    withdrawn: bool = field(default=False, kw_only=True)
    withdrawn_by_round: bool = field(default=False, kw_only=True)
    """Whether it was withdrawn by whoever runs the round and not by its own center."""
    challenges: tuple[Challenge, ...] = field(default=(), kw_only=True)
    """The seeds that its reproductions may use."""
    needs_challenge: bool = field(default=True, kw_only=True)
    """Whether only reproductions with the seed of a challenge count: not for bundles that were
    accepted under rule books before 1.12.0."""
    name_parts: int = field(default=3, kw_only=True)
    """How many parts of the path the name has: center, system and run."""

    @property
    def first_line(self) -> int | None:
        """The first line of the LOG that has the hash of the bundle: a commitment or its
        acceptance. None if the LOG has none."""
        return min(filter(None, (self.committed_line, self.log_line)), default=None)

    @property
    def name(self) -> str:
        """The end of the path. Findings name another bundle so."""
        return Path(*self.path.parts[-self.name_parts :]).as_posix()


Summary = TypeVar("Summary", bound=BundleSummary)


def find_center(path: Path, signer: str | None) -> str:
    """The center of the bundle in the directory `path`: that of its signer, or of the path without
    one."""
    return (signer or path.parent.parent.name).partition("@")[0].casefold()


def parse_date(date: str) -> float:
    """A date of a document in s of Unix time, NaN if it does not exist."""
    try:
        return datetime.fromisoformat(date).timestamp()
    except ValueError:
        return float("nan")


def distinguish_names(bundles: Iterable[Summary]) -> list[Summary]:
    """The summaries, in their order, with names that are unique. Bundles of two roots can have the
    same center, system and run, so their names have more parts of the path."""
    named = list(bundles)
    while True:
        counts = Counter(name for name, _ in {(bundle.name, bundle.path) for bundle in named})
        if all(count == 1 for count in counts.values()):
            return named
        named = [
            replace(bundle, name_parts=bundle.name_parts + 1) if counts[bundle.name] > 1 else bundle
            for bundle in named
        ]
