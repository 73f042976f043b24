"""The run that is exported: its bundle, judged, with the figures recomputed from its tables."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from checker.engine import judge
from harness.errors import PlanError
from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.bundle_format.load import read_evidence
from rules.bundle_format.records import MANIFEST_FILE, RUN, SIGNATURE_DIR
from rules.metrics.figures import Estimate, RunFigures


@dataclass(frozen=True)
class ExportedRun:
    """A run whose bundle passes the check."""

    bundle: Bundle
    figures: RunFigures
    joules_per_item: Estimate
    item: str
    manifest_sha256: str
    is_signed: bool

    @property
    def boards(self) -> str:
        """Number and names of the boards that the run used."""
        used = [
            self.bundle.accelerators[uuid].name
            for rank in self.bundle.ranks
            for uuid in rank.accelerators
        ]
        return ", ".join(f"{used.count(name)} x {name}" for name in dict.fromkeys(used))

    @property
    def energy_j(self) -> float:
        """Of record, over the active time of the scored epochs, all boards together."""
        return self.joules_per_item.mean * self.items

    @property
    def items(self) -> int:
        return sum(epoch.items for epoch in self.figures.scored_epochs)


def read_run(path: Path) -> ExportedRun:
    """Read the bundle at `path`. Raises PlanError unless it is that of a run that passes the
    check."""
    verdict = judge(path, signed=False)
    errors = sorted({f.rule for f in verdict.findings if f.severity == "error"})
    if errors:
        raise PlanError(
            f"{path}: the bundle fails the check ({', '.join(errors)}); bench-check --local {path} "
            "has the reasons"
        )
    files = read_files(path)
    evidence = read_evidence(files)[0] if files.kind is RUN else None
    bundle = Bundle(path, (), evidence) if evidence else None
    figures = bundle.figures if bundle else None
    if bundle is None or figures is None or figures.headline.joules_per_item is None:
        raise PlanError(f"{path}: not the bundle of a run; give one that bench-submit run wrote")
    return ExportedRun(
        bundle,
        figures,
        figures.headline.joules_per_item,
        bundle.workload.item if bundle.workload else "item",
        sha256(files.contents[MANIFEST_FILE]).hexdigest(),
        any(name.startswith(f"{SIGNATURE_DIR}/submission.") for name in files.contents),
    )
