"""The report's part on sweeps: figures against the default cap, the peak, and what is not shown to be a cap in force."""

import re

import pytest
from conftest import Submissions
from good import another_run, good_evidence, rederive
from pages import Element, Report, rows, values

from reporting.page import number
from rules.records import Evidence
from rules.spoil import declare_cap
from rules.sweeps import Point, compare, quadratic_peak


def at_cap(cap_w: float, rate: float, draw_w: float | None = None, standing: str = "closed") -> Evidence:
    """A good run under a cap that it keeps, or draws `draw_w`, at a multiple of the usual throughput."""
    evidence = good_evidence(rate=rate)
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        evidence.samples[column] = (evidence.samples[column] * (draw_w or 0.99 * cap_w) / 685).round()
    evidence.result["standing"] = standing
    declare_cap(evidence, cap_w)
    rederive(evidence)
    return evidence


def add_sweep(submissions: Submissions, *runs: Evidence) -> list[Evidence]:
    for place, evidence in enumerate(runs):
        rederive(another_run(evidence, place))
        submissions.add(evidence, f"20260101T000000Z-run-{place}")
    return list(runs)


def point(evidence: Evidence) -> Point:
    head = evidence.result["headline"]
    return Point(
        evidence.result["power"]["cap_w"],
        head["items_per_s"]["mean"],
        head["joules_per_item"]["mean"],
        all(o["cap_enforced"] for o in evidence.result["observed"]),
    )


def sweep_tables(page: Element) -> list[Element]:
    return list(page.find("table", class_="sweep"))


def by_cap(table: Element) -> dict[str, Element]:
    """The rows of a table of one sweep by cap, as it is shown."""
    found = [row for row in table.find("tr") if row.attributes.get("class", "").split()[:1] in (["closed"], ["demo"])]
    return {next(row.find("th")).text: row for row in found}


def test_sweep_shows_what_each_cap_saves_and_costs(submissions: Submissions, report: Report) -> None:
    runs = add_sweep(submissions, at_cap(400, 0.7), at_cap(500, 0.9), at_cap(600, 0.95), at_cap(700, 1.0))
    page, _ = report(submissions.root)
    (table,) = sweep_tables(page)
    shown_rows = by_cap(table)
    assert list(shown_rows) == ["400", "500", "600", "700 default"]
    reference = point(runs[-1])
    for row, evidence in zip(shown_rows.values(), runs, strict=True):
        own, head = point(evidence), evidence.result["headline"]
        against = compare(own, reference)
        assert values(row) == pytest.approx(
            [
                head["mean_power_w_per_accelerator"]["mean"],
                own.items_per_s,
                own.joules_per_item,
                own.items_per_joule,
                against.energy_gain_percent,
                against.performance_loss_percent,
                against.gain_minus_loss_percent,
                against.edp_gain_percent,
                against.eds_gain_percent[1.5],
                against.eds_gain_percent[2.0],
            ]
        )
    assert [cap for cap, row in shown_rows.items() if "peak" in row.text] == ["500"]
    between = quadratic_peak([point(evidence) for evidence in runs])
    group = next(table.find("tr", class_="group")).text
    assert between is not None
    assert f"images/J at 500 W; by quadratic interpolation {number(between.items_per_joule)} at" in group
    assert "no gains" not in group
    assert next(shown_rows["500"].find("td")).text == "500"


def test_unenforced_cap_is_in_parentheses_hollow_and_never_the_peak(submissions: Submissions, report: Report) -> None:
    loose_run, *_ = add_sweep(submissions, at_cap(300, 1.2, draw_w=320), at_cap(400, 0.7), at_cap(700, 1.0))
    page, _ = report(submissions.root)
    shown_rows = by_cap(sweep_tables(page)[0])
    heads = [head.text for table in page.find("table") for head in table.find("th")]
    assert "read back" in heads and "enforced" not in heads
    loose = shown_rows["300"]
    cells = [cell.text for cell in loose.find("td")]
    assert all(cell.startswith("(") and cell.endswith(")") for cell in cells[2:-1])
    drew = loose_run.result["observed"]
    most = max(o["mean_power_w"] for o in drew)
    assert f"The cap of 300 W did not hold: drew {most:.1f} W under it." in cells[-1]
    assert any(note.text.startswith("In parentheses:") for note in page.find("li"))
    best = max(shown_rows.values(), key=lambda row: values(row)[3])
    assert best is loose, "it would be the peak if it counted"
    assert [cap for cap, row in shown_rows.items() if "most efficient" in row.text] == ["400"]
    for chart in list(page.find("div", class_="chart"))[2:]:
        marks = [p.attributes for p in chart.find("path") if p.attributes.get("aria-roledescription") == "point"]
        assert len(marks) == 3
        assert ["cap, W per accelerator: 300" in m["aria-label"] for m in marks if "fill" not in m] == [True]


def test_cap_that_has_no_effect_is_marked_like_one_that_did_not_hold(submissions: Submissions, report: Report) -> None:
    add_sweep(submissions, at_cap(675, 1.0, draw_w=670), at_cap(700, 1.0, draw_w=670))
    page, _ = report(submissions.root)
    compared = [row for row in rows(next(page.find("section")), "closed") if "unenforced" in row.attributes["class"]]
    assert [next(row.find("th")).text for row in compared] == ["example-h200x2", "675"]
    titles = [span.attributes["title"] for row in compared for span in row.find("span") if "title" in span.attributes]
    assert set(titles) == {"The cap of 675 W is not shown to be in force: a higher cap gives the same."}


def test_cap_that_did_not_hold_and_has_no_effect_says_first_what_was_drawn(submissions: Submissions, report: Report) -> None:
    runs = add_sweep(submissions, at_cap(300, 1.0, draw_w=497), at_cap(500, 1.0, draw_w=497))
    page, _ = report(submissions.root)
    most = max(o["mean_power_w"] for o in runs[0].result["observed"])
    reason = f"The cap of 300 W did not hold: drew {most:.1f} W under it; a higher cap gives the same."
    assert reason in next(by_cap(sweep_tables(page)[0])["300"].find("td", class_="evidence")).text


@pytest.mark.parametrize(
    ("best", "says"),
    [(300, "most efficient at 300 W ("), (700, "most efficient at 700 W (")],
)
def test_best_cap_at_an_edge_is_not_called_a_peak(best: float, says: str, submissions: Submissions, report: Report) -> None:
    add_sweep(submissions, *(at_cap(cap, cap / 700 * (1.2 if cap == best else 1.0)) for cap in (300.0, 700.0)))
    page, _ = report(submissions.root)
    (table,) = sweep_tables(page)
    group = next(table.find("tr", class_="group")).text
    assert says in group
    assert f"the edge of the sweep: the peak may lie {'below' if best == 300 else 'above'}" in group
    assert "efficiency peak" not in group
    assert not any(small.text == "peak" for row in by_cap(table).values() for small in row.find("small"))


def test_one_cap_alone_that_held_is_no_peak(submissions: Submissions, report: Report) -> None:
    add_sweep(submissions, at_cap(300, 1.2, draw_w=320), at_cap(700, 1.0))
    page, _ = report(submissions.root)
    (table,) = sweep_tables(page)
    assert "no efficiency peak: no other cap than 700 W is known to have held" in next(table.find("tr", class_="group")).text
    assert not any("most efficient" in row.text for row in by_cap(table).values())


def test_repeats_at_a_cap_are_combined(submissions: Submissions, report: Report) -> None:
    runs = add_sweep(submissions, at_cap(500, 0.9), at_cap(500, 0.8), at_cap(700, 1.0))
    page, _ = report(submissions.root)
    row = by_cap(sweep_tables(page)[0])["500"]
    one, other = point(runs[0]), point(runs[1])
    assert values(row)[1:3] == pytest.approx(
        [(one.items_per_s + other.items_per_s) / 2, (one.joules_per_item + other.joules_per_item) / 2]
    )
    evidence = next(row.find("td", class_="evidence"))
    assert evidence.text == "n = 2: 1, 2"
    assert len({a.attributes["href"] for a in evidence.find("a")}) == 2


@pytest.mark.parametrize(
    ("runs", "default_mw", "reason"),
    [
        ([(500, 495), (600, 594)], 700_000, "there is no run at the default cap of 700 W to compare with; run that cap too"),
        ([(500, 495), (600, 620)], 600_000, "nothing is compared with the run at the default cap of 600 W: its cap"),
        ([(500, 495), (600, 594)], None, "the boards do not name one default cap"),
    ],
)
def test_sweep_without_a_run_to_compare_with_says_why(
    runs: list[tuple[float, float]], default_mw: int | None, reason: str, submissions: Submissions, report: Report
) -> None:
    made = [at_cap(cap_w, cap_w / 700, draw_w) for cap_w, draw_w in runs]
    for evidence in made:
        for readback in evidence.result["readbacks"]:
            readback["default_mw"] = default_mw
    add_sweep(submissions, *made)
    page, _ = report(submissions.root)
    (table,) = sweep_tables(page)
    assert f"no gains: {reason}" in next(table.find("tr", class_="group")).text
    assert all(len(values(row)) == 4 for cap, row in by_cap(table).items())


def test_one_cap_or_runs_that_differ_in_more_are_no_sweep(submissions: Submissions, report: Report) -> None:
    baseline = at_cap(500, 0.9)
    baseline.result["implementation"]["variant"] = "baseline"
    clocked = at_cap(600, 0.9)
    for readback in clocked.result["readbacks"]:
        readback.update(sm_set_mhz=1200, sm_default_mhz=1980)
    add_sweep(submissions, baseline, clocked, at_cap(700, 1.0), at_cap(700, 0.99))
    page, _ = report(submissions.root)
    assert sweep_tables(page) == []
    assert "Over power caps" not in page.text


def test_demo_sweep_stands_apart(submissions: Submissions, report: Report) -> None:
    runs = [at_cap(cap, rate, standing=s) for s in ("closed", "demo") for cap, rate in ((500, 0.9), (700, 1.0))]
    for evidence in runs[2:]:
        evidence.system["name"] = "laptop"
    add_sweep(submissions, *runs)
    page, _ = report(submissions.root)
    submitted, demo_table = sweep_tables(page)
    assert "not compared" in next(demo_table.find("caption")).text
    links = [(a.text, a.attributes["href"].removeprefix("#")) for a in next(page.find("nav")).find("a")]
    assert [text for text, _ in links if "sweep" in text] == ["sweep", "demo sweep"]
    headings = {h.attributes.get("id"): h.text for h in (*page.find("h2"), *page.find("h3"), *page.find("section"))}
    assert {to for _, to in links} <= headings.keys()
    assert headings["resnet50-train-demo-sweep"] == "Demo over power caps: not compared"
    assert ("laptop" in submitted.text, "laptop" in demo_table.text) == (False, True)
    charts = [chart.text for chart in page.find("figure")]
    assert ["laptop" in text for text in charts] == [False, False, True]
    (apart,) = page.find("details", class_="runs")
    assert "2 demo runs" in next(apart.find("summary")).text
    assert len(rows(apart, "demo")) == 2


def test_sweeps_of_one_name_are_told_apart(submissions: Submissions, report: Report) -> None:
    runs = [at_cap(cap, rate) for rate in (0.9, 1.0) for cap in (500, 700)]
    for evidence in runs[2:]:
        evidence.batches["items"] = evidence.result["settings"]["batch_size"] = 512
        rederive(evidence)
    add_sweep(submissions, *runs)
    page, _ = report(submissions.root)
    groups = [row.text for row in sweep_tables(page)[0].find("tr", class_="group")]
    assert [re.search(r"batch \d+", text)[0] for text in groups] == ["batch 1024", "batch 512"]  # type: ignore[index]
