"""Measured boards and models at their place in the trends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from reporting.quantities import name_line
from reporting.results_model import ResultRow
from reporting.study_record import StudyRecord
from rules.metrics.figures import Estimate
from rules.studies.figures import keep_sound
from rules.studies.results import ModelResult
from rules.studies.trends.figures import Domain
from rules.studies.trends.releases import BOARD_LAUNCHES, MODEL_RELEASES, Release
from rules.workloads import Workload, workloads


@dataclass(frozen=True)
class OwnBoard:
    """A board under a workload: its sustained FLOPs per joule, while batches are active."""

    row: ResultRow
    line: str
    launch: Release | None
    """None if `BOARD_LAUNCHES` has no date of the board: it then has no place in the trend."""
    measured: date
    domain: Domain
    gflops_per_w: Estimate


@dataclass(frozen=True)
class OwnModel:
    """A measured model."""

    release: Release
    domain: Domain
    item: str
    """What one inference is: an image, or an output token."""
    gflops: float
    joules: float
    board: str
    source: str
    """The bundle."""


def list_own_boards(rows: Sequence[ResultRow]) -> list[OwnBoard]:
    """The runs of workloads, by workload and efficiency."""
    boards = [
        OwnBoard(
            row,
            f"{workloads()[row.workload].title} · {name_line(row)}",
            BOARD_LAUNCHES.get(row.model),
            date.fromisoformat(row.provenance.run.declaration.started_at[:10]),
            _get_domain(workloads()[row.workload]),
            row.naive.gflops_per_w,
        )
        for row in rows
        if row.naive is not None
        and row.provenance is not None
        and row.standing in ("closed", "open")
    ]
    return sorted(boards, key=lambda board: (board.row.workload, -board.gflops_per_w.mean))


def list_own_models(rows: Sequence[ResultRow], studies: Sequence[StudyRecord]) -> list[OwnModel]:
    """The measured models with a known release, by release: image models of studies, each at its
    smallest input and least energy, and served models."""
    least: dict[str, OwnModel] = {}
    for model in (*_list_studied(studies), *_list_served(rows)):
        least_model = least.get(model.release.name)
        if least_model is None or (model.gflops, model.joules) < (
            least_model.gflops,
            least_model.joules,
        ):
            least[model.release.name] = model
    return sorted(least.values(), key=lambda model: (model.release.released, model.release.name))


def _list_studied(studies: Sequence[StudyRecord]) -> Iterator[OwnModel]:
    measured: list[ModelResult] = [
        result
        for study in studies
        for result in study.results
        if result.setup.provenance == "measured"
    ]
    for result in keep_sound(measured):
        release = MODEL_RELEASES.get(result.architecture)
        if release is not None and result.flops is not None:
            yield OwnModel(
                release,
                "CV",
                "image",
                result.flops / 1e9,
                result.best.joules_per_image,
                result.setup.board,
                result.setup.source,
            )


def _list_served(rows: Sequence[ResultRow]) -> Iterator[OwnModel]:
    for row in rows:
        workload = workloads()[row.workload]
        release = MODEL_RELEASES.get(workload.model)
        if workload.mode != "inference" or release is None or row.provenance is None:
            continue
        if row.joules_per_item is None or row.standing not in ("closed", "open"):
            continue
        yield OwnModel(
            release,
            _get_domain(workload),
            workload.item_name,
            workload.full.flops_per_item / 1e9,
            row.joules_per_item.value,
            row.accelerator,
            row.provenance.run.run_id,
        )


def _get_domain(workload: Workload) -> Domain:
    return "NLP" if workload.item == "token" else "CV"
