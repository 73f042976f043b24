"""The page says what the bundles say, keeps apart what must not be compared, and escapes what
strangers wrote."""

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import Submissions, copy_evidence
from support.report.altered_runs import make_altered_run
from support.report.html import Element, Line, Report, list_table_ids, read_lines

from checker.extras import advise_extra
from reporting.cli import main
from reporting.report_table import format_number
from reporting.sections.cells import count_findings
from rules.declarations.run import RunDeclaration
from rules.declarations.system import SystemDeclaration
from rules.finding import Finding, Severity
from rules.metrics.figures_json import figures_to_json
from rules.metrics.parts import split_into_parts
from rules.metrics.run import compute_figures, relative_difference

PUBLISHED = Path(__file__).parents[2] / "submissions/published/mayr2026.json"
HOSTILE = "<script>alert('x')</script><img src=https://example.org/x>"


def results(
    page: Element, standing: str = "closed", workload: str = "resnet50-train"
) -> list[Line]:
    """The rows of a table of results that have a standing."""
    return [
        line for line in read_lines(page, f"{workload}-results") if line["standing"] == standing
    ]


def test_figures_of_a_row_are_those_of_its_bundle(submissions: Submissions, report: Report) -> None:
    evidence = copy_evidence()
    submissions.add(evidence)
    page, _ = report(submissions.root)
    tables = evidence.evidence()
    parts = split_into_parts(evidence.result, tables.samples, tables.batches)
    run = RunDeclaration.from_document(evidence.result)
    system = SystemDeclaration.from_document(evidence.system)
    figures = figures_to_json(compute_figures(run, system, parts))
    computed = figures["headline"]
    (row,) = results(page)
    for name in (
        "items_per_s_per_accelerator",
        "items_per_s",
        "joules_per_item",
        "items_per_joule",
    ):
        assert row[name] == pytest.approx(computed[name]["mean"], rel=1e-9)
        assert row.text(name) == format_number(computed[name]["mean"])
    assert row["mfu_percent"] == pytest.approx(computed["mfu"]["mean"] * 100, rel=1e-9)
    # One run on other boards: t of 14 degrees of freedom times sqrt(2) times 1.5 % either side.
    mean = computed["items_per_s_per_accelerator"]["mean"]
    low, high = (mean * (1 + sign * 2.145 * 2**0.5 * 0.015) for sign in (-1, 1))
    small = next(row.cells["items_per_s_per_accelerator"].find("small")).text
    assert small == f"{format_number(low)}\u2013{format_number(high)}, n\u202f=\u202f1"
    assert [row.text(key) for key in ("cap_w", "in_force_w", "power_w")] == [
        "700",
        "700",
        format_number(computed["mean_power_w_per_accelerator"]["mean"]),
    ]
    stated = [row.text(key) for key in ("accelerators", "variant", "precision", "batch")]
    assert stated == ["NVIDIA H200\u202f\u00d7\u202f2", "tuned", "bf16", "1\u202f024"]
    (told,) = read_lines(page, "evidence")
    apart = relative_difference(
        computed["energy_j_counter"]["mean"], computed["energy_j_trapezoid"]["mean"]
    )
    assert told["difference_percent"] == pytest.approx(apart * 100, rel=1e-9)


def test_bundle_is_linked_relative_to_the_page(submissions: Submissions, report: Report) -> None:
    bundle = submissions.add()
    page, _ = report(submissions.root)
    (row,) = results(page)
    links = [
        [a.attributes["href"] for a in cell.find("a")]
        for cell in (find_compact_evidence(page), row.cells["evidence"])
    ]
    assert links == [[f"submissions/example/h200x2/{bundle.name}", "#e1"], ["#e1"]]


def find_compact_evidence(page: Element) -> Element:
    """The cell of evidence of a page with one result."""
    (table,) = page.find("table", **{"data-compact": "resnet50-train-results"})
    (cell,) = table.find("td", **{"class": "e"})
    return cell


def test_signer_and_energy_of_record_are_one_link_from_the_row(
    submissions: Submissions, report: Report
) -> None:
    submissions.add()
    page, _ = report(submissions.root)
    assert "example@wattmark" in find_compact_evidence(page).text
    (told,) = read_lines(page, "evidence")
    assert told.element.attributes["id"] == "e1"
    shown = [told.text(key) for key in ("signer", "energy_of_record", "scope")]
    assert shown == ["example@wattmark", "counter", "accelerators only"]


def test_faster_rows_stand_first_and_rows_above_their_cap_last(
    submissions: Submissions, report: Report
) -> None:
    submissions.add(make_altered_run(name="slow", rate=0.5), run_id="run-slow")
    submissions.add(make_altered_run(name="fast"), run_id="run-fast")
    submissions.add(make_altered_run(name="loose", cap_w=500.0), run_id="run-loose")
    page, _ = report(submissions.root)
    shown_rows = results(page)
    assert [row.text("system") for row in shown_rows] == ["fast", "slow", "loose"]
    loose = shown_rows[2]
    assert "unenforced" in loose.element.attributes["class"]
    assert loose.text("items_per_s_per_accelerator").startswith("(") and not loose.text(
        "power_w"
    ).startswith("(")
    assert "did not hold" in next(loose.cells["evidence"].find("span", class_="reason")).text
    (best,) = read_lines(page, "workloads")
    assert best["fastest"].startswith("fast ") and (best["standing"], best["excluded"]) == (
        "closed",
        1,
    )
    assert all("loose" not in row["result"] for row in read_lines(page, "resnet50-train-compare"))


def test_waiting_times_of_a_server_stand_below_its_throughput(
    submissions: Submissions, report: Report
) -> None:
    evidence = copy_evidence(serving=True)
    submissions.add(evidence)
    page, _ = report(submissions.root)
    assert evidence.requests is not None
    own = evidence.requests[evidence.requests["epoch"] > 0]
    waited_s = (own["first_ns"] - own["sent_ns"]) / 1e9
    (row,) = read_lines(page, "llama3-8b-serve-serving")
    told = [row.text(key) for key in ("prompt_tokens", "output_tokens", "load", "requests")]
    assert told == ["1\u202f024", "512", "closed loop, 400 in flight", "5\u202f000"]
    assert [row[f"ttft_s_{p}"] for p in ("p50", "p95", "p99")] == pytest.approx(
        [waited_s.quantile(q) for q in (0.5, 0.95, 0.99)]
    )
    assert row["input_tokens_per_s"] == pytest.approx(
        2 * evidence.result["headline"]["items_per_s"]["mean"], rel=0.01
    )


def test_every_link_within_the_page_leads_somewhere(
    submissions: Submissions, report: Report
) -> None:
    loose = make_altered_run(cap_w=500.0)
    loose.result["standing"] = "demo"
    submissions.add(loose)
    page, _ = report(published_below(submissions.root))
    found = {a.attributes["href"] for a in page.find("a") if a.attributes["href"].startswith("#")}
    assert {"#e1", "#llama3-8b-pretrain-caution-0"} <= found
    tags = ("section", "li", "h3", "div", "details", "tr", "footer", "article", "figure")
    ids = [e.attributes["id"] for tag in tags for e in page.find(tag) if "id" in e.attributes]
    assert {to.removeprefix("#") for to in found} <= set(ids) and len(ids) == len(set(ids))


def test_rejected_bundle_shows_findings_and_no_figure(
    submissions: Submissions, report: Report
) -> None:
    submissions.add()
    spoilt = submissions.add(make_altered_run(name="cheat"), run_id="run-spoilt")
    (spoilt / "log.txt.gz").write_bytes(b"no log")
    page, html = report(submissions.root)
    assert [row.text("system") for row in results(page)] == ["example-h200x2"]
    assert "cheat" not in html
    section = next(page.find("section", id="rejected"))
    assert "spoilt" in section.text and "error" in section.text


def test_page_of_nothing_that_passed_says_so(submissions: Submissions, report: Report) -> None:
    (submissions.add() / "log.txt.gz").write_bytes(b"no log")
    page, _ = report(submissions.root)
    assert any(p.text.startswith("No result is compared") for p in page.find("p", class_="answer"))
    assert "workloads" not in list_table_ids(page)
    assert [a.text for nav in page.find("nav") for a in nav.find("a")][-1] == "Failed"


def published_below(directory: Path) -> Path:
    (directory / "published").mkdir(parents=True, exist_ok=True)
    (directory / "published" / PUBLISHED.name).write_bytes(PUBLISHED.read_bytes())
    return directory


def test_published_rows_beside_submitted_ones(submissions: Submissions, report: Report) -> None:
    """The submitted run has the settings of the paper."""
    evidence = copy_evidence()
    evidence.result["standing"] = "open"
    evidence.result["implementation"]["variant"] = "mayr"
    submissions.add(evidence)
    page, _ = report(published_below(submissions.root))
    ids = [id for id in list_table_ids(page) if id.endswith("-results")]
    published_rows = [
        row for id in ids for row in read_lines(page, id) if row["standing"] == "published"
    ]
    assert len(published_rows) == 95
    flagged = [row for row in published_rows if "implausible" in row.element.attributes["class"]]
    assert len(flagged) == 8
    reasons = [next(row.cells["evidence"].find("span", class_="reason")).text for row in flagged]
    assert any(
        "166 % of 989 TFLOP/s dense bf16; if it is the sum of four GPUs" in reason
        for reason in reasons
    )
    sections = [s.attributes["id"] for s in page.find("section")]
    assert sections[:3] == ["answer", "overview", "resnet50-train"]
    assert [len(results(page, standing)) for standing in ("open", "published")] == [1, 19]
    (row,) = read_lines(page, "resnet50-train-like")
    assert row["printed"] == 2148.6 and row["cap_w"] == 700
    measured = evidence.result["headline"]["items_per_s_per_accelerator"]["mean"]
    assert row["measured"] == pytest.approx(measured)
    assert row["ratio"] == pytest.approx(measured / 2148.6)


def test_published_row_shows_printed_digits_and_marks_what_is_assumed(
    tmp_path: Path, report: Report
) -> None:
    page, _ = report(published_below(tmp_path / "s"))
    rows = results(page, "published", "llama3-8b-pretrain")
    (row,) = (r for r in rows if r["items_per_s_per_accelerator"] == 34107.2)
    assert row.text("items_per_s_per_accelerator") == "(34\u202f107.2)"
    assert [row["joules_per_item"], row["items_per_joule"]] == pytest.approx(
        [700 / 34107.2, 34107.2 / 700]
    )
    assert (
        row.text("joules_per_item").startswith("(≈") and row.text("mfu_percent") == "(≥\u202f166)"
    )
    unenforced = [
        r
        for id in list_table_ids(page)
        if id.endswith("-results")
        for r in read_lines(page, id)
        if r["doubt"]
    ]
    assert len(unenforced) == 10
    assert all(r.text("items_per_s_per_accelerator").startswith("(") for r in unenforced)


def test_every_workload_with_rows_has_charts_beside_its_table(
    tmp_path: Path, report: Report
) -> None:
    page, _ = report(published_below(tmp_path / "s"))
    sections = [
        s for s in page.find("section") if f"{s.attributes['id']}-results" in list_table_ids(page)
    ]
    assert len(sections) == 5
    for section in sections:
        figures = list(section.find("figure", class_="chart"))
        plots = [next(f.find("div", class_="plot")) for f in figures]
        assert figures and all(p.attributes["aria-label"] and list(p.find("svg")) for p in plots)
        assert {f.attributes["data-table"] for f in figures} <= set(list_table_ids(section))


def test_hostile_names_are_text(submissions: Submissions, report: Report) -> None:
    submissions.add(make_altered_run(name=HOSTILE))
    page, html = report(submissions.root)
    assert not list(page.find("img")) and HOSTILE not in html
    # It has parentheses, so the center is named too.
    assert results(page)[0].text("system") == f"{HOSTILE} (example)"
    assert "script" not in [e.tag for table in page.find("table") for e in table.find("script")]


def test_hostile_published_address_is_no_link(tmp_path: Path, report: Report) -> None:
    root = published_below(tmp_path / "s")
    paper = json.loads(PUBLISHED.read_text(encoding="utf-8")) | {"url": "javascript:alert(1)"}
    (root / "published" / PUBLISHED.name).write_text(json.dumps(paper), encoding="utf-8")
    _, html = report(root)
    assert "javascript:" not in html


def test_page_forbids_itself_the_network(submissions: Submissions, report: Report) -> None:
    submissions.add()
    page, _ = report(submissions.root)
    policy = next(
        m for m in page.find("meta") if m.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(part.strip().split(" ", 1) for part in policy.attributes["content"].split(";"))
    assert (
        rules["default-src"] == "'none'"
        and rules["connect-src"] == "'none'"
        and "unsafe" not in rules["script-src"]
    )
    assert not [*page.find("link"), *page.find("iframe"), *page.find("img")]
    assert not [e for e in page.find("script") if "src" in e.attributes]


def test_missing_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name in ("altair", "vl_convert"):
            raise ImportError(f"No module named {name!r}", name=name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    out = tmp_path / "report.html"
    done = CliRunner().invoke(main, [str(published_below(tmp_path / "s")), "-o", str(out)])
    assert done.exit_code == 3
    assert advise_extra("report") in done.output
    assert not out.exists()


def test_nothing_to_report_is_an_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [str(tmp_path), "-o", str(tmp_path / "report.html")])
    assert done.exit_code == 1
    assert str(tmp_path) in done.output and "no bundle" in done.output


def test_page_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "pages" / "report.html"
    # The check would find no bundle: the page is refused before it.
    done = CliRunner().invoke(main, [str(tmp_path / "file"), "-o", str(out)])
    assert done.exit_code == 3
    assert f"{out.parent}: cannot be written: Not a directory" in done.output


def test_directory_of_the_page_is_made(tmp_path: Path) -> None:
    out = tmp_path / "missing" / "pages" / "report.html"
    done = CliRunner().invoke(main, [str(published_below(tmp_path / "s")), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert out.exists()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7195.26, "7 195"),
        (34107.2, "34 107"),
        (0.0935218, "0.09352"),
        (10.693, "10.69"),
        (0.0, "0"),
        (-3.2, "\u22123.200"),
        (1234567.0, "1 234 567"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert format_number(value) == text.replace(" ", "\u202f")


def test_findings_are_counted_by_severity() -> None:
    found = [
        Finding("W101", Severity.WARNING, "", "", "", "", ""),
        Finding("W101", Severity.WARNING, "", "", "", "", ""),
        Finding("M201", Severity.NOTE, "", "", "", "", ""),
    ]
    assert count_findings(found) == "2 warnings (W101), 1 note (M201)"
    assert count_findings([]) == "no findings"


def test_what_many_bundles_are_told_is_said_in_full_a_few_times(report: Report) -> None:
    page, _ = report(PUBLISHED.parents[1])
    lines = read_lines(page, "evidence")
    told = [
        item
        for line in lines
        for item in line.cells["findings"].find("li")
        if "note M112" in item.text
    ]
    full, brief = (
        [item for item in told if ("expected sha256" in item.text) == wanted]
        for wanted in (True, False)
    )
    assert len(full) == 5 and len(told) > 10
    assert told[:5] == full and {item.text for item in full} == {full[0].text}
    assert {(item.text, next(item.find("a")).attributes["href"]) for item in brief} == {
        (
            "note M112 environment.json /container: as above",
            f"#{lines[0].element.attributes['id']}",
        )
    }
