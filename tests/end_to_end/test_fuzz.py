"""A few hundred of the cases of benchmarks/fuzz.py, in a process of their own; the benchmark runs a
hundred thousand. And what it found.
"""

import json
import runpy
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import Submissions, copy_evidence

from checker.engine import judge
from rules.bundle_format.files import MAX_BYTES

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"


def test_mutated_bundles_and_documents_are_answered() -> None:
    process = subprocess.run(
        [sys.executable, FUZZ, "--cases", "250"], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "250 cases by now, 0 failed" in process.stdout


def test_extension_beside_the_headline_figures_is_no_figure(submissions: Submissions) -> None:
    evidence = copy_evidence()
    evidence.result["headline"]["x-remarks"] = []
    assert judge(submissions.add(evidence)).findings == ()


@pytest.fixture(scope="module")
def mutations() -> dict[str, Any]:
    """The functions of benchmarks/mutate.py and benchmarks/mutate_tree.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FUZZ.parent))
        names = ("mutate.py", "mutate_tree.py")
        return {k: v for n in names for k, v in runpy.run_path(str(FUZZ.with_name(n))).items()}


def test_list_of_long_texts_grows_up_to_the_size_limit_of_a_document(mutations) -> None:
    class MostRepeats(Random):
        def choice(self, options: Sequence[Any]) -> Any:
            return max(options)

        def random(self) -> float:
            return 0.0

    document = {"texts": ["A" * 70_000]}
    mutations["lengthen_list"](document, MostRepeats(1))
    size = len(json.dumps(document))
    assert MAX_BYTES["system.json"] / 2 < size <= MAX_BYTES["system.json"]


@pytest.mark.parametrize("name", ["LOG", "keyring/allowed_signers", "center/system/run/x.json"])
@pytest.mark.parametrize("kind", range(3))
def test_directories_are_added_inside_the_submissions(mutations, tmp_path, name, kind) -> None:
    class Kind(Random):
        def randrange(self, *_: int) -> int:
            return kind

    submissions = tmp_path / "submissions"
    (submissions / name).parent.mkdir(parents=True)
    (submissions / name).touch()
    count = len(list(submissions.rglob("*")))
    mutations["add_directories"](name, Kind(1), submissions)
    assert list(tmp_path.iterdir()) == [submissions]
    assert len(list(islice(submissions.rglob("*"), 10_000))) > count
