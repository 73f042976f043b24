"""Gathers what a report shows: bundles and published figures below some paths, as far as the check accepts them."""

from collections.abc import Sequence
from pathlib import Path

from checker.engine import BESIDE, judge_all
from checker.files import MAX_BYTES, read_files, read_plain
from checker.find import below
from checker.load import read_evidence, read_published
from reporting.page import Content
from reporting.rows import Row, published, submitted
from rules.records import PUBLISHED_FORMAT, Json
from rules.rule import Bundle


class NothingFoundError(Exception):
    """There is nothing to report on; the message names the path."""


def collect(paths: Sequence[Path], keyring: Path | None = None) -> Content:
    """Judge everything below `paths`. What passes gives rows; what fails or was withdrawn is kept apart and gives none.

    Raises NothingFoundError for a path with nothing to judge, and checker.CheckerError where signatures cannot be
    verified at all.
    """
    for path in paths:
        places = below(path)
        if not places.bundles and not places.published:
            raise NothingFoundError(f"{path}: no bundle and no published figures there; name a directory that has some")
    rows: list[Row] = []
    papers: list[Json] = []
    rejected, withdrawn = [], []
    for verdict in judge_all(paths, keyring).verdicts:
        path = verdict.path
        if verdict.status == "fail":
            rejected.append(verdict)
        elif verdict.status == "withdrawn":
            withdrawn.append(verdict)
        elif verdict.standing in BESIDE:
            continue
        elif verdict.standing == "published":
            content = read_plain(path, path.name, MAX_BYTES["result.json"])
            paper = read_published(path, content, PUBLISHED_FORMAT)
            papers.append(paper)
            rows.extend(published(paper))
        else:
            evidence, _ = read_evidence(read_files(path))
            rows.append(submitted(Bundle(path, (), evidence), verdict))
    return Content(rows, papers, rejected, withdrawn)
