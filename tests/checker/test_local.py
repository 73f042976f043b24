"""`--local`: a run is judged and shown without a keyring, and never counts as a pass."""

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import Submissions, copy_evidence
from support.bundles import write_bundle
from support.rounds.verdicts import add_altered_bundle, run_bench_check

from reporting.cli import main as bench_report
from rules.bundle_format.documents import read_document

LABEL = "local, not signed"
"""How text, JSON and page mark such a run."""


@pytest.fixture
def unsigned_run(tmp_path: Path) -> Path:
    """A bundle as a run leaves it: unsigned, with no keyring above it."""
    directory = tmp_path / "out" / "run"
    write_bundle(copy_evidence(), directory)
    return directory


def run_bench_report(*arguments: str | Path) -> Result:
    return CliRunner().invoke(bench_report, [str(a) for a in arguments])


def test_unsigned_run_is_judged_locally_and_does_not_pass(unsigned_run: Path) -> None:
    assert run_bench_check(unsigned_run).exit_code == 1
    result = run_bench_check("--local", unsigned_run)
    assert result.exit_code == 4
    first, *_, partial, summary = result.output.splitlines()
    assert first == f"{unsigned_run}: partial (closed, {LABEL})"
    assert partial == "partial: with --local this is no judgement by the whole rule book"
    assert summary.startswith("1 judged in part (--local): 1 without errors in that part, 0 fail;")


def test_local_judgement_finds_what_the_evidence_shows(submissions: Submissions) -> None:
    bundle = add_altered_bundle(submissions)
    result = run_bench_check("--local", "--format", "json", bundle)
    (judged,) = json.loads(result.output)["bundles"]
    assert (result.exit_code, judged["status"]) == (1, "fail")
    assert "T102" in {finding["rule"] for finding in judged["findings"]}


def test_json_of_a_local_judgement_states_that_it_is_local(submissions: Submissions) -> None:
    bundle = submissions.add()
    result = run_bench_check("--local", "--format", "json", bundle)
    document = json.loads(result.output)
    (judged,) = document["bundles"]
    assert document["partial"] == ["--local"]
    # The signature is good, but nobody has looked at it.
    level = "local, signature not verified"
    assert (judged["trust_level"], judged["signer"], judged["status"]) == (level, None, "partial")
    assert f"({judged['standing']}, {level})" in run_bench_check("--local", bundle).output
    read_document("verdict.json", result.output.encode(), "wattmark-verdict/1")


@pytest.mark.parametrize("output_format", ["text", "json", "junit", "github", "sarif"])
def test_no_format_calls_a_local_judgement_a_pass(unsigned_run: Path, output_format: str) -> None:
    result = run_bench_check("--local", "--format", output_format, unsigned_run)
    assert result.exit_code == 4
    assert not re.search(r'"pass"|: pass|\d pass', result.output)
    assert "--local" in result.output


def test_local_judgement_reads_no_keyring_and_no_log(submissions: Submissions) -> None:
    bundle = submissions.add()
    nested = bundle.parent / "keyring"
    shutil.copytree(submissions.keyring, nested)
    (submissions.root / "LOG").write_text("no line of a LOG\n")
    # The keyring above a checked bundle is found too.
    for checked in (submissions.root, bundle):
        assert "a keyring below another" in run_bench_check(checked).output
    assert run_bench_check("--local", submissions.root).exit_code == 4


@pytest.mark.parametrize("command", [run_bench_check, run_bench_report])
def test_local_and_keyring_contradict_each_other(command, submissions: Submissions) -> None:
    arguments = ["--local", "--keyring", submissions.keyring, submissions.add()]
    if command is run_bench_report:
        arguments += ["-o", submissions.root / "page.html"]
    result = command(*arguments)
    assert result.exit_code == 2
    assert "--local reads no keyring; leave out --keyring" in result.output


def test_page_of_a_local_run_shows_its_figures_and_says_that_it_is_local(
    unsigned_run: Path, tmp_path: Path
) -> None:
    page, tables = tmp_path / "page.html", tmp_path / "tables"
    assert "0 passed, 1 failed" in run_bench_report(unsigned_run, "-o", page).output
    result = run_bench_report("--local", unsigned_run, "-o", page, "--tables", tables)
    assert (result.exit_code, result.output) == (
        0,
        f"{page}: {LABEL}: 1 without errors, 0 failed, 0 withdrawn, 0 published figures\n",
    )
    html = page.read_text()
    assert "<title>wattmark report (local, not signed)</title>" in html
    assert "1 bundle without errors" in html and "bundle passed" not in html
    report = json.loads((tables / "report.json").read_text())
    assert report["trust_level"] == LABEL
    rows = {
        table["id"]: dict(zip(table["keys"], table["rows"][0], strict=True))
        for table in report["tables"]
    }
    assert rows["evidence"]["signer"] == LABEL
    assert rows["resnet50-train-results"]["evidence"].startswith(f"{LABEL}; ")


def test_page_of_a_local_run_says_of_a_signed_bundle_that_its_signature_was_not_verified(
    submissions: Submissions, unsigned_run: Path, tmp_path: Path
) -> None:
    page, tables = tmp_path / "page.html", tmp_path / "tables"
    level, signed = "local, signature not verified", submissions.add()
    result = run_bench_report("--local", signed, "-o", page, "--tables", tables)
    assert f"{page}: {level}: 1 without errors" in result.output
    assert f"<title>wattmark report ({level})</title>" in page.read_text()
    report = (tables / "report.json").read_text()
    assert json.loads(report)["trust_level"] == level
    assert f'"{level}; ' in report and LABEL not in page.read_text() + report
    # Of a page of both, each bundle says what holds of it. They fail as copies of each other.
    unsigned = shutil.copytree(unsigned_run, signed.with_name(unsigned_run.name + "-unsigned"))
    result = run_bench_report("--local", signed, unsigned, "-o", page)
    assert f"{page}: local: 0 without errors, 2 failed" in result.output
    assert "<title>wattmark report (local)</title>" in page.read_text()
    assert f"<td>{LABEL}</td>" in page.read_text() and f"<td>{level}</td>" in page.read_text()


def test_page_of_a_round_does_not_say_that_it_is_local(
    submissions: Submissions, tmp_path: Path
) -> None:
    page, tables = tmp_path / "page.html", tmp_path / "tables"
    submissions.add()
    assert run_bench_report(submissions.root, "-o", page, "--tables", tables).exit_code == 0
    assert "not signed" not in page.read_text()
    assert "trust_level" not in json.loads((tables / "report.json").read_text())
