"""The examples for regression suites: references from a round, and the file for JUBE.
tests/site/test_reframe.py runs ReFrame."""

import importlib.util
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

import checker.cli
import harness.cli

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
ROUND = ROOT / "submissions/reference/h200"
JUBE_FILE = EXAMPLES / "jube/wattmark.xml"
COMMANDS = {**harness.cli.main.commands, "bench-check": checker.cli.check}


@pytest.fixture(scope="module")
def module() -> ModuleType:
    path = EXAMPLES / "reframe/round_references.py"
    spec = importlib.util.spec_from_file_location("round_references", path)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """A system with two runs of one workload, and one of another."""
    resnet_run = next(ROUND.glob("*resnet50-train-tuned-x1-700W*"))
    vit_run = next(ROUND.glob("*vitl16-train-tuned-x1-700W*"))
    for name, bundle in (("run-1", resnet_run), ("run-2", resnet_run), ("run-3", vit_run)):
        (tmp_path / name).mkdir()
        for file in ("result.json", "system.json"):
            shutil.copy(bundle / file, tmp_path / name)
    return tmp_path


def change(bundle: Path, **values: float) -> None:
    """Change the cap or figures of the headline in result.json."""
    result = json.loads((bundle / "result.json").read_text())
    for name, value in values.items():
        if name == "cap_w":
            result["power"]["cap_w"] = value
        else:
            result["headline"][name]["mean"] = value
    (bundle / "result.json").write_text(json.dumps(result))


def test_reference_is_the_mean_over_runs_of_the_same_settings(
    module: ModuleType, system: Path
) -> None:
    change(system / "run-1", items_per_s=100.0, joules_per_item=2.0)
    change(system / "run-2", items_per_s=110.0, joules_per_item=3.0)
    references = module.find_references(system, system / "run-2")
    assert references == {"items_per_s": 105.0, "joules_per_item": 2.5}
    change(system / "run-2", cap_w=600.0)
    assert module.find_references(system, system / "run-1")["items_per_s"] == 100.0


def test_round_without_a_run_like_the_new_one_is_refused(
    module: ModuleType, system: Path, tmp_path: Path
) -> None:
    new_run = tmp_path / "new/run"
    shutil.copytree(system / "run-3", new_run)
    shutil.rmtree(system / "run-3")
    change(new_run, cap_w=600.0)
    (tmp_path / "round").mkdir()
    for name in ("run-1", "run-2"):
        (system / name).rename(tmp_path / "round" / name)
    with pytest.raises(module.NoReferenceError, match=r"none of its 2 runs .*cap 600\.0"):
        module.find_references(tmp_path / "round", new_run)


def test_damaged_bundle_of_a_round_is_named(module: ModuleType, system: Path) -> None:
    for text in ("{", "[]", '{"headline": 1}'):
        (system / "run-2/result.json").write_text(text)
        with pytest.raises(module.NoReferenceError, match=r"run-2: is no bundle .* can be read"):
            module.find_references(system, system / "run-1")


def test_run_of_a_round_without_energy_is_no_reference(module: ModuleType, system: Path) -> None:
    path = system / "run-2/result.json"
    result = json.loads(path.read_text())
    result["headline"]["joules_per_item"] = None
    path.write_text(json.dumps(result))
    change(system / "run-1", items_per_s=100.0, joules_per_item=2.0)
    references = module.find_references(system, system / "run-1")
    assert references == {"items_per_s": 100.0, "joules_per_item": 2.0}


def test_commands_of_the_jube_file_exist() -> None:
    tree = ElementTree.parse(JUBE_FILE)
    commands = [element.text or "" for element in tree.iter("do")]
    for command in commands:
        program, *words = shlex.split(command.partition("||")[0].partition(">")[0])
        if program == "python3":
            assert words[0] == "${references}"
            continue
        parsed = COMMANDS[words[0] if program == "bench-submit" else program]
        options = {option for parameter in parsed.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options
    assert [shlex.split(command)[0] for command in commands] == [
        "bench-submit",
        "bench-check",
        "python3",
        "python3",
    ]
    (script,) = [p.text or "" for p in tree.iter("parameter") if p.get("name") == "references"]
    home = str(JUBE_FILE.parent)
    assert Path(script.replace("${jube_benchmark_home}", home)).resolve().is_file()


def test_names_in_the_jube_file_are_defined_and_match_what_the_helper_prints(
    module: ModuleType, system: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = ElementTree.parse(JUBE_FILE)
    parameters = {element.get("name") for element in tree.iter("parameter")}
    patterns = {element.get("name"): element.text or "" for element in tree.iter("pattern")}
    sets = {e.get("name") for tag in ("parameterset", "patternset") for e in tree.iter(tag)}
    analysers = {element.get("name") for element in tree.iter("analyser")}
    used = {element.text for element in tree.iter("use")}
    used |= {element.get("use") for element in tree.iter("file")}
    assert used <= sets | analysers
    assert {element.text for element in tree.iter("column")} <= parameters | set(patterns)
    variables = {
        name for element in tree.iter("do") for name in re.findall(r"\$\{(\w+)\}", element.text)
    }
    assert variables <= parameters
    monkeypatch.setattr(sys, "argv", ["", str(system), str(system / "run-1")])
    module.main()
    printed = capsys.readouterr().out
    for pattern in patterns.values():
        # The pattern of a number that JUBE's documentation gives for jube_pat_fp.
        number = r"([+-]?\d*\.?\d+(?:[eE][-+]?\d+)?)"
        assert re.search(pattern.replace("${jube_pat_fp}", number), printed, re.MULTILINE)
