"""What a node sends to the head, and what the head makes of the shares of all nodes."""

import json
from dataclasses import replace
from datetime import UTC, datetime

from support.harness.shares import make_share

from harness.run.evidence import make_dates
from harness.run.node_share import NodeShare
from rules.json_record import from_json, to_json


def test_a_run_lasts_from_its_first_node_to_its_last():
    def moment(minute: int, second: int) -> datetime:
        return datetime(2026, 11, 20, 22, minute, second, tzinfo=UTC)

    head = replace(make_share(), started_at=moment(0, 58), ended_at=moment(1, 12))
    second_node = replace(make_share(), started_at=moment(0, 56), ended_at=moment(1, 11))
    assert make_dates([head, second_node]) == {
        "started_at": "2026-11-20T22:00:56Z",
        "ended_at": "2026-11-20T22:01:12Z",
    }


def test_a_share_that_was_sent_is_the_one_that_was_collected():
    share = make_share()
    assert from_json(NodeShare, json.loads(json.dumps(to_json(share))), is_validated=True) == share


def test_a_share_without_tally_and_limits_has_none_after_it_was_sent():
    share = replace(make_share(), tally=None, found_mw=None, found_state={}, requests=())
    assert from_json(NodeShare, json.loads(json.dumps(to_json(share))), is_validated=True) == share
