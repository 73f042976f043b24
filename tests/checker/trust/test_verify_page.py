"""The commands of docs/verify.md verify a bundle without bench-check."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rules.bundle_format.records import (
    EVIDENCE_FILES,
    OPTIONAL_FILES,
)

ROOT = Path(__file__).parents[3]


def run_lines_of_the_page(directory: Path) -> subprocess.CompletedProcess[str]:
    page = (ROOT / "docs" / "verify.md").read_text()
    lines = "\n".join(re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    in_english = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        ["sh", "-eu", "-c", lines],
        cwd=directory,
        env=in_english,
        capture_output=True,
        text=True,
        check=False,
    )


def test_lines_of_the_page_verify_a_bundle() -> None:
    result = run_lines_of_the_page(ROOT)
    assert result.returncode == 0, result.stderr
    lines, *files = result.stdout.splitlines()
    assert lines.startswith('Good "submission@wattmark" signature for reference@wattmark ')
    assert sorted(files) == sorted(f"{name}: OK" for name in set(EVIDENCE_FILES) - OPTIONAL_FILES)


@pytest.mark.parametrize("name", ["MANIFEST.json", "samples.csv.gz"])
def test_lines_of_the_page_notice_a_change(tmp_path: Path, name: str) -> None:
    shutil.copytree(ROOT / "submissions", tmp_path / "submissions")
    for path in tmp_path.rglob(name):
        path.write_bytes(path.read_bytes() + b"\n")
    assert run_lines_of_the_page(tmp_path).returncode != 0
