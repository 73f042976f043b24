"""The command that installs an extra, by where the installed wattmark came from."""

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from checker.extras import advise_extra

WHEEL = {"archive_info": {}, "url": "file:///opt/a%20b/wattmark-1-py3-none-any.whl"}
ADDRESS = {"archive_info": {}, "url": "https://round.example/wattmark-1-py3-none-any.whl"}
COMMIT = {
    "url": "https://git.example/wattmark.git",
    "vcs_info": {"vcs": "git", "commit_id": "0123abc"},
}


class Installed:
    def __init__(self, origin: Any) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.origin is None else json.dumps(self.origin)


@pytest.mark.parametrize(
    ("origin", "advice"),
    [
        (WHEEL, "pip install '/opt/a b/wattmark-1-py3-none-any.whl[report]'"),
        ({"dir_info": {}, "url": "file:///opt/clone"}, "pip install '/opt/clone[report]'"),
        (
            {"dir_info": {"editable": True}, "url": "file:///opt/clone"},
            "pip install --editable '/opt/clone[report]'",
        ),
        (ADDRESS, f"pip install 'wattmark[report] @ {ADDRESS['url']}'"),
        (
            COMMIT,
            "pip install 'wattmark[report] @ git+https://git.example/wattmark.git@0123abc'",
        ),
        (None, "pip install 'WHEEL[report]' with the file or the address of wattmark as WHEEL"),
    ],
)
def test_command_names_what_wattmark_came_from(
    origin: Any, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(origin))
    assert advise_extra("report") == advice


def test_no_program_gives_pip_the_name_alone() -> None:
    root = Path(__file__).parents[2]
    named = [
        path
        for folder in ("checker", "harness", "reporting", "rules", "reference", "docs")
        for path in (root / folder).rglob("*.[mp][dy]")
        if "pip install 'wattmark[" in path.read_text("utf-8") and path.name != "extras.py"
    ]
    assert named == []
