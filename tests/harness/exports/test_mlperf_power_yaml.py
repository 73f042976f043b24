"""The nameplate of the nodes of a run, which `bench-submit rating` reads as it was."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from support.bundles import make_evidence, write_bundle

from harness.cli import main
from harness.exports.mlperf_power_yaml import make_nameplate
from harness.power_yaml import make_node_table
from harness.system import NodeDescription, describe_system, read_description
from rules.declarations.system import SystemDeclaration

NAMEPLATE = """
Example:
- Rack 1:
  - Server 1:
    - Description: 'Eight accelerators'
      Min PSUs Needed: 3
      PSUs:
      - Name: PSU 1
        PowerCapacityWatts: 3300
      - Name: PSU 2
        PowerCapacityWatts: 3000.5
      - Name: PSU 3
        PowerCapacityWatts: 3300
      - Name: PSU 4
        PowerCapacityWatts: 3300
  - Switch 1:
    - Min PSUs needed: 1
      PSUs:
      - PowerCapacityWatts: 1200
      - PowerCapacityWatts: 0
"""
SUPPLIES = {"power_supplies": 2, "supplies_needed": 1, "supply_capacities_w": [1200, 1200]}
TABLE = {"rated_w": 1200, "rated_source": "nameplate", **SUPPLIES}
FIGURES = ("rated_w", "power_supplies", "supplies_needed", "supply_capacities_w")


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def write_run(directory: Path, rating: Mapping[str, object]) -> Path:
    """The bundle of a run whose nodes have this rating."""
    evidence = make_evidence()
    evidence.system["nodes"] = [{**node, **rating} for node in evidence.system["nodes"]]
    write_bundle(evidence, directory / "bundle")
    return directory / "bundle"


def list_leaves(value: Any) -> list[dict[str, Any]]:
    """The components with power supplies, as MLPerf's checker finds them: at any depth."""
    if isinstance(value, list):
        return [leaf for part in value for leaf in list_leaves(part)]
    if "PSUs" in value and "Min PSUs Needed" in value:
        return [value]
    return [leaf for part in value.values() for leaf in list_leaves(part)]


@pytest.mark.parametrize("component", ["Server 1", "Switch 1"])
def test_a_nameplate_is_exported_as_it_was_imported(tmp_path: Path, component: str) -> None:
    source = tmp_path / "example_power.yaml"
    source.write_text(NAMEPLATE)
    toml = tmp_path / "system.toml"
    toml.write_text('name = "x"\n' + invoke("rating", source, "--component", component))
    node = NodeDescription("node0", "a CPU", 8, 2**30, ())
    document = describe_system(read_description(toml), [node])
    rating = {key: document["nodes"][0][key] for key in (*FIGURES, "rated_source")}
    exported = tmp_path / "exported_power.yaml"
    exported.write_text(invoke("export", "mlperf-power-yaml", write_run(tmp_path, rating)))
    original, copy = make_node_table(source, component), make_node_table(exported)
    assert {key: copy[key] for key in FIGURES} == {key: original[key] for key in FIGURES}
    assert copy["supply_capacities_w"] != sorted(copy["supply_capacities_w"])
    (leaf,) = list_leaves(yaml.safe_load(exported.read_text()))
    assert original["rated_source"] in leaf["Description"]


def test_each_node_is_a_component_of_the_system(tmp_path: Path) -> None:
    name = "a: 'system' - [1]\u00e4"
    nodes = [NodeDescription(f"node{i}", "CPU: x", 8, 2**30, ()) for i in range(2)]
    system = describe_system({"name": name, "node": {**TABLE, "supplies_needed": 2}}, nodes)
    text = make_nameplate(tmp_path, SystemDeclaration.from_document(system))
    document = yaml.safe_load(text)
    assert [list(part) for part in document[name]] == [["node0"], ["node1"]]
    supplies = [{"Name": f"PSU {n}", "PowerCapacityWatts": 1200} for n in (1, 2)]
    leaves = list_leaves(document)
    assert [(leaf["Min PSUs Needed"], leaf["PSUs"]) for leaf in leaves] == [(2, supplies)] * 2
    path = tmp_path / "x_power.yaml"
    path.write_text(text)
    assert make_node_table(path)["rated_w"] == 2400


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (dict.fromkeys(SUPPLIES), "has no supply_capacities_w, so its nameplate is not known"),
        ({"supply_capacities_w": None}, "has no supply_capacities_w"),
        ({"supplies_needed": None}, "has no supplies_needed"),
        ({"power_supplies": 6}, ": power_supplies: found 6, but supply_capacities_w lists 2"),
        ({"supplies_needed": 3}, ": supplies_needed: found 3, expected 1 to 2"),
    ],
)
def test_supplies_that_a_bundle_does_not_state_are_refused(
    tmp_path: Path, change: Mapping[str, object], says: str
) -> None:
    rating = {key: value for key, value in {**TABLE, **change}.items() if value is not None}
    bundle = write_run(tmp_path, rating)
    result = CliRunner().invoke(main, ["export", "mlperf-power-yaml", str(bundle)])
    output = " ".join(result.output.split())
    assert result.exit_code == 2 and result.stdout == ""
    assert f"{bundle}: node0 of system.json" in output and says in output
    assert "[node] of system.toml" in output and "run again" in output


def test_a_rating_of_a_data_sheet_stays_beside_the_supplies(tmp_path: Path) -> None:
    bundle = write_run(tmp_path, {**TABLE, "rated_w": 1010, "rated_source": "data sheet"})
    (leaf,) = list_leaves(yaml.safe_load(invoke("export", "mlperf-power-yaml", bundle)))
    assert "rated 1010 W (data sheet)" in leaf["Description"]
    assert [supply["PowerCapacityWatts"] for supply in leaf["PSUs"]] == [1200, 1200]


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = write_run(tmp_path, TABLE)
    monkeypatch.setitem(sys.modules, "yaml", None)
    result = CliRunner().invoke(main, ["export", "mlperf-power-yaml", str(bundle)])
    assert result.exit_code == 3 and "PyYAML is not installed" in result.output


def test_other_options_are_refused(tmp_path: Path) -> None:
    bundle = write_run(tmp_path, TABLE)
    result = CliRunner().invoke(main, ["export", "mlperf-power-yaml", str(bundle), "--items", "5"])
    assert result.exit_code == 2 and "--items belongs to annex-xi" in result.output
