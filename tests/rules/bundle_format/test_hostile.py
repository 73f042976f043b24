"""Whatever a stranger puts into a bundle, `bench-check` answers with the rule it offends, and goes
on with the round.

All hostile bundles are judged in one run of the command, so that each also shows that it does not
end the round.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Submissions
from support.rules.hostile_cases import CASES

# With the manifest or a huge signature file there is no companion to predict; these say more than
# one thing.
COMPANIONS = {
    "file_huge_signature": {"I105"},
    "manifest_twice": {"I101"},
    "shape_unknown_workload": {"P122"},
}


pytestmark = pytest.mark.xdist_group("hostile")  # one test process makes the bundles, once


@dataclass(frozen=True)
class Judged:
    """What one run of the command over all hostile bundles and a good one gave."""

    code: int
    errors: str
    max_rss_mib: float
    rules: dict[str, set[str]]
    """The rules that spoke, by name of the case."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, signing_key: Path) -> Submissions:
    submissions = Submissions(tmp_path_factory.mktemp("hostile") / "submissions", signing_key)
    submissions.allow(signing_key)
    good_bundle = submissions.add(run_id="good-bundle")
    for name, (_, reseal, spoil) in CASES.items():
        directory = shutil.copytree(
            good_bundle, good_bundle.parent.parent / name / "run-of-the-case"
        )
        # The manifest names the place of the bundle, so a copy elsewhere needs another one.
        if not reseal:
            submissions.reseal(directory)
        spoil(directory)
        if reseal:
            submissions.reseal(directory)
    return submissions


_MEASURED = """
import pathlib, resource, subprocess, sys
done = subprocess.run(sys.argv[2:])
pathlib.Path(sys.argv[1]).write_text(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(done.returncode)
"""
"""Linux counts the memory of who starts a process as that process's own: between the two there is a
small one."""


@pytest.fixture(scope="module")
def cache_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Lets the second run of the command reuse the verdicts of the first."""
    return {**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="module")
def judged(
    hostile: Submissions,
    cache_environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Judged:
    base = tmp_path_factory.mktemp("said")
    with (base / "out").open("wb") as out, (base / "err").open("wb") as err:
        checked = [sys.executable, "-m", "checker", "--format", "json", hostile.root]
        process = subprocess.run(
            [sys.executable, "-c", _MEASURED, base / "rss", *checked],
            env=cache_environment,
            stdout=out,
            stderr=err,
            check=False,
        )
    document = json.loads((base / "out").read_text())
    return Judged(
        code=process.returncode,
        errors=(base / "err").read_text(),
        max_rss_mib=int((base / "rss").read_text()) / 1024,
        rules={
            Path(b["path"]).parent.name: {f["rule"] for f in b["findings"]}
            for b in document["bundles"]
            if "elsewhere_bundle" not in b["path"]
        },
    )


@pytest.mark.parametrize("name", CASES)
def test_hostile_bundle_is_refused_by_its_rule(judged: Judged, name: str) -> None:
    assert judged.rules[name] == set(CASES[name][0].split()) | COMPANIONS.get(name, set())


def test_the_round_goes_on(judged: Judged) -> None:
    assert judged.code == 1
    assert judged.errors == ""
    # It is good, but for a twin: the bundle to which the case of a linked bundle points is a copy
    # of it.
    assert {rule[0] for rule in judged.rules["h200x2"]} == {"X"}


def test_bombs_take_no_memory(judged: Judged) -> None:
    # The limit for an unpacked table, twice, and the libraries: far below the 4 GiB that each bomb
    # unpacks to.
    assert judged.max_rss_mib < 1024


def test_text_cannot_steer_the_terminal(
    hostile: Submissions, judged: Judged, cache_environment: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "checker", hostile.root]
    process = subprocess.run(command, env=cache_environment, capture_output=True, check=False)
    output = process.stdout.decode()
    assert process.returncode == 1
    assert "\x1b" not in output
    assert "\nall fine" not in output
    assert "Traceback" not in output + process.stderr.decode()


def test_table_offence_names_its_row(hostile: Submissions) -> None:
    from checker.engine import judge

    (finding,) = judge(hostile.root / "example" / "table_nan" / "run-of-the-case").findings
    assert (finding.pointer, finding.found) == ("row 7", "power_mw 'nan'")
