"""`bench-report --published` shows the published figures that come with wattmark."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from reporting.cli import main
from reporting.collect import NothingFoundError, list_shipped_figures

PUBLISHED = Path(__file__).parents[2] / "submissions" / "published"


def test_clone_ships_its_published_figures() -> None:
    assert list_shipped_figures([]) == sorted(PUBLISHED.rglob("*.json"))


def test_file_of_the_round_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    published = tmp_path / "submissions" / "published"
    (published / "desislavov2023").mkdir(parents=True)
    for name in ("mayr2026.json", "desislavov2023/trends.json"):
        shutil.copy(PUBLISHED / name, published / name)
    names = {file.name for file in list_shipped_figures([tmp_path])}
    shipped = {file.name for file in PUBLISHED.rglob("*.json")}
    assert names == shipped - {"mayr2026.json", "trends.json"}


def test_option_adds_the_shipped_files_to_the_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected: list[list[Path]] = []

    def record_paths(paths: Sequence[Path], *_: object) -> None:
        collected.append(list(paths))
        raise NothingFoundError("only the paths are of interest")

    monkeypatch.setattr("reporting.collect.collect", record_paths)
    for options in ([], ["--published"]):
        CliRunner().invoke(main, [str(tmp_path), "-o", str(tmp_path / "page.html"), *options])
    assert collected == [[tmp_path], [tmp_path, *list_shipped_figures([])]]
