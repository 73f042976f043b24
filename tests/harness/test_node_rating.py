"""`[node]` of system.toml: what enters system.json, how a mistake is told, and the import from the
nameplate file of an MLPerf Inference submission."""

import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.extras import advise_extra
from harness.cli import main as bench_submit
from harness.errors import PlanError
from harness.power_yaml import format_node_table, make_node_table
from harness.system import NodeDescription, describe_system, read_description
from rules.bundle_format.documents import read_schema
from rules.bundle_format.records import SYSTEM_FORMAT
from rules.declarations.system import SystemDeclaration

NODES = [NodeDescription(f"node{i}", "a CPU", 8, 2**30, ()) for i in range(2)]
RATING = {
    "rated_w": 10200,
    "rated_source": "data sheet",
    "power_supplies": 6,
    "supplies_needed": 4,
    "supply_capacities_w": [3000, 3000, 3000, 3000, 2700.5, 2700.5],
}

SYSTEM = """
Example:
- Rack 1:
  - Server 1:
    - Description: 'Eight accelerators'
      Min PSUs Needed: 3
      PSUs:
      - Name: PSU 1
        PowerCapacityWatts: 3300
      - Name: PSU 2
        PowerCapacityWatts: 3300
      - Name: PSU 3
        PowerCapacityWatts: 3000
      - Name: PSU 4
        PowerCapacityWatts: 3300
  - Switch 1:
    - Min PSUs needed: 1
      PSUs:
      - PowerCapacityWatts: 1200
      - PowerCapacityWatts: 1200
"""
"""With the shape of the template of MLPerf Inference: racks with a server and a switch."""
BOMB = "a: &a [x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghi")
)
"""Lists of lists, which have 9^8 values."""


def write(directory: Path, text: str, name: str = "system.toml") -> Path:
    path = directory / name
    path.write_text(text)
    return path


def test_every_node_of_the_bundle_has_the_rating(tmp_path: Path) -> None:
    path = write(tmp_path, f'name = "x"\n{format_node_table(RATING)}\n')
    document = describe_system(read_description(path), NODES)
    assert "node" not in document
    system = SystemDeclaration.from_document(document)
    for node in system.nodes:
        stated = {key: getattr(node, key) for key in RATING}
        assert stated == {**RATING, "supply_capacities_w": tuple(RATING["supply_capacities_w"])}
    properties = read_schema(SYSTEM_FORMAT)["properties"]["nodes"]["items"]["properties"]
    assert set(RATING) <= set(properties)


def test_without_a_table_no_node_has_a_rating(tmp_path: Path) -> None:
    document = describe_system(read_description(write(tmp_path, 'name = "x"\n')), NODES)
    assert not set(RATING) & {key for node in document["nodes"] for key in node}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("node = 1", "node must be one table, headed [node]"),
        ("[[node]]\nrated_w = 1", "node must be one table, headed [node]"),
        ("[node]\nrated_kw = 10.2", "unknown key 'rated_kw'; the keys are rated_w, rated_source"),
        ('[node]\nrated_w = "10 kW"', "rated_w: found '10 kW', expected the rated power of a node"),
        ("[node]\nrated_w = 0", "rated_w: found 0, expected"),
        ("[node]\nrated_w = -1", "rated_w: found -1, expected"),
        ("[node]\nrated_w = nan", "rated_w: found nan, expected"),
        ("[node]\nrated_w = inf", "rated_w: found inf, expected"),
        ("[node]\nrated_w = true", "rated_w: found True, expected"),
        ("[node]\nrated_w = 10200\nrated_source = 3", "rated_source: found 3, expected where"),
        ('[node]\nrated_w = 10200\nrated_source = " "', "rated_source: found ' ', expected where"),
        ('[node]\nrated_source = "a"', "has rated_source without rated_w; add rated_w"),
        ("[node]\npower_supplies = 2.5", "power_supplies: found 2.5, expected how many"),
        ("[node]\npower_supplies = 0", "power_supplies: found 0, expected how many"),
        ("[node]\nsupplies_needed = 0", "supplies_needed: found 0, expected how many of them"),
        ("[node]\nsupplies_needed = true", "supplies_needed: found True, expected how many"),
        ("[node]\nsupply_capacities_w = 9", "supply_capacities_w: found 9, expected a list of"),
        ("[node]\nsupply_capacities_w = []", "supply_capacities_w: found [], expected a list"),
        ("[node]\nsupply_capacities_w = [-1]", "supply_capacities_w: found [-1], expected"),
        ("[node]\nsupply_capacities_w = [nan]", "supply_capacities_w: found [nan], expected"),
        ("[node]\nsupply_capacities_w = [true]", "supply_capacities_w: found [True], expected"),
        ('[node]\nsupply_capacities_w = ["a"]', "supply_capacities_w: found ['a'], expected"),
        (
            "[node]\npower_supplies = 3\nsupply_capacities_w = [9]",
            "[node] power_supplies: found 3, but supply_capacities_w lists 1",
        ),
        (
            "[node]\npower_supplies = 3\nsupplies_needed = 4",
            "[node] supplies_needed: found 4, expected 1 to 3, the power supplies",
        ),
        ("rated_w = 10200", "unknown key 'rated_w'; the keys are name, site, category, cooling"),
    ],
)
def test_a_mistake_in_the_table_names_file_and_key(tmp_path: Path, text: str, says: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(PlanError) as caught:
        read_description(path)
    assert str(caught.value).startswith(f"{path}: ") and says in str(caught.value)


def test_the_largest_supplies_that_a_component_needs_are_its_rating(tmp_path: Path) -> None:
    path = write(tmp_path, SYSTEM, "example_power.yaml")
    table = make_node_table(path, "Server 1")
    assert (table["rated_w"], table["power_supplies"]) == (9900, 4)
    assert table == make_node_table(path, "Example/Rack 1/Server 1")
    assert "3 of 4 power supplies of Example/Rack 1/Server 1" in table["rated_source"]
    # A key is found in any case, as by MLPerf's checker.
    assert make_node_table(path, "Switch 1")["rated_w"] == 1200


def test_servers_of_one_kind_need_no_choice(tmp_path: Path) -> None:
    supply = "{PowerCapacityWatts: 1200}"
    server = f"- Min PSUs Needed: 1\n  PSUs: [{supply}, {supply}]"
    device = write(tmp_path, f"My Device:\n{server}\n", "a.yaml")
    assert make_node_table(device)["rated_w"] == 1200
    pair = write(tmp_path, f"A:\n{server}\nB:\n{server}\n", "b.yaml")
    assert make_node_table(pair)["power_supplies"] == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SYSTEM, "choose the node with --component; the file has Example/Rack 1/Server 1 (9900 W)"),
        ("a: 1", "no component has PSUs; give the nameplate file"),
        ("", "no component has PSUs"),
        ("a: [", "cannot be read as YAML: "),
        ("a: &a [*a]", "nested too deeply"),
        (BOMB, "or too many"),
        ("a: {PSUs: [], Min PSUs Needed: 1}", "a: PSUs must list the power supplies"),
        ("a: {PSUs: [{PowerCapacityWatts: 9}]}", "found None as Min PSUs Needed, expected 1 to 1"),
        (
            "a: {Min PSUs Needed: 2, PSUs: [{PowerCapacityWatts: 9}]}",
            "found 2 as Min PSUs Needed, expected 1 to 1",
        ),
        (
            "a: {Min PSUs Needed: 1, PSUs: [{PowerCapacityWatts: 9 kW}]}",
            "power supply 1: found '9 kW' as PowerCapacityWatts, expected its capacity in watts",
        ),
        ("a: {Min PSUs Needed: 1, PSUs: [{PowerCapacityWatts: -9}]}", "rated_w: found -9"),
    ],
)
def test_a_mistake_in_the_nameplate_names_file_and_component(
    tmp_path: Path, text: str, says: str
) -> None:
    path = write(tmp_path, text, "x_power.yaml")
    with pytest.raises(PlanError) as caught:
        make_node_table(path)
    assert str(caught.value).startswith(f"{path}: ") and says in str(caught.value)


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    result = CliRunner().invoke(
        bench_submit, ["rating", str(write(tmp_path, SYSTEM, "x_power.yaml"))]
    )
    assert result.exit_code == 3
    assert f"PyYAML is not installed; {advise_extra('meters')}" in result.output


def test_a_component_that_is_not_in_the_file_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, SYSTEM, "x_power.yaml")
    with pytest.raises(PlanError, match="no single component is called Server 2; the file has Ex"):
        make_node_table(path, "Server 2")


def test_the_command_prints_a_table_for_the_end_of_system_toml(tmp_path: Path) -> None:
    name = 'Server "\u00e4" \x7f'
    text = SYSTEM.replace("Server 1", name.replace("\x7f", "x"))
    path = write(tmp_path, text, "x_power.yaml")
    printed = CliRunner().invoke(
        bench_submit, ["rating", str(path), "--component", 'Server "\u00e4" x']
    )
    assert printed.exit_code == 0, printed.output
    toml = write(tmp_path, 'name = "x"\n[[meter]]\n' + printed.output)
    assert tomllib.loads(toml.read_text())["node"]["rated_w"] == 9900
    # What a name contains never ends the text.
    table = {"rated_w": 1.0, "rated_source": name, "power_supplies": 1}
    assert tomllib.loads(format_node_table(table))["node"]["rated_source"] == name
    missing = CliRunner().invoke(bench_submit, ["rating", str(path), "--component", "z"])
    assert missing.exit_code == 2 and "no single component is called z" in missing.output
