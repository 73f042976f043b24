"""Node meters: found by the name of their file, opened by an entry of meters.toml, and silent about
address and secret."""

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import MeterError
from harness.power import nodes
from harness.power.node_meter import MeterAccess
from harness.power.nodes import node_meter_class, node_meter_names, open_node_meter
from harness.simulation.server import VARIABLE, run_simulator
from rules.bundle_format.records import FeedReading

ACCESS = MeterAccess(
    "pdu-a", "added", {"left": "1"}, host="pdu.example", secrets={"password_env": "PDU_PASSWORD"}
)


@pytest.fixture
def extra(tmp_path, monkeypatch) -> Path:
    """A directory of node meters beside that of the package, on the search path."""
    monkeypatch.setattr(nodes, "__path__", [*nodes.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "harness.power.nodes.added", raising=False)
    return tmp_path


def add_meter(directory: Path, body: str) -> None:
    (directory / "added.py").write_text(
        "from harness.power.node_meter import NodeMeter\n"
        "from rules.bundle_format.records import FeedReading\n"
        f"class Added(NodeMeter):\n{body}\n"
    )


OPEN = "    @classmethod\n    def open(cls, access):\n        {0}\n"
READ = "    def read(self):\n        return [('left', FeedReading(power_mw=5))]\n"


def test_a_file_is_found_without_an_entry_in_any_list(extra):
    add_meter(extra, OPEN.format("return cls()") + READ)
    assert "added" in node_meter_names() and "simulated" in node_meter_names()
    assert open_node_meter(ACCESS).read() == [("left", FeedReading(power_mw=5))]


def test_a_kind_that_does_not_exist_names_the_others():
    with pytest.raises(MeterError, match=r"no kind of node meter called 'zigbee'.*simulated"):
        node_meter_class("zigbee")


def test_a_meter_that_lacks_a_method_is_told_which(extra):
    add_meter(extra, OPEN.format("return cls()"))
    with pytest.raises(MeterError, match="node meter added lacks the methods read"):
        open_node_meter(ACCESS)


def test_the_error_of_a_library_is_not_repeated_because_it_contains_the_address(extra):
    add_meter(extra, OPEN.format("raise OSError('no route to ' + access.host)") + READ)
    with pytest.raises(MeterError) as caught:
        open_node_meter(ACCESS)
    assert "pdu.example" not in str(caught.value) and "OSError" in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_text_of_an_access_has_neither_host_nor_secret(monkeypatch):
    monkeypatch.setenv("PDU_PASSWORD", "correct horse")
    assert ACCESS.secret() == "correct horse"
    assert "pdu.example" not in f"{ACCESS!r} {ACCESS}" and "PDU_PASSWORD" not in repr(ACCESS)


@pytest.mark.parametrize(
    ("secrets", "problem"),
    [
        ({}, "no password: its entry in meters.toml has no password_env"),
        ({"password_env": "NOT_SET"}, "no password: the environment variable NOT_SET is not set"),
        ({"password_file": "/no/such/file"}, "cannot be read (No such file or directory)"),
        ({"password_command": "exit 3"}, "its command ended with status 3"),
        ({"password_command": "true"}, "its command printed nothing"),
    ],
)
def test_a_secret_that_cannot_be_read_names_the_place(secrets, problem):
    with pytest.raises(MeterError) as caught:
        replace(ACCESS, secrets=secrets).secret()
    assert problem in str(caught.value)


def test_a_secret_comes_from_a_file_or_from_a_command(tmp_path):
    (tmp_path / "secret").write_text("first line\n")
    in_file = replace(ACCESS, secrets={"password_file": str(tmp_path / "secret")})
    assert in_file.secret() == "first line"
    assert replace(ACCESS, secrets={"password_command": "echo a b"}).secret() == "a b"


def test_a_simulated_node_draws_its_boards_and_its_base_through_the_power_supplies(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    access = MeterAccess("node", "simulated", {"psu-1": "1", "psu-2": "2"})
    with pytest.raises(MeterError, match="needs a simulator"):
        open_node_meter(access)
    with run_simulator("h200"):
        meter = open_node_meter(replace(access, options={"base_w": "960", "efficiency": "0.5"}))
        (first, left), (second, right) = meter.read()
        later = meter.read()[0][1]
        meter.close()
    assert (first, second) == ("psu-1", "psu-2")
    assert left == right and left.status == "ok"
    # Eight idle boards draw 8 x 78 W; the load of this machine adds to that.
    assert left.power_mw >= 1e3 * (960 + 8 * 78) / 0.5 / 2 * 0.999
    assert later.energy_mj >= left.energy_mj
    assert os.environ.get(VARIABLE) is None


def test_a_simulator_that_ends_makes_readings_that_time_out():
    with run_simulator("h200"):
        meter = open_node_meter(MeterAccess("node", "simulated", {"psu-1": "1"}))
    assert meter.read() == [("psu-1", FeedReading(status="timeout"))]


def test_the_example_of_the_page_reads_its_feeds(tmp_path, monkeypatch):
    page = Path(__file__).parents[4] / "docs" / "write-a-meter.md"
    (code,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
        if "(NodeMeter):" in block
    ]
    (tmp_path / "wattfeeds.py").write_text(code)
    monkeypatch.setattr(nodes, "__path__", [*nodes.__path__, str(tmp_path)])
    (tmp_path / "left").write_text("812.5")
    (tmp_path / "right").write_text("no number")
    feeds = {"left": str(tmp_path / "left"), "right": str(tmp_path / "right")}
    meter = open_node_meter(MeterAccess("files", "wattfeeds", feeds))
    assert meter.read() == [
        ("left", FeedReading(power_mw=812_500)),
        ("right", FeedReading(status="malformed")),
    ]
    (tmp_path / "left").unlink()
    assert meter.read()[0] == ("left", FeedReading(status="absent"))
    with pytest.raises(MeterError, match="meter files, feed left: its file does not exist"):
        open_node_meter(MeterAccess("files", "wattfeeds", feeds))
    del sys.modules["harness.power.nodes.wattfeeds"]


@pytest.mark.parametrize("kind", node_meter_names())
def test_each_kind_refuses_a_misspelt_key_and_names_its_own(kind: str) -> None:
    known = node_meter_class(kind).option_names
    access = MeterAccess("pdu-a", kind, {"left": "1"}, options={"mispelt": "1"})
    with pytest.raises(MeterError) as refusal:
        open_node_meter(access)
    message = str(refusal.value)
    assert f"meters.toml has the key mispelt, which the kind {kind} does not have" in message
    assert f"(keys of this kind: {', '.join(sorted(known)) or 'none'})" in message
