"""`[[meter]]` of system.toml: what enters system.json, and how a mistake is told."""

import json
from pathlib import Path

import pytest
from support.harness.node_power import METER, write_system

from harness.errors import PlanError
from harness.meter_tables import parse_meters, select_meters
from harness.system import NodeDescription, describe_system, read_description

NODE = NodeDescription("node0", "a CPU", 8, 2**30, ())


def test_the_tables_become_the_meters_of_the_description(tmp_path):
    description = read_description(write_system(tmp_path, METER))
    assert description["meters"] == [METER]
    (meter,) = parse_meters(description)
    assert (meter.id, meter.feeds[0].feed, meter.feeds[0].node) == ("node-meter", "psu-1", "node0")
    assert "meters" not in read_description(None)


def test_a_date_may_be_written_as_toml_has_it(tmp_path):
    path = write_system(tmp_path, METER)
    path.write_text(path.read_text() + "calibrated_on = 2026-03-01\n")
    (meter,) = read_description(path)["meters"]
    assert json.dumps(meter) and meter["calibrated_on"] == "2026-03-01"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"scope": None}, "[[meter]] 1 : lacks scope; add what is missing"),
        ({"scope": "cupboard"}, "[[meter]] 1 scope: found 'cupboard', expected one of node or"),
        ({"interval_ms": "fast"}, "[[meter]] 1 interval_ms: found 'fast', expected type number"),
        ({"accuracy_percent": float("nan")}, "1 accuracy_percent: found nan, expected a finite"),
        ({"range_w": float("inf")}, "1 range_w: found inf, expected a finite number"),
        ({"interval_ms": 0}, "[[meter]] 1 interval_ms: found 0, expected more than 0"),
        ({"acuracy_percent": 1}, "unknown key 'acuracy_percent'; the keys are id, kind"),
        ({"host": "pdu-7.example"}, "[[meter]] 1: host belongs into meters.toml"),
        ({"feeds": []}, "[[meter]] 1 feeds: found [], expected minItems 1"),
        ({"feeds": [{"feed": "a"}]}, "[[meter]] 1 feeds.0: lacks node"),
        ({"feeds": [{"feed": "a", "node": "n7"}]}, "found the node 'n7', expected node0, node1"),
        ({"feeds": [{"feed": "a", "node": "node0"}] * 2}, "feeds: a occurs twice"),
        ({"id": "../x"}, "[[meter]] 1 id: found '../x', expected pattern"),
    ],
)
def test_a_mistake_names_file_table_and_key(tmp_path, changes, says):
    meter = {key: value for key, value in {**METER, **changes}.items() if value is not None}
    path = write_system(tmp_path, meter)
    with pytest.raises(PlanError) as caught:
        read_description(path)
    assert str(caught.value).startswith(f"{path}: ") and says in str(caught.value)
    assert "pdu-7" not in str(caught.value)


def test_two_meters_of_one_id_are_refused(tmp_path):
    with pytest.raises(PlanError, match="two meters have the id node-meter"):
        read_description(write_system(tmp_path, METER, METER))


@pytest.mark.parametrize("text", ["meter = 1", "meter = [1]", "[meter]\nid = 'a'"])
def test_anything_but_tables_is_refused(tmp_path, text):
    path = Path(tmp_path / "system.toml")
    path.write_text(text)
    with pytest.raises(PlanError, match=r"must be a table|must be tables"):
        read_description(path)


def test_a_bundle_has_the_feeds_of_its_own_nodes_only():
    shared = {**METER, "feeds": [{"feed": f"out-{i}", "node": f"node{i}"} for i in range(3)]}
    other = {**METER, "id": "other", "feeds": [{"feed": "a", "node": "node2"}]}
    (selected,) = select_meters([shared, other], ["node0", "node1"])
    assert [feed["feed"] for feed in selected["feeds"]] == ["out-0", "out-1"]
    description = {"name": "x", "meters": [shared, other]}
    (meter,) = describe_system(description, [NODE])["meters"]
    assert [feed["node"] for feed in meter["feeds"]] == ["node0"]
    assert "meters" not in describe_system({"name": "x", "meters": [other]}, [NODE])
