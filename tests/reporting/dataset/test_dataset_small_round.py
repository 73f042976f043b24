"""A small round as data: what failed has no figures, hostile names are escaped, files are the same
each time, and wrong input is refused with a clear message."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from conftest import Submissions, copy_evidence

from checker.engine import judge
from checker.extras import advise_extra
from reporting.cli import main
from reporting.collect import NothingFoundError
from reporting.dataset import Round
from reporting.dataset.columns import DTYPES
from reporting.dataset.description import DescriptionError, read_description
from reporting.dataset.evidence import EPOCH_COLUMNS, FINDING_COLUMNS, FindingRecord
from reporting.dataset.parquet import MARKS
from reporting.dataset.tables import FOREIGN_TABLE, TABLES, list_tables
from reporting.report_table import escape_invisible
from rules.bundle_format.records import NO_STAMP

HOSTILE_NAME = "H200\u202e W007"
PUBLISHED = Path(__file__).parents[3] / "submissions" / "published" / "mayr2026.json"
JOB = {
    "id": "812",
    "step": "0",
    "restarts": 1,
    "array_task": None,
    "site_cap": {"cap_w": 400.0, "source": "comment"},
    "energy": {"consumed_j": 987_654, "plugin": "acct_gather_energy/ipmi"},
}
DESCRIPTION = """\
title = "A round"
description = "Two runs."
creators = ["Example Computing Center"]
license = "CC-BY-4.0"
date = 2026-06-30
"""


@pytest.fixture(scope="module")
def small_round(tmp_path_factory: pytest.TempPathFactory, signing_key: Path) -> Path:
    """A run that passes, on a system with a hostile name, and one that fails."""
    submissions = Submissions(tmp_path_factory.mktemp("round") / "submissions", signing_key)
    submissions.allow(signing_key)
    evidence = copy_evidence()
    evidence.system["name"] = HOSTILE_NAME
    # The optional columns, with empty cells.
    samples = evidence.samples
    is_late = np.arange(len(samples)) % 2 == 0
    samples["mem_power_mw"] = np.where(is_late, 37_800.0, np.nan)
    samples["counter_ns"] = np.where(is_late, samples["read_ns"] + 1_000, NO_STAMP)
    evidence.result["slurm_job"] = JOB
    submissions.add(evidence)
    failing_evidence = copy_evidence()
    failing_evidence.result["headline"]["items_per_s"]["mean"] *= 2
    run_id = failing_evidence.result["run_id"]
    submissions.add(failing_evidence, f"{run_id[:-6]}ffffff")
    return submissions.root


@pytest.fixture(scope="module")
def data(small_round: Path) -> Round:
    return Round.read(small_round)


def export(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def read_bytes(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_failed_bundle_has_findings_and_no_figures(data: Round) -> None:
    assert len(data.figures) == len(data.runs) == 1
    assert set(data.epochs["bundle"]) == set(data.runs["bundle"])
    failed = data.findings[data.findings["status"] == "fail"]
    assert "T102" in set(failed["rule"]) and "error" in set(failed["severity"])
    (bundle,) = set(failed["bundle"])
    assert bundle not in set(data.figures["bundle"])
    with pytest.raises(KeyError, match="no run of this round that passed"):
        data.read_samples(bundle)


def test_findings_are_those_of_the_check(data: Round, small_round: Path) -> None:
    columns = ["rule", "severity", "file", "pointer", "found", "expected", "message"]
    findings = data.findings.fillna("")
    assert set(findings["bundle"]) <= {
        f"{p.relative_to(small_round)}" for p in small_round.glob("*/*/*")
    }
    for bundle, frame in findings.groupby("bundle"):
        verdict = judge(small_round / str(bundle))
        assert set(frame["status"]) == {verdict.status}
        assert set(frame["standing"]) == {verdict.standing or ""}
        assert sorted(frame[columns].itertuples(index=False, name=None)) == sorted(
            tuple(escape_invisible(str(getattr(finding, name))) for name in columns)
            for finding in verdict.findings
        )


def test_finding_that_is_waived_names_the_waiver(small_round: Path) -> None:
    findings = (
        f for path in small_round.glob("*/*/*/result.json") for f in judge(path.parent).findings
    )
    waived = replace(next(findings), waived="waivers/one.json")
    assert FINDING_COLUMNS[-1].read(FindingRecord("", "", None, waived)) == waived.waived


def test_epochs_are_those_of_the_result_over_all_boards_and_per_board(
    data: Round, small_round: Path
) -> None:
    """Two boards: what is of one board is half of what is of all."""
    (bundle,) = data.runs["bundle"]
    result = json.loads((small_round / bundle / "result.json").read_text())
    for row, epoch in zip(data.epochs.to_dict("records"), result["epochs"], strict=True):
        named = {**epoch, **epoch["figures"]}
        named["mean_power_w"] = named["mean_power_w_per_accelerator"]
        columns = [column.key for column in EPOCH_COLUMNS if column.key in named]
        assert len(columns) == 12
        assert {name: row[name] for name in columns} == pytest.approx(
            {name: named[name] for name in columns}, rel=1e-6
        )
        assert row["items_per_s"] == pytest.approx(2 * row["items_per_s_per_accelerator"])


def test_run_has_its_limit_and_its_job_of_slurm_with_cap_and_energy(data: Round) -> None:
    (run,) = data.runs.to_dict("records")
    shown = [run[key] for key in ("limits_read_back_w", "slurm_job_id", "slurm_restarts")]
    assert shown == ["700", "812", 1]
    assert data.runs["slurm_array_task"].isna().all()
    assert (run["site_cap_w"], run["slurm_energy_j"]) == (400, 987_654)
    assert run["slurm_energy_plugin"] == "acct_gather_energy/ipmi"


def test_invisible_characters_in_names_are_escaped(data: Round) -> None:
    for frame in (data.figures, data.runs):
        assert frame["system"].tolist() == [r"H200\u202e W007"]
        texts = frame.select_dtypes("string").fillna("")
        assert not texts.map(lambda text: "\u202e" in text).any(axis=None)


def test_samples_have_the_cells_of_the_bundle(data: Round, small_round: Path) -> None:
    (bundle,) = data.runs["bundle"]
    samples, cells = data.read_samples(bundle), read_cells(small_round / bundle)
    batches = pd.read_csv(small_round / bundle / "batches.csv.gz")
    is_outside = pd.Series(True, index=samples.index)
    for epoch, of_epoch in batches.groupby("epoch"):
        span = of_epoch["start_ns"].min(), of_epoch["end_ns"].max()
        assert samples["read_ns"][(samples["epoch"] == epoch).fillna(False)].between(*span).all()
        is_outside &= ~samples["read_ns"].between(*span)
    assert samples["epoch"][is_outside].isna().all() and 0 < is_outside.sum() < len(samples) / 2
    assert cells["counter_ns"].isna().any() and cells["counter_ns"].notna().any()
    for name in cells.columns:
        assert samples[name].isna().tolist() == cells[name].isna().tolist()
        assert samples[name].astype("string").dropna().tolist() == cells[name].dropna().tolist()


def read_cells(bundle: Path) -> pd.DataFrame:
    """The cells of samples.csv.gz as text."""
    return pd.read_csv(
        bundle / "samples.csv.gz", dtype="string", keep_default_na=False, na_values=[""]
    )


def test_parquet_files_keep_values_and_dtypes(
    data: Round, small_round: Path, tmp_path: Path
) -> None:
    result = export(small_round, "--parquet", tmp_path / "data")
    assert result.exit_code == 1, "a bundle failed"
    assert "1 figures, 1 runs, 11 epochs" in result.output
    assert {path.name for path in (tmp_path / "data").iterdir()} == {*MARKS} - {FOREIGN_TABLE.file}
    for table in TABLES:
        frame = data.read_samples() if table.name == "samples" else getattr(data, table.name)
        pd.testing.assert_frame_equal(frame, pd.read_parquet(tmp_path / "data" / table.file))


def test_files_are_the_same_each_time(small_round: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(small_round, tmp_path / "moved")
    for source, name in ((small_round, "first"), (moved, "second")):
        export(source, "--parquet", tmp_path / name)
    assert read_bytes(tmp_path / "first") == read_bytes(tmp_path / "second")
    # Written again over its own files.
    export(small_round, "--parquet", tmp_path / "second")
    assert read_bytes(tmp_path / "first") == read_bytes(tmp_path / "second")


def test_round_without_runs_has_all_columns() -> None:
    published = Round.read(PUBLISHED)
    assert len(published.figures) == 95 and published.figures["bundle"].isna().all()
    frames = {t.name: getattr(published, t.name, published.read_samples()) for t in TABLES}
    for table in list_tables(published):
        expected = {column.key: DTYPES[column.form] for column in table.columns}
        assert {str(k): str(v) for k, v in frames[table.name].dtypes.items()} == expected
    assert all(frames[name].empty for name in ("runs", "epochs", "samples"))


def test_path_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NothingFoundError, match="no such file or directory"):
        Round.read(tmp_path / "missing")
    with pytest.raises(NothingFoundError, match="no bundle and no published figures"):
        Round.read(tmp_path)


def test_files_of_others_are_not_overwritten(small_round: Path, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# My project\n")
    result = export(small_round, "--parquet", tmp_path)
    assert result.exit_code == 2 and "there is a file of another kind" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    bundle = next(small_round.glob("example/*/*"))
    result = export(small_round, "--parquet", bundle)
    assert result.exit_code == 2 and "holds evidence only" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name what to write"),
        (["--parquet", "data", "--tables", "tables"], "belong to the page"),
        (["--parquet", "data", "--since", "v1"], "belong to the page"),
        (["--archive", "data", "--local"], "results with verified signatures: omit --local"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], message: str) -> None:
    result = export(PUBLISHED, *arguments)
    assert result.exit_code == 2 and message in result.output


def test_missing_library_is_named_before_the_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "mlcroissant", None)
    result = export(PUBLISHED, "--archive", tmp_path / "data")
    assert result.exit_code == 3
    assert f"--archive needs mlcroissant: {advise_extra('publish')}" in result.output
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("line", "replacement", "message"),
    [
        ('title = "A round"', "", "title is missing; write it"),
        ('title = "A round"', 'title = " "', "title is ' '; expected a text"),
        ('"Example Computing Center"', "", "creators is []; expected a list of names"),
        ('"CC-BY-4.0"', '"https://example.org/a b"', "expected an SPDX identifier"),
        ("2026-06-30", '"June"', "date is 'June'; expected a day without quotes"),
        ("2026-06-30", "2026-06-30T12:00:00Z", "expected a day without quotes"),
        ("2026-06-30", '2026-06-30\nurl = "javascript:1"', "expected a web address"),
        ("2026-06-30", '2026-06-30\nlicence = "MIT"', "licence is unknown; known are title,"),
        ("2026-06-30", "2026-13-45", "cannot be read as TOML"),
    ],
)
def test_wrong_description_is_refused(
    tmp_path: Path, line: str, replacement: str, message: str
) -> None:
    (tmp_path / "round.toml").write_text(DESCRIPTION.replace(line, replacement))
    with pytest.raises(DescriptionError) as error:
        read_description(tmp_path)
    assert message in str(error.value) and str(tmp_path / "round.toml") in str(error.value)


def test_missing_description_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="there is no such file") as error:
        read_description(tmp_path)
    # The example that the message shows is a good one.
    (tmp_path / "round.toml").write_text(str(error.value).partition("\n\n")[2])
    assert read_description(tmp_path).license == "CC-BY-4.0"


@pytest.mark.parametrize("value", ["1" * 5000, "[" * 5000], ids=["long", "nested"])
def test_description_that_python_cannot_read_is_refused(tmp_path: Path, value: str) -> None:
    (tmp_path / "round.toml").write_text(f"title = {value}")
    with pytest.raises(DescriptionError, match=r"cannot be read as TOML: .*; correct it"):
        read_description(tmp_path)


def test_description_beside_a_file_is_missing(tmp_path: Path) -> None:
    (tmp_path / "trends.json").touch()
    with pytest.raises(DescriptionError, match="there is no such file"):
        read_description(tmp_path / "trends.json")
