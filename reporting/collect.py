"""Gathers what a report shows: bundles and published figures below some paths, as far as the check
accepts them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.engine import judge_all
from checker.find import find_places
from checker.verdict import NON_BUNDLE_STANDINGS, Verdict
from reporting.results_model import ResultRow, build_published_rows, build_submitted_row
from reporting.run_record import RunRecord, summarize_bundle
from rules.bundle import Bundle
from rules.bundle_format.files import MAX_BYTES, read_files, read_plain
from rules.bundle_format.load import read_published, read_tables
from rules.bundle_format.records import PUBLISHED_FORMAT, Json


class NothingFoundError(Exception):
    """There is nothing to report on; the message names the path."""


@dataclass(frozen=True)
class Collected:
    """What a report is made of. `rejected` are verdicts of what failed the check, `withdrawn` of
    bundles that no longer stand."""

    rows: Sequence[ResultRow]
    papers: Sequence[Json]
    rejected: Sequence[Verdict]
    withdrawn: Sequence[Verdict]

    @property
    def bundles_rejected(self) -> int:
        """How many of `rejected` are bundles or files of figures: the LOG, a waiver and the keyring
        are neither."""
        return sum(verdict.standing not in NON_BUNDLE_STANDINGS for verdict in self.rejected)


def collect(paths: Sequence[Path], keyring: Path | None = None) -> Collected:
    """Judge everything below `paths`. What passes gives rows; what fails or was withdrawn is kept
    apart and gives none.

    Raises NothingFoundError for a path with nothing to judge, and checker.CheckerError where
    signatures cannot be verified at all.
    """
    for path in paths:
        places = find_places(path)
        if not places.bundles and not places.published:
            raise NothingFoundError(
                f"{path}: no bundle and no published figures found; name a directory with some"
            )
    verdicts = judge_all(paths, keyring, keep=summarize_bundle).verdicts
    passed = [v for v in verdicts if v.status == "pass"]
    papers = [_read_paper(v.path) for v in passed if v.standing == "published"]
    rows = [build_submitted_row(v.kept, v) for v in passed if isinstance(v.kept, RunRecord)]
    for paper in papers:
        rows.extend(build_published_rows(paper))
    failed, withdrawn = (
        [v for v in verdicts if v.status == status] for status in ("fail", "withdrawn")
    )
    return Collected(rows, papers, failed, withdrawn)


def read_bundle(path: Path) -> Bundle:
    """An accepted bundle, with its raw tables."""
    return Bundle(path, (), read_tables(read_files(path))[0])


def _read_paper(path: Path) -> Json:
    return read_published(
        path, read_plain(path, path.name, MAX_BYTES["result.json"]), PUBLISHED_FORMAT
    )
