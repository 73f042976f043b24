"""The README of examples/round/ sets up a round, in which a center submits and the person who runs
the round accepts, each with a key of its own. tests/site/test_round_templates.py tests the
templates of the servers."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from support.console.blocks import list_blocks_of

from checker.trust.acceptance_log import read_log
from checker.trust.keyring import read_keyring
from reporting.dataset.description import read_description

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "examples/round"
README = TEMPLATE / "README.md"
BLOCKS = list_blocks_of(__file__, README)


def run_script(script: str, directory: Path) -> str:
    """The output of commands of the page. Fails if one fails."""
    identity = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", "test"), ("EMAIL", "test@example.org"))
    }
    process = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=directory,
        env={
            **os.environ,
            **identity,
            "WATTMARK": str(ROOT),
            "PYTHONPATH": str(ROOT),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout
    return process.stdout


def test_round_takes_a_bundle_in_by_the_commands_of_its_page(tmp_path: Path) -> None:
    printed = run_script("\n".join(block.text for block in BLOCKS), tmp_path)
    assert "1 written to the LOG, 0 refused" in printed
    assert "submissions/LOG: 1 line, head " in printed
    repository = tmp_path / "round"
    assert "The pull request passes" in (repository / "out/summary.md").read_text()
    (path,) = read_log(repository / "submissions").accepted
    assert path.startswith("demo/h200/")
    process = subprocess.run(
        ["git", "status", "--short"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert process.stdout == ""


def test_template_has_what_a_round_needs(tmp_path: Path) -> None:
    assert len(README.read_text().splitlines()) <= 60
    submissions = tmp_path / "submissions"
    shutil.copytree(TEMPLATE / "submissions", submissions)
    description = read_description(submissions)
    written = tomllib.loads((submissions / "round.toml").read_text())
    assert description.title == written["title"]
    assert not read_keyring(submissions / "keyring").principals_of("nhr")


def test_readme_names_every_file_of_the_template() -> None:
    text = README.read_text()
    tops = {path.relative_to(TEMPLATE).parts[0] for path in TEMPLATE.rglob("*") if path.is_file()}
    unnamed = {top for top in tops if f"`{top}" not in text and f"{top}/" not in text}
    assert unnamed == {"README.md", ".gitignore", ".gitattributes"}
