"""Collects the accepted bundles and published figures below some paths."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from checker.engine import judge_all
from checker.find import PUBLISHED_DIR, find_places
from checker.judging.bundle_judge import JudgedBundle
from checker.judging.verdict_cache import VerdictCache
from checker.listing import Listing, list_verdicts
from checker.trust.manifest import find_manifest_problems
from checker.verdict import NON_BUNDLE_STANDINGS, Verdict
from reporting.foreign.evidence import Foreign
from reporting.observed_record import (
    ObservedJob,
    ObservedRecord,
    record_observation,
    summarize_observation,
)
from reporting.older_recipes import mark_older_recipes
from reporting.paper import Paper
from reporting.published_rows import build_published_rows
from reporting.results_model import (
    ResultRow,
    build_submitted_row,
    name_centers,
)
from reporting.run_record import RunRecord, summarize_bundle
from reporting.study_record import (
    BundleOrigin,
    StudyRecord,
    name_sources,
    record_published_study,
    record_study,
)
from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.bundle_format.load import read_evidence
from rules.bundle_format.records import MANIFEST_FILE
from rules.finding import Finding
from rules.observations.bundle import ObservationBundle
from rules.studies.accuracy import read_shipped_table
from rules.studies.figures import compute_study_figures
from rules.studies.published import PublishedStudy
from rules.studies.results import ModelResult
from rules.studies.trends.records import TrendsStudy
from rules.views import AnyBundle


class NothingFoundError(Exception):
    """There is nothing to report on. The message names the path."""


class EvidenceChangedError(Exception):
    """A bundle is no longer what was judged. The message names its directory."""


@dataclass(frozen=True)
class Collected:
    """The content of a report. `rejected` are the verdicts of what failed the check, `withdrawn`
    those of withdrawn bundles."""

    rows: Sequence[ResultRow]
    papers: Sequence[Paper]
    studies: Sequence[StudyRecord]
    rejected: Sequence[Verdict]
    withdrawn: Sequence[Verdict]
    trends: TrendsStudy | None = None
    """The first published study of trends."""
    unshown: Sequence[ResultRow] = ()
    """Runs that passed and that a page leaves out, because it would be too large."""
    local_label: str = ""
    """What a local report calls itself: the trust level of all its bundles, `local` if they differ.
    Empty for a report that read signatures, reviews, waivers and the LOG."""

    foreign: Foreign | None = None
    """The audited evidence of other programs; None if none was asked for."""
    observed: Sequence[ObservedRecord] = ()
    """The jobs that wattmark did not run. They are compared with nothing."""

    @cached_property
    def rejected_listing(self) -> Listing:
        """What a page lists of what failed."""
        return list_verdicts(self.rejected, lambda _: True)

    @cached_property
    def withdrawn_listing(self) -> Listing:
        """What a page lists of what was withdrawn."""
        return list_verdicts(self.withdrawn, lambda _: True)

    @property
    def all_rows(self) -> list[ResultRow]:
        """The rows with those that a page leaves out."""
        return [*self.rows, *self.unshown]

    @property
    def study_bundles(self) -> list[BundleOrigin]:
        """The bundles of studies that passed."""
        return [s.origin for s in self.studies if isinstance(s.origin, BundleOrigin)]

    def describe(self) -> str:
        """Such as `77 passed, 1 failed, 0 withdrawn, 95 published figures`."""
        runs = sum(row.provenance is not None for row in self.rows)
        published = len(self.rows) - runs
        passed = runs + len(self.study_bundles) + len(self.observed)
        failed, withdrawn = len(self.rejected), len(self.withdrawn)
        label = self.local_label
        judged = f"{label}: {passed} without errors" if label else f"{passed} passed"
        foreign = f", {len(self.foreign.rows)} audited rows" if self.foreign else ""
        return (
            f"{judged}, {failed} failed, {withdrawn} withdrawn, "
            f"{published} published figures{foreign}"
        )

    def list_passed_findings(self) -> list[Sequence[Finding]]:
        """The findings of each bundle that passed, of runs and then of studies."""
        runs = (row.provenance.findings for row in self.rows if row.provenance)
        studies = (study.findings for study in self.study_bundles)
        return [*runs, *studies]

    @property
    def has_study_results(self) -> bool:
        """Whether there is a page of studies. A study may have no result yet."""
        return any(study.results for study in self.studies)


def collect(
    paths: Sequence[Path],
    keyring: Path | None = None,
    local: bool = False,
    after_bundles: Callable[[], None] | None = None,
    cache: VerdictCache | None = None,
) -> Collected:
    """Check everything below `paths`. Bundles that pass give rows; those that failed or were
    withdrawn are kept apart and give none. With `local`, nothing but the evidence is judged.
    `after_bundles` is called when all bundles are judged, before they are compared: this process
    then works alone. `cache` has what earlier reports found and kept.

    Raises NothingFoundError for a path with nothing to check, and checker.CheckerError if
    signatures cannot be verified at all.
    """
    # Fail on a wrong path before anything is checked.
    for path in paths:
        places = find_places(path)
        if not places.bundles and not places.published:
            raise NothingFoundError(
                f"{path}: no bundle and no published figures found; name a directory with some"
            )

    def watch(judged: Iterable[JudgedBundle], _: int) -> Iterator[JudgedBundle]:
        yield from judged
        if after_bundles is not None:
            after_bundles()

    # Keep summaries only: the raw tables of a thousand bundles do not fit into memory.
    verdicts = judge_all(
        paths, keyring, signed=not local, watch=watch, keep=_summarize, cache=cache
    ).verdicts
    passed = [v for v in verdicts if v.status == "pass"]
    # Only what passed is shown. A rejected figure must not appear beside accepted ones.
    papers = [Paper.from_document(v.kept) for v in passed if isinstance(v.kept, dict)]
    submitted_rows = [
        build_submitted_row(v.kept, v) for v in passed if isinstance(v.kept, RunRecord)
    ]
    rows = name_centers(mark_older_recipes(submitted_rows))
    for paper in papers:
        rows.extend(build_published_rows(paper))
    failed, withdrawn = (
        [v for v in verdicts if v.status == status] for status in ("fail", "withdrawn")
    )
    studies = name_sources(list(_record_studies(passed)))
    local_label = _name_local_level(verdicts) if local else ""
    trends = next((v.kept for v in passed if isinstance(v.kept, TrendsStudy)), None)
    observed = [record_observation(v.kept, v) for v in passed if isinstance(v.kept, ObservedJob)]
    return Collected(
        *(rows, papers, studies, failed, withdrawn, trends),
        observed=observed,
        local_label=local_label,
    )


def list_shipped_figures(paths: Sequence[Path]) -> list[Path]:
    """The files of published figures that come with wattmark, in the installed package or in the
    clone. A file that `paths` hold under the same name takes the place of the shipped one."""
    package = Path(__file__).parent
    installed, cloned = package / PUBLISHED_DIR, package.parent / "submissions" / PUBLISHED_DIR
    shipped = find_places(installed if installed.is_dir() else cloned).published
    names = {file.absolute().parts[-2:] for path in paths for file in find_places(path).published}
    return [file for file in shipped if file.parts[-2:] not in names]


def _name_local_level(verdicts: Sequence[Verdict]) -> str:
    others = (*NON_BUNDLE_STANDINGS, "published")
    levels = {v.trust_level for v in verdicts if v.standing not in others}
    return levels.pop() if len(levels) == 1 else "local"


def _summarize(bundle: AnyBundle) -> RunRecord | ObservedJob | tuple[ModelResult, ...]:
    """What the report keeps of a bundle that passed."""
    if isinstance(bundle, Bundle):
        return summarize_bundle(bundle)
    if isinstance(bundle, ObservationBundle):
        return summarize_observation(bundle)
    return compute_study_figures(bundle, read_shipped_table()).results


def _record_studies(passed: Sequence[Verdict]) -> Iterator[StudyRecord]:
    for verdict in passed:
        if isinstance(verdict.kept, PublishedStudy):
            yield record_published_study(verdict.kept)
        elif isinstance(verdict.kept, tuple):
            yield record_study(verdict.kept, verdict)


def read_bundle(path: Path, manifest_sha256: str) -> Bundle:
    """Read an accepted bundle with its raw tables.

    Raises EvidenceChangedError unless its files are those that were judged: the manifest has the
    SHA-256 `manifest_sha256`, and the files are those of the manifest.
    """
    files = read_files(path)
    manifest = files.contents.get(MANIFEST_FILE, b"")
    if (
        sha256(manifest).hexdigest() != manifest_sha256
        or files.problems
        or any(find_manifest_problems(files))
    ):
        raise EvidenceChangedError(
            f"{path}: the bundle changed after it was judged; run bench-report again"
        )
    return Bundle(path, (), read_evidence(files)[0])
