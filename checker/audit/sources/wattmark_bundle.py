"""Bundles of wattmark: judged by the rule book, and recomputed from their samples."""

from collections.abc import Iterator
from dataclasses import replace

from checker.audit.folder import Folder
from checker.engine import judge
from rules.audit.row import Basis, Figure, Row
from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.bundle_format.records import MANIFEST_FILE, RUN
from rules.finding import Severity
from rules.metrics.figures import EpochFigures
from rules.views import open_view

TITLE = "bundles of wattmark"
_STUDY_FILE = "study.json"


def find(folder: Folder) -> Iterator[str]:
    """The manifest of a run or a study."""
    if folder.has(MANIFEST_FILE) and any(
        folder.has(name) for name in (_STUDY_FILE, *RUN.required_files)
    ):
        yield MANIFEST_FILE


def read(folder: Folder, name: str) -> Iterator[Row]:
    """The row of the bundle. Signatures are not read, as with `--local`."""
    verdict = judge(folder.path, signed=False)
    errors = [f for f in verdict.findings if f.severity == Severity.ERROR and not f.waived]
    row = Row(
        source="wattmark-bundle",
        place=name,
        files=(name, *RUN.required_files),
        tool_errors=tuple(f"{error.rule} {error.found}" for error in errors),
        remarks=("signatures were not read",),
    )
    view = open_view(folder.path, read_files(folder.path))
    figures = view.figures if isinstance(view, Bundle) and view.evidence else None
    if not isinstance(view, Bundle) or figures is None:
        yield replace(row, missing=("figures of a run",))
        return
    scored = figures.scored_epochs
    items = sum(epoch.items for epoch in scored)
    energy_j = sum(_take_energy_j(epoch, figures.energy_of_record) for epoch in scored)
    seconds = sum(epoch.active_s for epoch in scored)
    per_item = figures.headline.joules_per_item
    boards = view.listed_accelerators
    basis = Basis.COUNTER if figures.energy_of_record == "counter" else Basis.SAMPLES
    low, high = (per_item.ci95 if per_item else None) or (None, None)
    yield replace(
        row,
        workload=f"{view.result['workload']} {view.variant}",
        board=boards[0].name if boards else "",
        boards=len(view.accelerators),
        duration_s=seconds,
        energy_j=Figure(energy_j, basis, f"{figures.energy_of_record} over scored epochs"),
        items=Figure(float(items), Basis.LOG, "batches of scored epochs"),
        joules_per_item=Figure(per_item.mean, basis, "over scored epochs", low, high)
        if per_item
        else None,
        mean_power_w=energy_j / seconds if seconds > 0 else None,
        cap_w=view.cap_w,
        items_per_s=figures.headline.items_per_s.mean,
        flops_per_item=view.size.flops_per_item if view.size else None,
        precision=view.precision,
    )


def _take_energy_j(epoch: EpochFigures, source: str) -> float:
    counter_j = epoch.energy_j_counter
    return counter_j if source == "counter" and counter_j is not None else epoch.energy_j_trapezoid
