"""The tables of audited results of other programs: grades as by `bench-check audit`, links to the
sources, and no place in answers, cards, charts and comparisons."""

import dataclasses
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import Submissions
from support.audit_samples import change_json, write_inferencex, write_jpwr, write_zeus
from support.report.html import Report, read_tables

from checker.audit.cli import audit
from reporting.charts import build_charts
from reporting.collect import Collected, collect
from reporting.foreign.evidence import collect_foreign
from reporting.page_model import PageModel, build_page_model
from reporting.report_table import ReportTable
from reporting.results_model import ResultRow

EXAMPLES = Path(__file__).parents[3] / "examples" / "audit"
IDS = ("foreign", "foreign-sources")
URL = "https://example.org/results?a=1&b=2"


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """The examples, one with a declaration, and two more sources."""
    directory = shutil.copytree(EXAMPLES, tmp_path / "evidence")
    (directory / "aiperf" / "source.toml").write_text(f'url = "{URL}"\nretrieved = 2026-08-20\n')
    write_jpwr(directory / "jpwr")
    write_inferencex(directory / "inferencex")
    return directory


def build(collected: Collected) -> PageModel:
    return build_page_model(collected, Path.as_posix)


def find(page: PageModel, id: str) -> ReportTable:
    table = page.find(id)
    assert table
    return table


@pytest.fixture
def collected(submissions: Submissions, sealed_bundle: Callable[..., Path]) -> Collected:
    sealed_bundle()
    return collect([submissions.root])


def test_rows_have_grades_figures_and_provenance(collected: Collected, evidence: Path) -> None:
    page = build(dataclasses.replace(collected, foreign=collect_foreign([evidence])))
    rows = {row["source"]: row for row in find(page, "foreign").rows}
    assert {row["standing"] for row in rows.values()} == {"foreign"}
    aiperf, mlperf, zeus = (rows[name] for name in ("aiperf", "mlperf-inference", "zeus"))
    assert (aiperf["grade"], mlperf["grade"], zeus["grade"]) == (
        *("contradicted", "recomputed", "claimed"),
    )
    assert (aiperf["joules_per_item"], mlperf["joules_per_item"]) == (8, 5)
    assert (mlperf["items_per_s"], mlperf["power_w"], mlperf["power_of"]) == (100, 500, "node")
    assert (zeus["joules_per_item"], zeus["power_w"]) == (None, 550)
    assert str(aiperf["findings"]).startswith("F101 error: total_gpu_energy: 8320 J")
    assert aiperf["deviation_percent"] == pytest.approx(4)
    assert aiperf["place"] == "evidence/aiperf/profile_export_aiperf.json"
    assert (aiperf["url"], aiperf["retrieved"], zeus["url"]) == (URL, "2026-08-20", None)
    assert aiperf["evidence"] == f"SHA-256 {str(aiperf['sha256'])[:12]}, 2026-08-20"


def test_sources_count_what_the_audit_counts(collected: Collected, evidence: Path) -> None:
    page = build(dataclasses.replace(collected, foreign=collect_foreign([evidence])))
    output = CliRunner().invoke(audit, ["--json", str(evidence)]).output
    counts: dict[str, Counter[str]] = {}
    for row in json.loads(output)["rows"]:
        counts.setdefault(row["source"], Counter())[row["grade"]] += 1
        counts[row["source"]]["raw"] += row["energy_grade"] == "recomputed"
    *sources, own = find(page, "foreign-sources").rows
    assert {str(row["source"]) for row in sources} == counts.keys() and len(counts) == 5
    for row in sources:
        expected = counts[str(row["source"])]
        for grade in ("recomputed", "consistent", "claimed", "contradicted", "refused"):
            assert row[grade] == expected[grade]
        assert row["rows"] == expected.total() - expected["raw"]
        assert row["share_percent"] == pytest.approx(100 * expected["raw"] / int(str(row["rows"])))
    deviations = {row["source"]: row["deviation_percent"] for row in sources}
    assert (deviations["aiperf"], deviations["zeus"]) == (pytest.approx(4), None)
    assert (own["source"], own["rows"], own["recomputed"]) == ("this round", 1, 1)
    assert own["share_percent"] == 100


def test_nothing_foreign_is_compared_or_drawn(collected: Collected, evidence: Path) -> None:
    before = build(collected)
    audited = dataclasses.replace(collected, foreign=collect_foreign([evidence]))
    after = build(audited)
    assert all(isinstance(row, ResultRow) for row in (*audited.rows, *after.runs))
    assert [table.id for table in after.tables if table.id in IDS] == list(IDS)
    assert [table for table in after.tables if table.id not in IDS] == before.tables
    assert all(table.id not in IDS for table in before.tables)
    assert after.sentences == before.sentences, "answers, cards and findings"
    assert (after.spread, after.systems) == (before.spread, before.systems)
    for id in IDS:
        assert build_charts(find(after, id)) == []
        assert find(after, id) in after.across


def test_page_links_to_the_source_and_escapes_names(
    submissions: Submissions,
    sealed_bundle: Callable[..., Path],
    evidence: Path,
    report: Report,
) -> None:
    sealed_bundle()
    name = "<script>alert(1)</script>\u202eevil"
    change_json(
        evidence / "inferencex" / "agg_point.json", lambda document: document.update(model=name)
    )
    page, html = report(submissions.root, Path("--audit"), evidence)
    assert "<script>alert(1)" not in html and "\u202e" not in html
    rows = {t.id: t.rows for t in read_tables(page)}["foreign"]
    names = {row["source"]: str(row["name"]) for row in rows}
    assert "<script>alert(1)</script>\\u202eevil" in names["inferencex"]
    (table,) = (t for t in page.find("table") if t.attributes.get("data-table") == "foreign")
    links = [(link.attributes["href"], link.text) for link in table.find("a")]
    (aiperf,) = (row for row in rows if row["source"] == "aiperf")
    assert links == [(URL, aiperf["evidence"])]
    sections = {s.attributes.get("id"): s.text for s in page.find("section")}
    assert [id for id, text in sections.items() if "\\u202eevil" in text] == ["across"]


def test_large_audits_are_cut_and_failures_named(collected: Collected, tmp_path: Path) -> None:
    path = write_zeus(tmp_path / "evidence" / "zeus.csv")
    head, row = path.read_text().splitlines()[:2]
    path.write_text("\n".join([head, *[row] * 501]) + "\n")
    (tmp_path / "evidence" / "damaged<b>.json").write_text("{")
    foreign = collect_foreign([tmp_path / "evidence"])
    table = find(build(dataclasses.replace(collected, foreign=foreign)), "foreign")
    assert len(table.rows) == 500 and "The data set has 1 row more." in table.about
    assert "Not read: evidence/damaged<b>.json: is no JSON" in table.about
