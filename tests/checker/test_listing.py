"""A flood of bundles that fail: outputs and page stay small, count all of it, and hide nobody."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from conftest import Submissions

from checker.cli import check
from checker.engine import judge_all
from checker.listing import MAX_CHARACTERS, list_verdicts
from checker.verdict import Verdict
from reporting.cli import main as report
from rules.finding import Finding, Severity

FLOOD = 400
"""Directories with an empty manifest, whose findings have more characters than are listed."""


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory, signing_key: Path) -> Path:
    """A round with an honest bundle between hundreds of directories with an empty manifest."""
    root = tmp_path_factory.mktemp("flood") / "submissions"
    submissions = Submissions(root, signing_key)
    submissions.allow(signing_key)
    submissions.add(system="zz")
    for number in range(FLOOD):
        directory = root / "flood" / "h200" / f"run-{number:05}"
        directory.mkdir(parents=True)
        (directory / "MANIFEST.json").write_text("{}")
    return root


def count_all(root: Path) -> int:
    return sum(len(verdict.findings) for verdict in judge_all([root]).verdicts)


@pytest.mark.parametrize("output_format", ["text", "json", "sarif", "github", "junit"])
def test_output_is_bounded_and_counts_what_it_leaves_out(flooded: Path, output_format: str) -> None:
    result = CliRunner().invoke(check, [str(flooded), "--format", output_format])
    assert result.exit_code == 1
    rest = re.search(r"(\d+) more failing bundles with (\d+) findings", result.stdout)
    listed = {
        "json": lambda text: sum(len(b["findings"]) for b in json.loads(text)["bundles"]),
        "sarif": lambda text: len(json.loads(text)["runs"][0]["results"]),
        "github": lambda text: text.count("::error file="),
    }
    if output_format == "json":
        unlisted = json.loads(result.stdout)["unlisted"]
        bundles, findings = unlisted["bundles"], unlisted["findings"]
        assert len(json.loads(result.stdout)["bundles"]) + bundles == FLOOD + 1
    else:
        assert rest is not None
        bundles, findings = map(int, rest.groups())
    assert 0 < bundles < FLOOD
    if output_format in listed:
        assert listed[output_format](result.stdout) + findings == count_all(flooded)
    if output_format in ("text", "github"):
        assert f"{FLOOD + 1} judged: 1 pass, {FLOOD} fail" in result.stdout
    if output_format == "junit":
        assert ET.fromstring(result.stdout).find("testsuite/testcase/error") is not None
    assert f"{Path('zz')}/" in result.stdout or output_format == "github"


def test_page_of_a_flood_is_bounded(flooded: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = CliRunner().invoke(report, [str(flooded), "-o", str(page)])
    assert result.exit_code == 1, result.output
    text = page.read_text()
    assert f'<a href="#rejected">{FLOOD} failed</a>' in text
    listed = len(re.findall(r"<th scope=\"row\"><a href=\"[^\"]*run-\d{5}", text))
    assert f"{FLOOD - listed} more failing bundles" in text and 0 < listed < FLOOD


def make_verdict(name: str, characters: int) -> Verdict:
    finding = Finding("S107", Severity.ERROR, "result.json", "", "x" * characters, "", "")
    return Verdict(Path(name), None, None, (finding,) if characters else ())


def test_bundle_with_few_findings_is_listed_beside_one_with_many() -> None:
    verdicts = [make_verdict("a", MAX_CHARACTERS), make_verdict("b", 10), make_verdict("c", 0)]
    listing = list_verdicts(verdicts, lambda verdict: bool(verdict.findings))
    assert [verdict.path.name for verdict in listing.verdicts] == ["b", "c"]
    assert (listing.unlisted_bundles, listing.unlisted_findings) == (1, 1)
    alone = list_verdicts(verdicts[:1], lambda _: True)
    assert (alone.verdicts, alone.describe_rest()) == (tuple(verdicts[:1]), "")


def test_passing_bundles_are_always_listed() -> None:
    verdicts = [make_verdict(f"{number}", MAX_CHARACTERS) for number in range(3)]
    assert list_verdicts(verdicts, lambda _: False).verdicts == tuple(verdicts)
