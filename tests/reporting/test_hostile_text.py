"""Text that strangers wrote is shown as it is, whatever characters it has and however long it is;
the page shows only what was judged."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from click.testing import CliRunner
from conftest import Submissions
from support.report.altered_runs import make_altered_run
from support.report.browser import open_address
from support.report.html import Report

from checker.engine import judge_all
from reporting.cli import main
from reporting.collect import collect
from reporting.papers.latex import escape_latex
from reporting.report_table import Column, ReportTable, escape_invisible, to_csv

PUBLISHED = Path(__file__).parents[2] / "submissions/published/mayr2026.json"
INVISIBLE = "\u202e\u061c\u200b\u2066\ufeff\u00ad\u2060\u3164\u115f\u2800\ufe0f\U000e0041"


def make_name_table(name: str) -> ReportTable:
    return ReportTable("t", name, (Column("name", "name"),), ({"name": name},), name)


def add_published(submissions: Submissions, **changes: Any) -> Path:
    path = submissions.root / "published" / PUBLISHED.name
    path.parent.mkdir()
    paper = json.loads(PUBLISHED.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(paper), encoding="utf-8")
    return path


# Characters


def test_no_invisible_character_reaches_the_page(submissions: Submissions, report: Report) -> None:
    name = f"good{INVISIBLE}name"
    submissions.add(make_altered_run(name=name))
    add_published(submissions, title=name, authors=name, notes=name)
    page, html = report(submissions.root)
    assert not [c for c in INVISIBLE if c in html]
    assert "good\\u202e\\u061c\\u200b" in page.text


@pytest.mark.parametrize("character", INVISIBLE)
def test_titles_captions_and_notes_of_tables_are_escaped(character: str) -> None:
    table = make_name_table(f"a{character}b")
    escaped = f"a{character.encode('unicode-escape').decode()}b"
    assert (table.title, table.about, table.rows[0]["name"]) == (escaped, escaped, escaped)


def test_visible_characters_stay() -> None:
    text = "Jülich, Zürich \u2013 京 µ ≈ 1\u202f000\n\té"
    assert escape_invisible(text) == text


# CSV


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        (" =1+1", "' =1+1"),
        ("\t=1+1", "\\t=1+1"),
        ("\n =1+1", "\\n =1+1"),
        ("two\nlines\r\n", "two\\nlines\\r\\n"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\uff0b1", "'\uff0b1"),
        ("x;=1+1", "x;'=1+1"),
        ("x; @a", "x;' @a"),
        ("x\t-1", "x\\t-1"),
        ("a=b", "a=b"),
        ("a; b", "a; b"),
        ("1-2", "1-2"),
    ],
)
def test_text_that_a_spreadsheet_could_run_gets_an_apostrophe(text: str, cell: str) -> None:
    rows = list(csv.reader(io.StringIO(to_csv(make_name_table(text)), newline="")))
    assert rows[1] == [cell]


# LaTeX


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("Jülich", 'J{\\"{u}}lich'),
        ("Ju\u0308lich", 'J{\\"{u}}lich'),
        ("Čačak", "{\\v{C}}a{\\v{c}}ak"),
        ("naïve", 'na{\\"{\\i}}ve'),
        ("Łódź", "\\L{}{\\'{o}}d{\\'{z}}"),
        ("a---b", "a-{}-{}-b"),
        ("{", "\\textbraceleft{}"),
        ("\x07", "{[}U+0007{]}"),
        ("京", "{[}U+4EAC{]}"),
        ("\U0001f600", "{[}U+1F600{]}"),
        ("ạ̄", "{[}U+1EA1{]}{[}U+0304{]}"),
        ("5 ≤ x", "5 $\\leq$ x"),
    ],
)
def test_latex_is_ascii(text: str, latex: str) -> None:
    assert escape_latex(text) == latex


def test_latex_of_any_text_is_ascii() -> None:
    text = "".join(map(chr, (*range(32, 0xD800, 7), *range(0xE000, 0x11000, 11))))
    latex = escape_latex(text)
    assert latex.isascii() and latex.isprintable()


# Length


def test_name_of_4096_characters_does_not_widen_the_page(
    submissions: Submissions, tmp_path: Path, browser: Any
) -> None:
    evidence = make_altered_run(name="n" * 4096)
    evidence.system["site"] = "s" * 4096
    submissions.add(evidence)
    add_published(submissions, title="t" * 4096, authors="a" * 4096, notes="n" * 4096)
    out = tmp_path / "report.html"
    result = CliRunner().invoke(main, [str(submissions.root), "-o", str(out)])
    assert result.exit_code == 0, result.output
    for width in (1440, 400):
        page = browser.new_page(viewport={"width": width, "height": 1000})
        open_address(page, out.as_uri())
        page_px, table_px = page.evaluate(
            """() => [document.documentElement.scrollWidth,
              Math.max(...[...document.querySelectorAll(".scroll")].map((t) => t.scrollWidth))]"""
        )
        page.close()
        # Tables scroll in themselves. With short names the widest has about 1 600 px.
        assert page_px <= width and table_px <= 2_500


# What was judged


def test_bundle_that_changed_after_it_was_judged_is_not_drawn(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bundle = submissions.add()

    def collect_then_change(*arguments: Any, **options: Any) -> Any:
        collected = collect(*arguments, **options)
        with gzip.open(bundle / "samples.csv.gz", "at") as samples:
            samples.write("\n")
        return collected

    monkeypatch.setattr("reporting.collect.collect", collect_then_change)
    result = CliRunner().invoke(main, [str(bundle), "-o", str(tmp_path / "report.html")])
    assert result.exit_code == 3
    assert f"{bundle}: the bundle changed after it was judged" in result.output


def test_published_figures_are_read_once(submissions: Submissions) -> None:
    path = add_published(submissions, title="as judged")

    def judge_then_change(*arguments: Any, **options: Any) -> Any:
        judged = judge_all(*arguments, **options)
        path.write_text(path.read_text().replace("as judged", "changed"))
        return judged

    with mock.patch("reporting.collect.judge_all", judge_then_change):
        (paper,) = collect([submissions.root]).papers
    assert paper.title == "as judged"
