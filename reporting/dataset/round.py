"""A round as pandas data frames."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from reporting.collect import Collected, NothingFoundError, collect, read_bundle
from reporting.dataset.columns import build_frame
from reporting.dataset.evidence import (
    EPOCH_COLUMNS,
    FINDING_COLUMNS,
    SAMPLE_COLUMNS,
    EpochRecord,
    FindingRecord,
    SampleRecord,
    build_sample_frame,
)
from reporting.dataset.foreign import FOREIGN_COLUMNS
from reporting.dataset.results import FIGURE_COLUMNS, name_bundle, read_bundle_name
from reporting.dataset.runs import RUN_COLUMNS
from reporting.foreign.evidence import collect_foreign
from reporting.results_model import ResultRow
from rules.bundle import Bundle


class Round:
    """The runs that passed and published figures of a round as pandas data frames.

    The columns of each frame are in docs/dataset.md, with dtype, unit and meaning. A result that
    may not be compared with others has `ranked` False and the reason in `doubt`, `implausible` or
    `withheld`.
    """

    def __init__(self, collected: Collected) -> None:
        """Make the frames of what `reporting.collect.collect` returned."""
        self._collected = collected
        # X103 refuses a second run of a center with one id, so a name stands for one bundle.
        self._run_rows = {
            str(read_bundle_name(row)): row for row in collected.rows if row.provenance
        }

    @classmethod
    def read(
        cls,
        path: str | Path,
        *more_paths: str | Path,
        keyring: str | Path | None = None,
        local: bool = False,
        audit: Sequence[str | Path] = (),
    ) -> "Round":
        """Check everything below the paths, as `bench-report` does, and keep what passed.

        `keyring` is a directory with allowed_signers, by default that of the round. With `local`,
        keyring, signatures, reviews, waivers and LOG are not read. `audit` are directories with
        evidence of other programs. Raises reporting.collect.NothingFoundError for a path with
        nothing to check, reporting.foreign.declaration.ForeignError for a directory without
        evidence, and checker.CheckerError if signatures cannot be verified at all.
        """
        paths = [Path(path), *map(Path, more_paths)]
        for directory in paths:
            if not directory.exists():
                raise NothingFoundError(
                    f"{directory}: no such file or directory; name the directory of a round"
                )
        foreign = collect_foreign([Path(directory) for directory in audit]) if audit else None
        collected = collect(paths, None if keyring is None else Path(keyring), local)
        return cls(replace(collected, foreign=foreign))

    @cached_property
    def figures(self) -> pd.DataFrame:
        """One row per run that passed and per published figure: settings, and figures with their
        95 % intervals."""
        return build_frame(FIGURE_COLUMNS, self._collected.rows)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run that passed: settings, system, trust, clocks and power readings."""
        return build_frame(RUN_COLUMNS, list(self._run_rows.values()))

    @cached_property
    def findings(self) -> pd.DataFrame:
        """One row per finding of the check on a bundle, also of those that failed or were
        withdrawn."""
        return build_frame(FINDING_COLUMNS, list(_list_findings(self._collected)))

    @cached_property
    def epochs(self) -> pd.DataFrame:
        """One row per epoch of each run that passed, also of discarded ones. The bundles are read
        again on first access."""
        return build_frame(
            EPOCH_COLUMNS, [epoch for row in self._run_rows.values() for epoch in _read_epochs(row)]
        )

    @cached_property
    def foreign(self) -> pd.DataFrame:
        """One row per audited result of another program; none if nothing was audited."""
        foreign = self._collected.foreign
        return build_frame(FOREIGN_COLUMNS, foreign.rows if foreign else ())

    def read_samples(self, *bundles: str) -> pd.DataFrame:
        """One row per reading of an accelerator in these bundles, named as in `runs`; in all runs
        if none is named. Nothing is kept.

        Raises KeyError for a bundle that is not in `runs`.
        """
        return pd.concat(self.iterate_samples(*bundles), ignore_index=True)

    def iterate_samples(self, *bundles: str) -> Iterator[pd.DataFrame]:
        """The frames of `read_samples`, one bundle after another: all samples of a large round do
        not fit into memory."""
        names = bundles or tuple(self._run_rows)
        if not names:
            # A round without runs has the columns and no rows.
            yield build_frame(SAMPLE_COLUMNS, [])
        for name in names:
            if name not in self._run_rows:
                raise KeyError(
                    f"{name}: no run of this round that passed; see the column bundle of runs"
                )
            row = self._run_rows[name]
            yield build_sample_frame(SampleRecord(row, _read_bundle(row)))


def _read_bundle(row: ResultRow) -> Bundle:
    assert row.provenance is not None, "a published figure has no bundle"
    return read_bundle(row.provenance.run.path, row.provenance.manifest_sha256)


def _read_epochs(row: ResultRow) -> Iterator[EpochRecord]:
    figures = _read_bundle(row).figures
    for epoch in figures.epochs if figures else ():
        yield EpochRecord(row, epoch)


def _list_findings(collected: Collected) -> Iterator[FindingRecord]:
    for row in collected.rows:
        if row.provenance:
            name = str(read_bundle_name(row))
            for finding in row.provenance.findings:
                yield FindingRecord(name, "pass", row.standing, finding)
    for study in collected.study_bundles:
        for finding in study.findings:
            yield FindingRecord(name_bundle(study.path), "pass", "study", finding)
    for verdict in (*collected.rejected, *collected.withdrawn):
        for finding in verdict.findings:
            yield FindingRecord(
                name_bundle(verdict.path), verdict.status, verdict.standing, finding
            )
