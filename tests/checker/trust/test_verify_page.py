"""The commands of docs/trust.md verify a bundle without bench-check."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions

from rules.bundle_format.records import (
    RUN,
)

ROOT = Path(__file__).parents[3]


def read_lines_of_the_page() -> str:
    page = (ROOT / "docs" / "trust.md").read_text()
    _, _, page = page.partition("## Verify without wattmark\n")
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE))


def run_lines(lines: str, directory: Path) -> subprocess.CompletedProcess[str]:
    in_english = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        ["sh", "-eu", "-c", lines],
        cwd=directory,
        env=in_english,
        capture_output=True,
        text=True,
        check=False,
    )


def replace_variables(lines: str, **variables: str) -> str:
    """The lines with other values of their shell variables."""
    for name, value in variables.items():
        lines, count = re.subn(rf"^{name}=.*$", f"{name}={value}", lines, flags=re.MULTILINE)
        assert count == 1
    return lines


def test_lines_of_the_page_verify_a_bundle() -> None:
    result = run_lines(read_lines_of_the_page(), ROOT)
    assert result.returncode == 0, result.stderr
    lines, *files = result.stdout.splitlines()
    assert lines.startswith('Good "submission@wattmark" signature for reference@wattmark ')
    assert sorted(files) == sorted(f"{name}: OK" for name in RUN.required_files)


def test_lines_verify_a_bundle_whose_manifest_names_its_place(submissions: Submissions) -> None:
    """The bundle of the page has a manifest of version 1."""
    bundle = submissions.add()
    (submissions.keyring / "revoked_signers").write_text("")
    assert json.loads((bundle / "MANIFEST.json").read_text())["format"] == "wattmark-manifest/2"
    lines = replace_variables(
        read_lines_of_the_page(),
        SIGNER=PRINCIPAL,
        BUNDLE=str(bundle.relative_to(submissions.root.parent)),
    )
    result = run_lines(lines, submissions.root.parent)
    assert result.returncode == 0, result.stderr
    assert f'Good "submission@wattmark" signature for {PRINCIPAL} ' in result.stdout
    assert "result.json: OK" in result.stdout


def test_lines_refuse_a_revoked_key(submissions: Submissions) -> None:
    bundle = submissions.add()
    revoked = submissions.key.with_suffix(".pub").read_text()
    (submissions.keyring / "revoked_signers").write_text(revoked)
    lines = replace_variables(
        read_lines_of_the_page(),
        SIGNER=PRINCIPAL,
        BUNDLE=str(bundle.relative_to(submissions.root.parent)),
    )
    result = run_lines(lines, submissions.root.parent)
    assert result.returncode != 0 and result.stdout == "Could not verify signature.\n"


def test_readme_shows_the_lines_of_the_page() -> None:
    page, readme = read_lines_of_the_page(), (ROOT / "README.md").read_text()
    verifying = [line for line in page.splitlines() if "ssh-keygen" in line or "sha256sum" in line]
    assert len(verifying) == 2 and all("-r" in line for line in verifying[:1])
    assert all(line in readme for line in verifying)


@pytest.mark.parametrize("name", ["MANIFEST.json", "samples.csv.gz"])
def test_lines_of_the_page_notice_a_change(tmp_path: Path, name: str) -> None:
    shutil.copytree(ROOT / "submissions", tmp_path / "submissions")
    for path in tmp_path.rglob(name):
        path.write_bytes(path.read_bytes() + b"\n")
    assert run_lines(read_lines_of_the_page(), tmp_path).returncode != 0
