"""What bench-check prints: all formats, and those for people and for programs."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from conftest import Submissions
from jsonschema import Draft202012Validator
from support.rounds.verdicts import (
    REVIEW,
    WITHDRAWN,
    add_altered_bundle,
    make_finding,
    make_hostile_view,
    make_verdict,
    make_view,
    render,
    run_bench_check,
)

from checker.cli import check
from checker.formats import FORMATS
from checker.formats.common import format_summary
from checker.printable import is_visible
from checker.selection import RoundView
from rules.bundle_format.documents import read_schema
from rules.registry import rules_by_id

# All formats.


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_strings_stay_strings(form: str) -> None:
    text = click.unstyle(render(make_hostile_view(), form))
    text.encode()
    assert not {c for c in text if not is_visible(c)} - {"\n"}
    assert "\n::error::b" not in text


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_says_that_a_check_was_partial(submissions: Submissions, form: str) -> None:
    add_altered_bundle(submissions)
    whole = run_bench_check(submissions.root, "--format", form)
    assert (whole.exit_code, "--ignore" in whole.output) == (1, False)
    part = run_bench_check(submissions.root, "--format", form, "--ignore", "T102,T")
    assert (part.exit_code, "--ignore T102,T" in part.output) == (4, True)


def test_text_counts_findings_by_rule_with_the_errors_first() -> None:
    rules = ("X101", "W126", "M108", "W103", "C101")
    verdicts = (make_verdict(*map(make_finding, rules), path=f"a/b/{run}") for run in "cd")
    lines = click.unstyle(render(make_view(*verdicts), "text")).splitlines()
    counts = [line.split()[:2] for line in lines if "in 2 bundles" in line]
    assert [rule for _, rule in counts] == ["C101", "W103", "M108", "W126", "X101"]


@pytest.mark.parametrize("form", FORMATS)
def test_round_without_findings(form: str, submissions: Submissions) -> None:
    submissions.add()
    result = run_bench_check(submissions.root, "--format", form)
    assert (result.exit_code, bool(result.output.strip())) == (0, True)


@pytest.mark.parametrize("form", FORMATS)
def test_output_that_has_not_all_letters(form: str, submissions: Submissions) -> None:
    submissions.add(system="größe-…")
    run = [sys.executable, "-m", "checker", "--format", form, str(submissions.root)]
    process = subprocess.run(
        run, capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "latin-1"}
    )
    assert (process.returncode, process.stderr) == (0, b"")
    if form in ("json", "sarif"):
        assert "größe-…" in json.dumps(json.loads(process.stdout), ensure_ascii=False)
    elif form == "junit":
        assert "größe-…" in ET.fromstring(process.stdout)[0].attrib["name"]


# text.


def test_summary_never_says_fine_after_an_error() -> None:
    error, warning = make_finding("W103"), make_finding("M108")
    assert rules_by_id()["M108"].severity == "warning"
    for view in (
        make_view(make_verdict(error)),
        make_view(make_verdict(error), partial=("--ignore P",)),
        make_view(make_verdict(error), make_verdict(path="a/b/c")),
    ):
        summary = format_summary(view)
        assert ", 1 fail" in summary and "1 error," in summary
        assert view.status(view.verdicts[0]) == "fail"
        assert click.style(summary, fg="red") in render(view, "text")
    assert "1 pass, 0 fail; 0 errors, 1 warning" in format_summary(make_view(make_verdict(warning)))


def test_summary_counts_what_was_lifted() -> None:
    error = make_finding("W103")
    waived = make_view(make_verdict(replace(error, waived="waivers/w.json")))
    assert (
        format_summary(waived)
        == "1 judged: 1 pass, 0 fail; 0 errors, 0 warnings, 0 notes, 1 waived"
    )
    withdrawn = make_view(make_verdict(error, withdrawn="a fan had failed"))
    assert format_summary(withdrawn).startswith("1 judged: 0 pass, 0 fail, 1 withdrawn; ")
    assert make_view(partial=("--ignore P",)).status(withdrawn.verdicts[0]) == "withdrawn"
    beside = make_view(
        make_verdict(), make_verdict(make_finding("I101"), path="submissions/LOG", standing="log")
    )
    assert format_summary(beside).startswith("1 judged: 1 pass, 0 fail, 1 fail beside them")


def test_text_tells_waivers_withdrawals_reviews_and_hidden_directories() -> None:
    waived = make_verdict(
        make_finding(waived="waivers/w.json"), reviews=(REVIEW,), accepted="1.2.0"
    )
    text = render(
        make_view(waived, make_verdict(path="a/b/c", **WITHDRAWN), skipped=(Path("a/.draft"),)),
        "text",
    )
    assert "W103 samples.csv.gz rows 12-40 (waived by waivers/w.json)" in text
    assert "reviewed by zoe@y, accepted under rule book 1.2.0)" in text
    assert "  withdrawn by chair@y, 2026-02-01T00:00:00Z: a fan had failed" in text
    assert "not judged, because hidden (unfinished runs): a/.draft" in text


def test_repeated_findings_are_folded() -> None:
    findings = [make_finding(pointer=f"row {i}") for i in range(9)]
    lines = click.unstyle(
        render(make_view(make_verdict(*findings, make_finding("M108"))), "text")
    ).splitlines()
    assert sum("W103" in line for line in lines) == 1
    assert lines[4:9] == [
        "    Look.",
        "    also row 1: 0 mW",
        "    also row 2: 0 mW",
        "    also row 3: 0 mW",
        "    and 5 more findings of this rule",
    ]
    assert lines[-1].endswith("9 errors, 1 warning, 0 notes")


def test_repeated_findings_at_one_place_state_what_is_expected() -> None:
    findings = [make_finding("S107", expected=f"key {name}") for name in "ab"]
    text = click.unstyle(render(make_view(make_verdict(*findings)), "text"))
    assert text.count("    also rows 12-40: 0 mW") == 1
    assert "    also rows 12-40: 0 mW; expected: key b" in text


def test_errors_come_first() -> None:
    text = render(
        make_view(make_verdict(make_finding("M108"), make_finding("W103"), make_finding("M108"))),
        "text",
    )
    assert text.index("W103") < text.index("M108")


def test_findings_of_other_rules_or_files_are_not_folded() -> None:
    findings = (
        make_finding(),
        make_finding(waived="waivers/w.json", found="1 mW"),
        make_finding(file="batches.csv.gz", found="2 mW"),
    )
    text = render(make_view(make_verdict(*findings)), "text")
    assert [text.count(f"    found: {i} mW") for i in range(3)] == [1, 1, 1]


def test_what_was_said_of_another_bundle_is_not_said_again() -> None:
    other_verdict = make_verdict(make_finding(), make_finding(found="1 mW"), path="a/b/c")
    text = click.unstyle(render(make_view(make_verdict(make_finding()), other_verdict), "text"))
    assert text.count("found: 0 mW") == 1
    assert (
        "a/b/c: fail (closed, signed by center@x)\n  error W103 samples.csv.gz rows 12-40: "
        "as above\n" in text
    )
    assert "    also rows 12-40: 1 mW" in text


def test_colour_on_a_terminal_only(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    submissions.add()
    arguments = [str(submissions.root)]
    assert "\x1b[" not in CliRunner().invoke(check, arguments).output
    assert "\x1b[" in CliRunner().invoke(check, arguments, color=True).output
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b[" not in CliRunner().invoke(check, arguments, color=True, env=variables).output


# json.


@pytest.mark.parametrize(
    "view",
    [
        make_hostile_view(),
        make_view(),
        make_view(make_verdict(make_finding(), make_finding("M108"))),
    ],
    ids=["hostile", "empty", "findings"],
)
def test_json_is_valid_by_its_schema(view: RoundView) -> None:
    document = json.loads(render(view, "json"))
    Draft202012Validator(read_schema(document["format"])).validate(document)


def test_json_tells_what_the_text_tells() -> None:
    waived = make_verdict(
        make_finding(waived="waivers/w.json"), reviews=(REVIEW,), accepted="1.2.0", withdrawn="why"
    )
    (bundles,) = json.loads(render(make_view(waived, skipped=(Path("a/.draft"),)), "json"))[
        "bundles"
    ]
    assert (bundles["reviewers"], bundles["accepted"], bundles["withdrawn"], bundles["status"]) == (
        ["zoe@y"],
        "1.2.0",
        "why",
        "withdrawn",
    )
    assert bundles["findings"][0]["waived"] == "waivers/w.json"
