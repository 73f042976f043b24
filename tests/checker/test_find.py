"""What lies below a path: trees that strangers made are searched in full, in linear time."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Submissions
from support.rounds.verdicts import run_bench_check

from checker.find import find_places


def make_deep(parent: Path, levels: int) -> Path:
    """A chain of directories below `parent`, longer than a path may be. Returns the first."""
    first = parent / "d"
    first.mkdir()
    descriptor = os.open(first, os.O_RDONLY)
    for _ in range(levels - 1):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    return first


@pytest.mark.parametrize("levels", [1_500, 3_000])
def test_deep_directories_do_not_end_the_round(submissions: Submissions, levels: int) -> None:
    bundle = submissions.add()
    make_deep(submissions.root / "example", levels)
    command = [sys.executable, "-m", "checker", "--format", "json", submissions.root]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    deep, good = json.loads(done.stdout)["bundles"]
    assert (good["path"], good["status"]) == (str(bundle), "pass")
    assert [finding["rule"] for finding in deep["findings"]] == ["I125"]
    assert "more than 16 levels" in deep["findings"][0]["found"]
    # `shutil.rmtree` of Python 3.11 recurses too.
    subprocess.run(["rm", "-rf", submissions.root / "example" / "d"], check=True)


@pytest.mark.parametrize("levels", [16, 17])
def test_bundle_at_the_largest_depth_is_judged(tmp_path: Path, levels: int) -> None:
    bundle = tmp_path.joinpath(*["d"] * levels)
    bundle.mkdir(parents=True)
    (bundle / "result.json").touch()
    places = find_places(tmp_path)
    is_searched = levels <= 16
    assert places.bundles == [bundle] * is_searched
    assert places.too_deep == [bundle] * (not is_searched)


def test_many_hidden_directories_take_linear_time(tmp_path: Path) -> None:
    for number in range(20_000):
        (tmp_path / f".{number}").mkdir()
    begin_s = time.process_time()
    assert len(find_places(tmp_path).skipped) == 20_000
    assert time.process_time() - begin_s < 5
    shutil.rmtree(tmp_path)


def test_only_the_first_hidden_directories_are_named(submissions: Submissions) -> None:
    submissions.add()
    for number in range(1_000):
        (submissions.root / f".{number:04}").mkdir()
    output = run_bench_check(submissions.root).output
    assert ".0019 and 980 more" in output.replace(f"{submissions.root}/", "")
