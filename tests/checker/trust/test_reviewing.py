"""docs/trust.md shows a session that can be had: its commands are run in order, and must print
what it prints."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import make_key

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "trust.md"
BUNDLES = (
    "reference/h200/20261120T170944Z-resnet50-train-baseline-x1-700W-9d3d13",
    "reference/h200/20261120T201624Z-llama3-8b-pretrain-tuned-x1-700W-bf5854",
)
ROLES = {
    "zoe": ("zoe@nhr.example.org", "review@wattmark"),
    "chair": ("chair@round.example.org", "waiver@wattmark,withdrawal@wattmark"),
}


@pytest.fixture
def submissions(tmp_path: Path) -> Path:
    """Two of the committed bundles, the first with a headline that is a tenth too high, and keys of
    a reviewer and a chair."""
    root = tmp_path / "submissions"
    for bundle in BUNDLES:
        shutil.copytree(ROOT / "submissions" / bundle, root / bundle)
    result = root / BUNDLES[0] / "result.json"
    stated = json.loads(result.read_text())
    stated["headline"]["items_per_s"]["mean"] *= 1.1
    result.write_text(json.dumps(stated, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    shutil.copytree(ROOT / "submissions" / "keyring", root / "keyring")
    with (root / "keyring" / "allowed_signers").open("a") as signers:
        for name, (principal, namespaces) in ROLES.items():
            public = make_key(tmp_path / name).with_suffix(".pub").read_text()
            signers.write(f'{principal} namespaces="{namespaces}" {public}')
    return root


def list_steps() -> Iterator[tuple[str, list[str]]]:
    """The commands of the page and the lines that each prints."""
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = step.replace("\\\n", " ").partition("\n")
            yield command, printed.splitlines()


def mask_session_values(lines: list[str]) -> list[str]:
    """The lines without what differs from session to session: hashes and times."""
    changing = r"\b[0-9a-f]{64}\b|\d{4}-\d\d-\d\dT[\d:]+Z|\d{4}-\d\d-\d\d-[0-9a-f]{8}\b"
    return [re.sub(changing, "…", line) for line in lines]


def test_page_shows_what_the_commands_print(submissions: Path) -> None:
    page_steps = list(list_steps())
    assert {command.split()[1] for command, _ in page_steps} >= {
        "submissions",
        "review",
        "waive",
        "accept",
        "verify",
        "withdraw",
    }
    for number, (command, printed) in enumerate(page_steps):
        program, *arguments = shlex.split(command)
        assert program == "bench-check"
        run = [sys.executable, "-m", "checker", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.run(
            run,
            cwd=submissions.parent,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert mask_session_values(printed) == mask_session_values(
            (process.stdout + process.stderr).splitlines()
        ), command
        if number == 0:  # "the center restores the file"
            shutil.copy(ROOT / "submissions" / BUNDLES[0] / "result.json", submissions / BUNDLES[0])
