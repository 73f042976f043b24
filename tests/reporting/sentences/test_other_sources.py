"""Sentences on the power of whole nodes."""

from typing import Any

import pytest
from support.committed_runs import SUBMISSIONS

from reporting.collect import collect
from reporting.paper import Paper
from reporting.sentences.other_sources import describe_nodes, describe_other_sources
from rules.boards import find_board


def make_paper(**node: Any) -> Paper:
    record = {"accelerator": "H100", "accelerators": 8, "work": "training", "control": False}
    return Paper.from_document(
        {
            "id": "doe",
            "standing": "published",
            "title": "Nodes",
            "authors": "Doe, Roe",
            "year": 2025,
            "url": "https://example.org",
            "notes": "",
            "nodes": [{**record, "place": "Table 1", **node}],
        }
    )


def test_printed_power_beside_accelerators_is_stated_with_its_source() -> None:
    paper = make_paper(mean_w=7000, beside_boards_low_w=170, beside_boards_high_w=200)
    assert describe_nodes([paper]) == [
        "Published, without intervals, beside each accelerator: 170\u2013200\u202fW in Doe et al. "
        "2025 (8\u202f\u00d7\u202fH100)."
    ]


def test_median_of_a_node_gives_a_lower_bound_beside_accelerators_at_full_power() -> None:
    board = find_board("H100")
    assert board is not None and board.max_power_w is not None
    (sentence,) = describe_nodes([make_paper(median_w=8 * (board.max_power_w + 290))])
    assert "at least 290\u202fW in Doe et al. 2025 (8\u202f\u00d7\u202fH100, training:" in sentence
    assert f"less {board.max_power_w:g}\u202fW for each accelerator" in sentence


@pytest.mark.parametrize(
    "node",
    [
        {"median_w": 8000.0, "control": True},
        {"median_w": 4000.0},
        {"median_w": 8000.0, "accelerator": "unknown board"},
        {"mean_w": 8000.0},
    ],
)
def test_node_without_a_known_bound_is_left_out(node: dict[str, Any]) -> None:
    paper = make_paper(**node)
    assert describe_nodes([paper]) == []
    assert describe_other_sources([paper]).node_shares_w == ()


def test_node_shares_as_numbers_are_those_of_the_sentence() -> None:
    board = find_board("H100")
    assert board is not None and board.max_power_w is not None
    papers = [
        make_paper(mean_w=7000, beside_boards_low_w=170, beside_boards_high_w=200),
        make_paper(median_w=8 * (board.max_power_w + 290)),
    ]
    sources = describe_other_sources(papers)
    assert sources.node_shares_w == (170, 200, 290)
    (sentence,) = sources.nodes
    assert "170\u2013200\u202fW in Doe" in sentence and "at least 290\u202fW in Doe" in sentence


def test_committed_publications_state_170_to_312_w_beside_each_accelerator() -> None:
    shares_w = describe_other_sources(collect([SUBMISSIONS / "published"]).papers).node_shares_w
    assert (round(min(shares_w)), round(max(shares_w))) == (170, 312)
