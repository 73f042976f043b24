"""The table `foreign` of a data set: there only if something was audited, with the values of the
audit."""

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from checker.audit.audit import audit
from reporting.cli import main
from reporting.dataset import Round
from reporting.dataset.foreign import FOREIGN_COLUMNS

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "audit"
PUBLISHED = ROOT / "submissions" / "published" / "mayr2026.json"


def export(directory: Path, *arguments: str) -> str:
    given = [str(PUBLISHED), "--parquet", str(directory), *arguments]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 0, result.output
    return result.output


def test_table_has_the_audited_rows(tmp_path: Path) -> None:
    assert ", 3 foreign" in export(tmp_path, "--audit", str(EXAMPLES))
    frame = pd.read_parquet(tmp_path / "foreign.parquet").set_index("source")
    judged = {item.row.source: item for item in audit([EXAMPLES]).rows}
    assert set(frame.index) == set(judged) and set(frame["standing"]) == {"foreign"}
    for source, item in judged.items():
        assert frame["grade"][source] == item.grade
        assert frame["items_per_s"].fillna(-1)[source] == (item.row.items_per_s or -1)
    assert frame["stated_j"]["aiperf"] == pytest.approx(8320)
    assert frame["recomputed_j"]["aiperf"] == pytest.approx(8000)
    assert frame["deviation_percent"]["aiperf"] == pytest.approx(4)
    assert frame["recomputed_joules_per_item"]["mlperf-inference"] == pytest.approx(5)
    assert frame["findings"]["aiperf"].startswith("F101 error: total_gpu_energy")
    assert frame["findings"].isna()[["mlperf-inference", "zeus"]].all()
    pd.testing.assert_frame_equal(
        Round.read(PUBLISHED, audit=[EXAMPLES]).foreign,
        pd.read_parquet(tmp_path / "foreign.parquet"),
    )


def test_dictionary_and_readme_describe_the_table(tmp_path: Path) -> None:
    export(tmp_path, "--audit", str(EXAMPLES))
    tables = json.loads((tmp_path / "dictionary.json").read_text("utf-8"))["tables"]
    (table,) = (table for table in tables if table["name"] == "foreign")
    assert table["rows"] == 3
    assert [c["column"] for c in table["columns"]] == [c.key for c in FOREIGN_COLUMNS]
    assert "### foreign" in (tmp_path / "README.md").read_text("utf-8")


def test_without_an_audit_there_is_no_table(tmp_path: Path) -> None:
    assert "foreign" not in export(tmp_path / "first")
    names = {path.name for path in (tmp_path / "first").iterdir()}
    assert "foreign.parquet" not in names
    export(tmp_path / "second", "--audit", str(EXAMPLES))
    assert (tmp_path / "second" / "foreign.parquet").exists()
    # Rows of an earlier export would not be in the dictionary.
    export(tmp_path / "second")
    for directory in ("first", "second"):
        assert {path.name for path in (tmp_path / directory).iterdir()} == names
        dictionary = (tmp_path / directory / "dictionary.json").read_text("utf-8")
        assert "foreign" not in dictionary


def test_parquet_file_of_others_stays(tmp_path: Path) -> None:
    export(tmp_path)
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "foreign.parquet")
    export(tmp_path)
    assert list(pd.read_parquet(tmp_path / "foreign.parquet").columns) == ["a"]
