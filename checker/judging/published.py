"""Judge files of published figures."""

from dataclasses import replace
from pathlib import Path

from checker.judging.bundle_judge import JudgedBundle, judge_problems
from checker.judging.kept import pack
from checker.judging.verdict_cache import VerdictCache, hash_published
from checker.trust.authority import check_published_location
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import MAX_JSON_BYTES, Refused, read_plain
from rules.bundle_format.records import PUBLISHED_FORMAT, Json
from rules.bundle_format.study_records import PUBLISHED_STUDY_FORMAT
from rules.finding import Problem
from rules.studies.published import PublishedStudy, parse_published_study
from rules.studies.trends.reader import parse_trends_study
from rules.studies.trends.records import TRENDS, TrendsStudy


def judge_published(path: Path, cache: VerdictCache | None = None) -> JudgedBundle:
    """Judge a file of published figures: its location and its form. Nobody signs it. What a file
    that passes holds is kept in the verdict, unless the cache knows the file and has no `keeper`: a
    study as its record, other figures as the object."""
    kept: Json | PublishedStudy | TrendsStudy | None = None
    packed_kept = b""
    problems: tuple[Problem, ...] = ()
    try:
        check_published_location(path)
        content = read_plain(path, path.name, MAX_JSON_BYTES)
        hashes = hash_published(path, content)
        has_passed = cache is not None and cache.has_passed(path, content)
        if cache and has_passed and cache.keeper:
            packed_kept = cache.read_kept(path, hashes)
        if not has_passed or (cache and cache.keeper and not packed_kept):
            kept = _parse_published(path.name, content)
            if cache:
                cache.keep_passed(path, content)
                if cache.keeper:
                    cache.write_kept(path, hashes, pack(kept))
    except Refused as refusal:
        problems = refusal.problems
    verdict = replace(judge_problems(path, "published", problems), kept=kept)
    return JudgedBundle(verdict, packed_kept=packed_kept)


def _parse_published(name: str, content: bytes) -> Json | PublishedStudy | TrendsStudy:
    document = read_document(name, content, PUBLISHED_FORMAT, PUBLISHED_STUDY_FORMAT)
    if document["format"] != PUBLISHED_STUDY_FORMAT:
        return document
    if document["study"] == TRENDS:
        return parse_trends_study(name, document)
    return parse_published_study(name, document)
