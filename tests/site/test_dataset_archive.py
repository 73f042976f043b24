"""A round for an archive: the libraries of Croissant and RO-Crate read what `--archive` writes."""

import itertools
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from reporting.cli import main
from reporting.dataset.parquet import MARKS
from reporting.dataset.publication import DESCRIPTION_MARKS
from reporting.dataset.tables import TABLES

mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is in the extra publish")
rocrate = pytest.importorskip("rocrate.rocrate", reason="rocrate is in the extra publish")

pytestmark = pytest.mark.xdist_group("dataset-archive")  # one test process writes it, once
SUBMISSIONS = Path(__file__).parents[2] / "submissions"
# Nothing was audited.
FILES = {*MARKS, *DESCRIPTION_MARKS} - {"foreign.parquet"}
MAX_RECORDS = 150
"""More than a table has, except epochs and samples."""


def write_archive(directory: Path) -> Path:
    result = CliRunner().invoke(main, [str(SUBMISSIONS), "--archive", str(directory)])
    assert result.exit_code == 0, result.output
    return directory


def read_bytes(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_archive(tmp_path_factory.mktemp("archive") / "round")


@pytest.fixture(scope="module")
def croissant(archive: Path) -> Any:
    return mlcroissant.Dataset(jsonld=archive / "croissant.json")


@pytest.fixture(scope="module")
def crate(archive: Path) -> Any:
    return rocrate.ROCrate(archive)


def test_archive_has_all_files_and_nothing_else(archive: Path) -> None:
    assert {path.name for path in archive.iterdir()} == FILES


def test_archive_is_the_same_each_time(archive: Path, tmp_path: Path) -> None:
    before = read_bytes(archive)
    assert read_bytes(write_archive(tmp_path / "again")) == before
    # Its own files are overwritten.
    assert read_bytes(write_archive(archive)) == before


def test_croissant_is_valid_and_complete(croissant: Any) -> None:
    issues = croissant.metadata.ctx.issues
    assert not issues.errors and not issues.warnings, issues.report()
    metadata = croissant.metadata
    assert metadata.license == ["https://spdx.org/licenses/Apache-2.0"]
    assert metadata.date_published.date().isoformat() == "2026-11-23"
    assert [record_set.name for record_set in metadata.record_sets] == [t.name for t in TABLES]


def test_croissant_has_the_columns_of_the_dictionary(archive: Path, croissant: Any) -> None:
    dictionary = json.loads((archive / "dictionary.json").read_text("utf-8"))
    for table, record_set in zip(dictionary["tables"], croissant.metadata.record_sets, strict=True):
        for column, field in zip(table["columns"], record_set.fields, strict=True):
            assert field.name == column["column"]
            assert column["meaning"] in field.description and column["unit"] in field.description


def test_croissant_names_the_hashes_of_the_files(archive: Path, croissant: Any) -> None:
    for file in croissant.metadata.file_objects:
        content = (archive / file.content_url).read_bytes()
        assert file.sha256 == sha256(content).hexdigest()
        assert file.content_size == f"{len(content)} B"


@pytest.mark.parametrize("name", [table.name for table in TABLES])
def test_croissant_loads_the_records(archive: Path, croissant: Any, name: str) -> None:
    frame = pd.read_parquet(archive / f"{name}.parquet")
    records = list(itertools.islice(croissant.records(name), MAX_RECORDS))
    assert len(records) == min(len(frame), MAX_RECORDS)
    for record, (_, row) in zip(records, frame.iterrows(), strict=False):
        for column, value in row.items():
            loaded = record[f"{name}/{column}"]
            loaded = loaded.decode() if isinstance(loaded, bytes) else loaded
            if pd.isna(value):
                assert loaded is None or pd.isna(loaded), column
            else:
                assert loaded == value, column


def test_crate_describes_the_round(archive: Path, crate: Any) -> None:
    assert crate.name == "Reference runs of wattmark"
    assert crate.root_dataset["datePublished"].startswith("2026-11-23")
    assert crate.license.id == "https://spdx.org/licenses/Apache-2.0"
    root = crate.root_dataset
    assert (root["author"]["name"], root["citation"]["name"]) == ("wattmark", "Mayr et al. 2026")


def test_crate_lists_all_files_with_their_sizes(archive: Path, crate: Any) -> None:
    sizes = {entity.id: entity["contentSize"] for entity in crate.data_entities}
    assert sizes == {
        path.name: str(path.stat().st_size)
        for path in archive.iterdir()
        if path.name != "ro-crate-metadata.json"
    }


def test_crate_can_be_zipped_with_all_files(crate: Any, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    crate.write(copy)
    assert {path.name for path in copy.iterdir()} == FILES
