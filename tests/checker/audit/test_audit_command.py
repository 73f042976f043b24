"""`bench-check audit`: output and exit codes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.audit_samples import WRITERS, change_json, write_report

from checker.audit.cli import audit


def run(*arguments: object) -> Result:
    return CliRunner().invoke(audit, list(map(str, arguments)))


def contradict(path: Path) -> None:
    change_json(path, lambda report: report.update(average_power_w=30.0))


def test_good_evidence_exits_with_zero(tmp_path: Path) -> None:
    result = run(write_report(tmp_path / "report.json"))
    assert result.exit_code == 0
    assert result.output.startswith("consistent:")
    assert result.output.endswith("1 row audited: 1 consistent\n")


def test_contradiction_exits_with_one_and_names_both_figures(tmp_path: Path) -> None:
    contradict(write_report(tmp_path / "report.json"))
    result = run(tmp_path)
    assert result.exit_code == 1
    words = " ".join(result.output.split())
    assert "F104 error: total_energy_j: 3000 J is stated" in words
    assert "expected: 300 J, from average_power_w x total_time_s" in words


def test_unreadable_file_exits_with_one(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("{")
    result = run(tmp_path)
    assert result.exit_code == 1
    assert "0 rows audited; 1 not read" in result.output


def test_missing_path_is_wrong_usage() -> None:
    assert run("nowhere").exit_code == 2


@pytest.mark.parametrize("source", WRITERS)
def test_text_has_80_columns(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    WRITERS[source](tmp_path / "sample")
    monkeypatch.chdir(tmp_path)
    output = run("sample").output
    assert max(map(len, output.splitlines())) <= 80
    assert all(word in output for word in ("missing", "row audited"))


def test_json_has_rows_grades_and_findings(tmp_path: Path) -> None:
    contradict(write_report(tmp_path / "report.json"))
    result = run("--json", tmp_path)
    document = json.loads(result.output)
    (row,) = document["rows"]
    assert result.exit_code == 1
    assert document["format"] == "wattmark-audit/1"
    assert (row["grade"], row["items_grade"]) == ("contradicted", "consistent")
    assert row["joules_per_item"]["value"] == 0.5
    assert [finding["rule"] for finding in row["findings"]] == ["F104"]
    assert {check["agrees"] for check in row["checks"]} == {True, False}
