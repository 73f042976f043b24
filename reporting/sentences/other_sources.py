"""Answers from figures that are no results of a workload: the power of whole nodes from
publications."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reporting.paper import Paper, PublishedNode
from reporting.report_table import NO_BREAK, escape_invisible
from reporting.words import (
    format_range,
    format_watts,
)
from rules.boards import find_board


@dataclass(frozen=True)
class OtherSources:
    """Sentences that several workloads share."""

    nodes: tuple[str, ...] = ()
    """The power beside the accelerators in whole nodes. Empty without publications of it."""
    node_shares_w: tuple[float, ...] = ()
    """The same in W per accelerator, as numbers."""


def describe_other_sources(papers: Sequence[Paper]) -> OtherSources:
    """The sentences on publications."""
    return OtherSources(
        nodes=tuple(describe_nodes(papers)),
        node_shares_w=tuple(_list_shares_w(papers)),
    )


def _list_shares_w(papers: Sequence[Paper]) -> Iterator[float]:
    for paper in papers:
        for nodes in _group_nodes(paper).values():
            if stated := [watts for node in nodes for watts in _list_stated_w(node)]:
                yield from stated
            elif bounds := [bound[0] for node in nodes if (bound := _find_bound_w(node))]:
                yield max(bounds)


def _group_nodes(paper: Paper) -> dict[tuple[str, int], list[PublishedNode]]:
    """The nodes of a publication by board and number of boards."""
    kinds: dict[tuple[str, int], list[PublishedNode]] = {}
    for node in paper.nodes or ():
        kinds.setdefault((node.accelerator, node.accelerators), []).append(node)
    return kinds


def describe_nodes(papers: Sequence[Paper]) -> list[str]:
    """What publications state of the power beside the accelerators, as one sentence. Empty without
    such figures."""
    parts = [part for paper in papers for part in _list_node_powers(paper)]
    if not parts:
        return []
    return [f"Published, without intervals, beside each accelerator: {'; '.join(parts)}."]


def _list_node_powers(paper: Paper) -> Iterator[str]:
    """One part for each kind of node of a publication."""
    for (accelerator, count), nodes in _group_nodes(paper).items():
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
