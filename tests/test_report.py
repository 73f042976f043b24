"""The page says what the bundles say, keeps apart what must not be compared, and escapes what strangers wrote."""

import builtins
import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import Submissions, fresh_evidence
from good import another_run, good_evidence, rederive
from pages import Element, Report, rows, values

from reporting.cli import main
from reporting.page import counted, gain, number, shown, signed_percent
from reporting.rows import Figure
from rules import metrics
from rules.imbalance import imbalance
from rules.records import Evidence
from rules.rule import Finding, Severity

PUBLISHED = Path(__file__).parents[1] / "submissions/published/mayr2026.json"
NUMBERS = itertools.count(1)
HOSTILE = "<script>alert('x')</script><img src=https://example.org/x>"


def altered(
    *, rate: float = 1.0, power: float = 1.0, cap_w: float | None = None, name: str = "example", variant: str = "tuned"
) -> Evidence:
    """A run like the good one, each time another, at another throughput, power or cap."""
    evidence = another_run(fresh_evidence(), next(NUMBERS))
    batch = round(evidence.result["settings"]["batch_size"] * rate)
    evidence.batches["items"] = batch
    evidence.result["settings"]["batch_size"] = batch
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        evidence.samples[column] = (evidence.samples[column] * power).round()
    if cap_w is not None:
        evidence.result["power"]["cap_w"] = cap_w
        evidence.samples["cap_mw"] = cap_w * 1e3
        for readback in evidence.result["readbacks"]:
            readback["requested_mw"] = readback["enforced_mw"] = int(cap_w * 1e3)
    evidence.system["name"] = name
    evidence.result["implementation"]["variant"] = variant
    rederive(evidence)
    return evidence


def demo() -> Evidence:
    evidence = altered(name="laptop")
    evidence.result["standing"] = "demo"
    evidence.result["sampling"]["meter"] = "simulated"
    return evidence


def test_figures_of_a_row_are_those_of_its_bundle(submissions: Submissions, report: Report) -> None:
    evidence = fresh_evidence()
    submissions.add(evidence)
    page, _ = report(submissions.root)
    parts = metrics.parts(evidence.result, evidence.samples, evidence.batches)
    computed = metrics.figures(evidence.result, evidence.system, parts)["headline"]
    (row,) = rows(page, "closed")
    names = ["items_per_s_per_accelerator", "items_per_s", "joules_per_item", "items_per_joule", "mfu"]
    apart = metrics.difference(computed["energy_j_counter"]["mean"], computed["energy_j_trapezoid"]["mean"])
    assert values(row) == pytest.approx([*(computed[name]["mean"] for name in names), apart], rel=1e-12)
    cells = [cell.text for cell in row.find("td")]
    observed = computed["mean_power_w_per_accelerator"]["mean"]
    assert cells[4:7] == ["700", "700", number(observed)]
    low, high = computed["items_per_s_per_accelerator"]["ci95"]
    assert f"{number(low)}\u2013{number(high)}, n\u202f=\u202f10" == next(row.find("small")).text
    assert cells[:4] == ["NVIDIA H200 \u00d7 2", "tuned", "bf16", "1\u202f024"]


def test_bundle_is_linked_relative_to_the_page(submissions: Submissions, report: Report) -> None:
    bundle = submissions.add()
    page, _ = report(submissions.root)
    (row,) = rows(page, "closed")
    link = next(row.find("a")).attributes["href"]
    assert link == f"submissions/example/h200x2/{bundle.name}"


def test_signer_and_energy_of_record_stand_with_the_row(submissions: Submissions, report: Report) -> None:
    submissions.add()
    page, _ = report(submissions.root)
    (row,) = rows(page, "closed")
    evidence = list(row.find("td"))[-1].text
    assert "example@wattmark" in evidence
    assert "energy of record counter" in evidence
    assert "accelerators only" in evidence


def test_faster_rows_stand_first_and_rows_above_their_cap_last(submissions: Submissions, report: Report) -> None:
    submissions.add(altered(name="slow", rate=0.5), run_id="run-slow")
    submissions.add(altered(name="fast"), run_id="run-fast")
    submissions.add(altered(name="loose", cap_w=500.0), run_id="run-loose")
    page, _ = report(submissions.root)
    shown_rows = rows(page, "closed")
    assert [next(row.find("th")).text for row in shown_rows] == ["fast", "slow", "loose"]
    assert "unenforced" in shown_rows[2].attributes["class"]
    key = next(shown_rows[2].find("td", class_="key"))
    assert key.text.startswith("(")
    assert "did not hold" in next(key.find("span")).attributes["title"]
    assert "‡" in next(page.find("li", id="resnet50-train-cap")).text


def more(page: Element, start: str) -> list[Element]:
    """The body rows of the further table whose caption has `start` in it."""
    (table,) = [t for t in page.find("table", class_="more") if start in next(t.find("caption")).text]
    return [row for body in table.find("tbody") for row in body.find("tr")]


def test_waiting_times_of_a_server_stand_below_its_throughput(submissions: Submissions, report: Report) -> None:
    evidence = fresh_evidence(serving=True)
    submissions.add(evidence)
    page, _ = report(submissions.root)
    assert evidence.requests is not None
    own = evidence.requests[evidence.requests["epoch"] > 0]
    waited_s = (own["first_ns"] - own["sent_ns"]) / 1e9
    (row,) = more(page, "waiting times")
    cells = [cell.text for cell in row.find("td")]
    assert cells[1:4] == ["1\u202f024 / 512", "closed loop, 400 in flight", "5\u202f000"]
    assert values(row)[1:4] == pytest.approx([waited_s.quantile(q) for q in (0.5, 0.95, 0.99)])
    assert values(row)[0] == pytest.approx(2 * evidence.result["headline"]["items_per_s"]["mean"], rel=0.01)


def on_one(evidence: Evidence, standing: str = "closed") -> Evidence:
    """The same run on the first of its two accelerators only."""
    evidence.result["standing"] = standing
    evidence.result["ranks"] = evidence.result["ranks"][:1]
    (uuid,) = evidence.result["ranks"][0]["accelerators"]
    evidence.result["settings"]["accelerators"] = 1
    evidence.result["readbacks"] = [r for r in evidence.result["readbacks"] if r["accelerator"] == uuid]
    evidence.batches = evidence.batches[evidence.batches["rank"] == 0].reset_index(drop=True)
    evidence.samples = evidence.samples[evidence.samples["accelerator"] == uuid].reset_index(drop=True)
    accelerators = evidence.system["nodes"][0]["accelerators"]
    accelerators[:] = [a for a in accelerators if a["uuid"] == uuid]
    rederive(evidence)
    return evidence


def figures(evidence: Evidence, *names: str) -> list[float]:
    return [evidence.result["headline"][name]["mean"] for name in names]


def add_all(submissions: Submissions, *runs: Evidence) -> None:
    for place, evidence in enumerate(runs):
        submissions.add(evidence, f"20260101T000000Z-run-{place}")


def test_several_accelerators_stand_beside_one_of_the_same_kind(submissions: Submissions, report: Report) -> None:
    many = altered(name="many")
    one, other = on_one(altered(rate=1.25, power=0.9, name="one")), on_one(altered(rate=1.5, name="other", variant="baseline"))
    add_all(submissions, many, one, other)
    page, _ = report(submissions.root)
    (row,) = more(page, "against the runs on one")
    (rate, total, joules), (of_one, joules_one) = (
        figures(many, "items_per_s_per_accelerator", "items_per_s", "joules_per_item"),
        figures(one, "items_per_s_per_accelerator", "joules_per_item"),
    )
    apart = imbalance(many.result)
    assert apart is not None and next(row.find("th")).text == "many"
    chart = next(page.find("figure")).text
    assert "many \u00d7 2 \u00b7 tuned bf16" in chart and "one \u00b7 tuned bf16" in chart
    expected = [rate, of_one, total / of_one, total / of_one / 2, joules / joules_one, *apart.values()]
    assert values(row) == pytest.approx(expected)


def test_several_accelerators_are_compared_with_repeats_on_one_of_their_system(submissions: Submissions, report: Report) -> None:
    many, first, second = altered(), on_one(altered()), on_one(good_evidence(rate=0.98))
    for evidence in (many, first, second):
        evidence.system["name"] = "own"
    add_all(submissions, many, first, second, on_one(altered(rate=1.25, name="faster")))
    page, _ = report(submissions.root)
    (row,) = more(page, "against the runs on one")
    rates = [figures(run, "items_per_s_per_accelerator")[0] for run in (first, second)]
    assert rates[0] != rates[1]
    assert values(row)[1] == pytest.approx(sum(rates) / 2)


def test_demo_on_several_accelerators_stands_apart(submissions: Submissions, report: Report) -> None:
    many, one = demo(), on_one(demo(), "demo")
    add_all(submissions, altered(name="submitted"), many, one)
    page, _ = report(submissions.root)
    submitted, apart = (t for t in page.find("table", class_="more") if "runs on one" in next(t.find("caption")).text)
    assert ["not compared" in next(table.find("caption")).text for table in (submitted, apart)] == [False, True]
    shown_rows = [[row for body in table.find("tbody") for row in body.find("tr")] for table in (submitted, apart)]
    assert [next(row.find("th")).text for rows_of in shown_rows for row in rows_of] == ["submitted", "laptop"]
    assert len(values(shown_rows[0][0])) == 4, "a demo on one accelerator is nothing to compare with"
    speed_up = figures(many, "items_per_s")[0] / figures(one, "items_per_s")[0]
    assert values(shown_rows[1][0])[2] == pytest.approx(speed_up)


def test_every_mark_of_the_page_leads_to_its_note(submissions: Submissions, report: Report) -> None:
    loose = altered(cap_w=500.0)
    loose.result["standing"] = "demo"
    submissions.add(loose)
    page, _ = report(published_below(submissions.root))
    found = {a.attributes["href"] for a in page.find("a") if a.attributes["href"].startswith("#")}
    assert "#resnet50-train-demo-cap" in found
    ids = [e.attributes["id"] for tag in ("section", "li", "h3") for e in page.find(tag) if "id" in e.attributes]
    assert {to.removeprefix("#") for to in found} <= set(ids) and len(ids) == len(set(ids))


def test_simulated_work_has_no_share_of_the_peak(submissions: Submissions, report: Report) -> None:
    computed, simulated = demo(), demo()
    simulated.result["implementation"]["settings"]["simulated"] = True
    add_all(submissions, computed, simulated)
    page, _ = report(submissions.root)
    with_mfu = [next(iter(list(row.find("td"))[11].find("data")), None) is not None for row in rows(page, "demo")]
    assert sorted(with_mfu) == [False, True]
    assert any("Simulated work has no MFU" in note.text for note in page.find("li"))


def test_gain_has_a_true_minus_and_no_minus_before_zero() -> None:
    assert (gain(-3.456), gain(-0.001), gain(12.0)) == ("\u22123.46", "0.00", "12.00")


def test_demo_stands_apart_from_the_compared_table(submissions: Submissions, report: Report) -> None:
    submissions.add()
    submissions.add(demo(), run_id="run-demo")
    page, _ = report(submissions.root)
    compared, *_, apart = page.find("table")
    assert "demo" in next(apart.find("caption")).text
    assert (len(rows(compared, "demo")), len(rows(apart, "demo")), len(rows(apart, "closed"))) == (0, 1, 0)
    chart = next(page.find("figure"))
    assert "laptop" not in chart.text


def test_rejected_bundle_shows_findings_and_no_figure(submissions: Submissions, report: Report) -> None:
    submissions.add()
    spoilt = submissions.add(altered(name="cheat"), run_id="run-spoilt")
    (spoilt / "log.txt.gz").write_bytes(b"no log")
    page, html = report(submissions.root)
    assert [next(row.find("th")).text for row in rows(page, "closed")] == ["example-h200x2"]
    assert "cheat" not in html
    section = next(page.find("section", id="rejected"))
    assert "spoilt" in section.text and "error" in section.text


def published_below(directory: Path) -> Path:
    (directory / "published").mkdir(parents=True, exist_ok=True)
    (directory / "published" / PUBLISHED.name).write_bytes(PUBLISHED.read_bytes())
    return directory


def test_published_rows_beside_submitted_ones(submissions: Submissions, report: Report) -> None:
    submissions.add()
    page, _ = report(published_below(submissions.root))
    assert len(rows(page, "published")) == 95
    flagged = list(page.find("tr", class_="implausible"))
    assert len(flagged) == 8
    reasons = [row.text for row in page.find("tr", class_="reason")]
    assert len(reasons) == 8
    assert any("166 % of 989 TFLOP/s dense bf16; read as four GPUs" in reason for reason in reasons)
    first = next(page.find("section"))
    assert first.attributes["id"] == "resnet50-train"
    table = next(first.find("table"))
    assert (len(rows(table, "closed")), len(rows(table, "published"))) == (1, 19)


def test_published_row_shows_printed_digits_and_marks_what_is_assumed(tmp_path: Path, report: Report) -> None:
    page, _ = report(published_below(tmp_path / "s"))
    (row,) = (r for r in rows(page, "published") if 34107.2 in values(r))
    assert next(row.find("data")).text == "34\u202f107.2"
    assert values(row)[1:3] == pytest.approx([700 / 34107.2, 34107.2 / 700])
    assert "≈" in row.text and "≥" in row.text
    unenforced = [r for r in rows(page, "published") if "unenforced" in r.attributes["class"]]
    assert len(unenforced) == 10
    assert all(next(r.find("td", class_="key")).text.startswith("(") for r in unenforced)


def test_every_workload_with_rows_has_a_chart_beside_its_table(tmp_path: Path, report: Report) -> None:
    page, _ = report(published_below(tmp_path / "s"))
    sections = list(page.find("section"))
    assert len(sections) == 5
    for section in sections:
        charts = list(section.find("div", class_="chart"))
        assert [c.attributes["role"] for c in charts] == ["img", "img"]
        assert all(c.attributes["aria-label"] and list(c.find("svg")) for c in charts)
        assert len(list(section.find("table"))) == 1


def test_hostile_names_are_text(submissions: Submissions, report: Report) -> None:
    submissions.add(altered(name=HOSTILE))
    page, html = report(submissions.root)
    assert not list(page.find("script")) and not list(page.find("img"))
    assert next(rows(page, "closed")[0].find("th")).text == HOSTILE
    assert HOSTILE in next(page.find("figure")).text
    assert "<script" not in html


def test_hostile_published_address_is_no_link(tmp_path: Path, report: Report) -> None:
    root = published_below(tmp_path / "s")
    paper = json.loads(PUBLISHED.read_text(encoding="utf-8")) | {"url": "javascript:alert(1)"}
    (root / "published" / PUBLISHED.name).write_text(json.dumps(paper), encoding="utf-8")
    _, html = report(root)
    assert "javascript:" not in html


def test_page_forbids_itself_the_network(submissions: Submissions, report: Report) -> None:
    submissions.add()
    page, _ = report(submissions.root)
    policy = next(m for m in page.find("meta") if m.attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy.attributes["content"].startswith("default-src 'none';")
    assert not [*page.find("script"), *page.find("link"), *page.find("iframe")]


def test_missing_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name in ("altair", "vl_convert"):
            raise ImportError(f"No module named {name!r}", name=name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    out = tmp_path / "report.html"
    done = CliRunner().invoke(main, [str(published_below(tmp_path / "s")), "-o", str(out)])
    assert done.exit_code == 1
    assert "pip install 'wattmark[report]'" in done.output
    assert not out.exists()


def test_nothing_to_report_is_an_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [str(tmp_path), "-o", str(tmp_path / "report.html")])
    assert done.exit_code == 1
    assert str(tmp_path) in done.output and "no bundle" in done.output


def test_page_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    out = tmp_path / "missing" / "report.html"
    done = CliRunner().invoke(main, [str(published_below(tmp_path / "s")), "-o", str(out)])
    assert done.exit_code == 1
    assert f"{out}: cannot be written" in done.output


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7195.26, "7 195"),
        (34107.2, "34 107"),
        (0.0935218, "0.09352"),
        (10.693, "10.69"),
        (0.0, "0"),
        (-3.2, "-3.200"),
        (1234567.0, "1 234 567"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert number(value) == text.replace(" ", "\u202f")


def test_numbers_carry_how_they_came_about() -> None:
    assert shown(Figure(259.0, "printed")) == "259"
    assert shown(Figure(34107.2, "printed")) == "34\u202f107.2"
    assert shown(Figure(0.25, "assumed")) == "≈\u202f0.2500"
    assert shown(Figure(1.6609, "bound"), 100) == "≥\u202f166"
    assert signed_percent(-0.0015) == "\u22120.15\u202f%"


def test_findings_are_counted_by_severity() -> None:
    found = [
        Finding("W101", Severity.WARNING, "", "", "", "", ""),
        Finding("W101", Severity.WARNING, "", "", "", "", ""),
        Finding("M201", Severity.NOTE, "", "", "", "", ""),
    ]
    assert counted(found) == "2 warnings (W101), 1 note (M201)"
    assert counted([]) == "no findings"


def test_browser_shows_the_page_without_errors_or_requests(
    submissions: Submissions, report: Report, chromium: str, tmp_path: Path
) -> None:
    submissions.add(altered(name=HOSTILE))
    report(published_below(submissions.root))
    picture, log = tmp_path / "page.png", tmp_path / "net.json"
    quiet = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-component-update --disable-sync"
    quiet += " --disable-background-networking --enable-logging=stderr --window-size=1440,2400"
    done = subprocess.run(
        [
            chromium,
            *quiet.split(),
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--log-net-log={log}",
            f"--screenshot={picture}",
            (tmp_path / "report.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr, done.stderr
    assert "example.org" not in log.read_text(encoding="utf-8", errors="replace")
    assert picture.stat().st_size > 50_000
