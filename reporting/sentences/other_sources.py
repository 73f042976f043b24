"""Answers from figures that are no results of a workload: batch sizes of image models from studies,
and the power of whole nodes from publications."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reporting.paper import Paper, PublishedNode
from reporting.report_table import NO_BREAK, escape_invisible, format_number
from reporting.sentences.words import (
    count_nouns,
    format_cap,
    format_range,
    format_watts,
    join_unit,
)
from reporting.study_record import StudyRecord
from rules.boards import find_board
from rules.studies.figures import keep_sound
from rules.studies.metrics.batches import BatchFindings, find_batch_findings
from rules.studies.metrics.comparisons import group_by_setup
from rules.studies.metrics.estimates import Interval
from rules.studies.results import ModelResult, Setup


@dataclass(frozen=True)
class OtherSources:
    """Sentences that several workloads share."""

    batch_sizes: tuple[str, ...] = ()
    """Where image models need the least energy. Empty without a measured study."""
    nodes: tuple[str, ...] = ()
    """The power beside the accelerators in whole nodes. Empty without publications of it."""
    node_shares_w: tuple[float, ...] = ()
    """The same in W per accelerator, as numbers."""


def describe_other_sources(studies: Sequence[StudyRecord], papers: Sequence[Paper]) -> OtherSources:
    """The sentences on studies and publications."""
    return OtherSources(
        batch_sizes=tuple(describe_batch_sizes(studies)),
        nodes=tuple(describe_nodes(papers)),
        node_shares_w=tuple(_list_shares_w(papers)),
    )


def _list_shares_w(papers: Sequence[Paper]) -> Iterator[float]:
    for paper in papers:
        for node in paper.nodes or ():
            yield from _list_stated_w(node)
            if (bound := _find_bound_w(node)) and not _list_stated_w(node):
                yield bound[0]


def describe_batch_sizes(studies: Sequence[StudyRecord]) -> list[str]:
    """Where the models of the measured setup with the most models need the least energy. Empty
    without a measured setup with several batch sizes."""
    measured = [
        result
        for study in studies
        for result in study.results
        if result.setup.provenance == "measured"
    ]
    sentences_by_count: dict[int, str] = {}
    for setup, results in group_by_setup(measured).items():
        models = [result for result in keep_sound(results) if len(result.batches) > 1]
        findings = find_batch_findings(models)
        if findings is not None:
            sentence = _describe_setup(findings, setup, models)
            sentences_by_count.setdefault(len(models), sentence)
    return [sentences_by_count[max(sentences_by_count)]] if sentences_by_count else []


def _describe_setup(findings: BatchFindings, setup: Setup, models: Sequence[ModelResult]) -> str:
    batch, single = findings.best_batch, findings.batch_one_energy_ratio
    by_model = format_range([model.best.batch for model in models], "")
    sentence = (
        f"Inference of {count_nouns(len(models), 'image model')} was measured on "
        f"{escape_invisible(setup.board)} {format_cap(setup.cap_w)} "
        f"({escape_invisible(f'{setup.engine}, {setup.precision}')}): batch size "
        f"{format_number(batch.value, 1)} needs the least energy in the median over models"
        f"{_format_interval(batch.ci95, 1)}, batch size {by_model} by model"
    )
    if single is None:
        return f"{sentence}."
    return (
        f"{sentence}; batch size 1 takes {format_number(single.value, 2)} times this energy"
        f"{_format_interval(single.ci95, 2)}."
    )


def _format_interval(ci95: Interval | None, digits: int) -> str:
    if ci95 is None:
        return ""
    low, high = (format_number(end, digits) for end in ci95)
    return f" ({join_unit('95', '%')} interval {low} to {high})"


def describe_nodes(papers: Sequence[Paper]) -> list[str]:
    """What publications state of the power beside the accelerators, as one sentence. Empty without
    such figures."""
    parts = [part for paper in papers for part in _list_node_powers(paper)]
    if not parts:
        return []
    return [f"Published, without intervals, beside each accelerator: {'; '.join(parts)}."]


def _list_node_powers(paper: Paper) -> Iterator[str]:
    """One part for each kind of node of a publication."""
    kinds: dict[tuple[str, int], list[PublishedNode]] = {}
    for node in paper.nodes or ():
        kinds.setdefault((node.accelerator, node.accelerators), []).append(node)
    for (accelerator, count), nodes in kinds.items():
        board = escape_invisible(f"{count}{NO_BREAK}\u00d7{NO_BREAK}{accelerator}")
        source = escape_invisible(paper.citation)
        if stated := [watts for node in nodes if (watts := _list_stated_w(node))]:
            yield f"{format_range(stated[0], 'W')} in {source} ({board})"
        elif bounds := [bound for node in nodes if (bound := _find_bound_w(node))]:
            bound_w, node, board_w = max(bounds, key=lambda bound: bound[0])
            yield (
                f"at least {format_watts(round(bound_w))} in {source} ({board}, "
                f"{escape_invisible(node.work)}: median of the node less {format_watts(board_w)} "
                "for each accelerator)"
            )


def _list_stated_w(node: PublishedNode) -> list[float]:
    return [w for w in (node.beside_boards_low_w, node.beside_boards_high_w) if w is not None]


def _find_bound_w(node: PublishedNode) -> tuple[float, PublishedNode, float] | None:
    """The least power per accelerator beside accelerators that draw their highest power, which is
    the last value. None for a control run, and where it is not known to be above zero."""
    board = find_board(node.accelerator)
    if node.control or node.median_w is None or board is None or not board.max_power_w:
        return None
    bound_w = node.median_w / node.accelerators - board.max_power_w
    return (bound_w, node, board.max_power_w) if bound_w > 0 else None
