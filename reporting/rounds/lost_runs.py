"""Why runs of one round do not count in another one."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from checker.verdict import Verdict
from reporting.collect import Collected
from reporting.results_model import ResultRow
from rules.finding import Finding

MISSING = "not among the bundles"
"""Why a run of another round does not count, if this round does not have it."""


class BundleIndex:
    """The bundles of a round, by manifest and by place: center, system and run."""

    def __init__(self, collected: Collected) -> None:
        provenances = [row.provenance for row in collected.all_rows if row.provenance]
        self._passed = {_find_place(p.run.path) for p in provenances}
        self._passed |= {p.manifest_sha256 for p in provenances}
        self._excluded: dict[str, Verdict] = {}
        for verdict in (*collected.rejected, *collected.withdrawn):
            self._excluded[_find_place(verdict.path)] = verdict
            if verdict.manifest_sha256:
                self._excluded[verdict.manifest_sha256] = verdict

    def find_excluded(self, row: ResultRow) -> Verdict | None:
        """The verdict of this round on the bundle of a row of another round, if the bundle was
        withdrawn or fails."""
        assert row.provenance is not None
        by_manifest = self._excluded.get(row.provenance.manifest_sha256)
        return by_manifest or self._excluded.get(_find_place(row.provenance.run.path))

    def list_excluded(self, rows: Sequence[ResultRow]) -> list[Verdict]:
        """The verdicts of `find_excluded`, those on withdrawn bundles first."""
        verdicts = [verdict for row in rows if (verdict := self.find_excluded(row))]
        return sorted(verdicts, key=lambda verdict: verdict.status != "withdrawn")

    def describe_lost_runs(self, rows: Sequence[ResultRow]) -> list[str]:
        """Why runs of one setting of another round do not count in this one, each reason once."""
        reasons: Counter[str] = Counter()
        for row in rows:
            assert row.provenance is not None
            verdict = self.find_excluded(row)
            if verdict is not None:
                reasons[_explain_verdict(verdict)] += 1
            elif not self.has_passed(row):
                reasons[MISSING] += 1
        return [
            reason if count == len(rows) else f"{count} of {len(rows)} runs: {reason}"
            for reason, count in reasons.items()
        ]

    def has_passed(self, row: ResultRow) -> bool:
        """Whether the bundle of a row of another round is in this one and counts."""
        assert row.provenance is not None
        place = _find_place(row.provenance.run.path)
        return bool(self._passed & {place, row.provenance.manifest_sha256})


def _find_place(path: Path) -> str:
    return Path(*path.resolve().parts[-3:]).as_posix()


def _explain_verdict(verdict: Verdict) -> str:
    if verdict.status == "withdrawn":
        return f"withdrawn by {verdict.withdrawn_by}, {verdict.withdrawn_at}: {verdict.withdrawn}"
    errors = [finding for finding in verdict.findings if verdict.fails_by(finding)]
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    return f"failed the check: {_describe_finding(errors[0])}{more}"


def _describe_finding(finding: Finding) -> str:
    return f"{finding.rule}, found {finding.found}, expected {finding.expected}"
