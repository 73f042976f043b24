"""`make test` and `make test-all` run every test once, and what the first leaves to the second is
there."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from support.extended import FIXTURES, GROUPS, PLACES, find_need

ROOT = Path(__file__).parents[2]


def list_pytest_commands(*arguments: str) -> list[str]:
    """The commands with which make runs pytest, without running them."""
    ready = [f"--assume-old={name}" for name in (".venv/ready", ".venv/site-ready")]
    # Of a make that runs this test.
    inherited = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    process = subprocess.run(
        ["make", "--dry-run", *ready, *arguments],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in inherited},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = process.stdout.splitlines()
    return [line for line in lines if "/pytest " in line and "collect-only" not in line]


def test_each_test_is_run_once() -> None:
    (quick,) = list_pytest_commands("test")
    rest = list_pytest_commands("--assume-old=test", "test-all")
    assert list_pytest_commands("test-all") == [quick, *rest]
    (extended,) = [line for line in rest if ".venv/bin" in line]
    assert re.findall(r"-m (\S+ \S+|\S+) ?(.*)", quick) == [("'not extended'", "")]
    assert re.findall(r"-m (\S+) ?(.*)", extended) == [("extended", "--ignore=tests/stacks")]
    patterns = re.findall(r"\.venvs/\w+/bin/pytest .* (tests/stacks/\S+)", "\n".join(rest))
    of_stacks = [path for pattern in patterns for path in ROOT.glob(pattern)]
    assert sorted(of_stacks) == sorted(ROOT.glob("tests/stacks/test_*.py"))


def test_ci_runs_both_targets_in_this_order() -> None:
    commands = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert commands[-2:] == ["make test", "make --assume-old=test test-all"]


@pytest.mark.parametrize("place", PLACES)
def test_place_of_extended_tests_exists(place: str) -> None:
    file, _, name = place.partition("::")
    assert (ROOT / file).exists()
    assert not name or f"def {name}" in (ROOT / file).read_text(encoding="utf-8")


def test_fixtures_and_groups_of_extended_tests_exist() -> None:
    paths = [*(ROOT / "tests").rglob("*.py")]
    code = "\n".join(p.read_text(encoding="utf-8") for p in paths if p.name != "extended.py")
    assert [name for name in FIXTURES if f"\ndef {name}(" not in code] == []
    assert [name for name in GROUPS if f'xdist_group("{name}")' not in code] == []


def test_need_of_a_test_follows_from_its_fixtures_its_group_and_its_place() -> None:
    class Item:
        nodeid = "tests/test_made.py::test_one"
        fixturenames = ("tmp_path",)
        group = "hostile"

        def iter_markers(self, _: str) -> list[pytest.Mark]:
            return [pytest.mark.xdist_group(self.group).mark]

    item = Item()
    assert find_need(item) == ""
    item.fixturenames = ("tmp_path", "chromium")
    assert find_need(item) == "a browser"
    item.fixturenames, item.group = (), "torch"
    assert find_need(item) == "torch"
    item.nodeid, item.group = "tests/end_to_end/kills/test_new.py::test_one", "hostile"
    assert find_need(item) == "whole runs that are killed"
