"""The report's part on sweeps: figures against the default cap, the peak, and what is not shown to
be a cap in force."""

from pathlib import Path

import pytest
from conftest import Submissions
from support.bundles import make_serving_evidence, rederive
from support.report.html import Element, Line, Report, list_table_ids, read_embedded, read_lines
from support.report.report_runs import add_sweep, convert_to_baseline, make_run_at_cap
from support.sweep_runs import GAINS

from reporting.collect import collect
from reporting.page_model import build_page_model
from reporting.report_table import format_number
from rules.metrics.sweeps.best_settings import SHOWN_EDS_K
from rules.metrics.sweeps.gains import compare
from rules.metrics.sweeps.peaks import fit_quadratic_peak
from rules.metrics.sweeps.points import Point
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import use_other_boards


def point(evidence: EvidenceFrames) -> Point:
    head = evidence.result["headline"]
    return Point(
        evidence.result["power"]["cap_w"],
        head["items_per_s"]["mean"],
        head["joules_per_item"]["mean"],
        all(o["cap_enforced"] for o in evidence.result["observed"]),
    )


SWEEPS, PEAKS = "resnet50-train-sweeps", "resnet50-train-peaks"
FIGURES = ("items_per_s", "joules_per_item", "items_per_joule")


def by_cap(page: Element) -> dict[str, Line]:
    """The rows of the table of one sweep by cap, as it is shown."""
    return {line.text("cap_w"): line for line in read_lines(page, SWEEPS)}


def test_sweep_shows_what_each_cap_saves_and_costs(
    submissions: Submissions, report: Report
) -> None:
    runs = add_sweep(
        submissions,
        make_run_at_cap(400, 0.7),
        make_run_at_cap(500, 0.9),
        make_run_at_cap(600, 0.95),
        make_run_at_cap(700, 1.0),
    )
    page, _ = report(submissions.root)
    shown_rows = by_cap(page)
    assert list(shown_rows) == ["400", "500", "600", "700"]
    reference = point(runs[-1])
    for row, evidence in zip(shown_rows.values(), runs, strict=True):
        own, head = point(evidence), evidence.result["headline"]
        against = compare(own, reference)
        assert row["power_w"] == pytest.approx(head["mean_power_w_per_accelerator"]["mean"])
        assert [row[key] for key in FIGURES] == pytest.approx(
            [own.items_per_s, own.joules_per_item, own.items_per_joule]
        )
        assert row["edp_js"] == pytest.approx(against.edp_js.mean)
        assert [row[key] for key in GAINS] == pytest.approx(
            [
                against.energy_gain_percent.mean,
                against.extra_time_percent.mean,
                against.gain_minus_extra_time_points.mean,
                against.edp_gain_percent.mean,
                against.eds_gain_percent[1.5].mean,
                against.eds_gain_percent[2.0].mean,
            ]
        )
    assert [row.text("note") for row in shown_rows.values()] == [
        "\u2013",
        "peak",
        "\u2013",
        "default cap",
    ]
    (peak,) = read_lines(page, PEAKS)
    between = fit_quadratic_peak([point(evidence) for evidence in runs])
    assert between is not None
    assert (peak["peak_cap_w"], peak["note"], peak["default_cap_w"]) == (500, None, 700)
    assert peak.text("quadratic_items_per_joule").startswith(
        format_number(between.items_per_joule.mean)
    )
    assert shown_rows["500"].text("in_force_w") == "500"
    settings = {row["metric"]: row for row in read_lines(page, "resnet50-train-settings")}
    assert len(settings) == 3 + len(SHOWN_EDS_K)
    gain = compare(point(runs[1]), reference).energy_gain_percent
    assert settings["energy"].text("setting") == "500 W"
    assert settings["energy"]["gain"] == pytest.approx(gain.mean)
    # Where time weighs most, the default cap is best.
    assert settings["EDS, k = 1.1"].text("setting") == "700 W"
    assert settings["energy"].text("not_told_apart") == "no other setting"


def test_unenforced_cap_is_in_parentheses_hollow_and_never_the_peak(
    submissions: Submissions, report: Report
) -> None:
    loose_run, *_ = add_sweep(
        submissions,
        make_run_at_cap(300, 1.2, draw_w=320),
        make_run_at_cap(400, 0.7),
        make_run_at_cap(700, 1.0),
    )
    page, _ = report(submissions.root)
    shown_rows = by_cap(page)
    (table,) = page.find("table", **{"data-table": SWEEPS})
    heads = [head.text for head in table.find("th", scope="col")]
    assert "limit read back W" in heads and "enforced" not in heads
    loose = shown_rows["300"]
    in_parentheses = [loose.text(key) for key in (*FIGURES, *GAINS)]
    assert all(cell.startswith("(") and cell.endswith(")") for cell in in_parentheses)
    most = max(o["mean_power_w"] for o in loose_run.result["observed"])
    assert f"The cap of 300 W did not hold: mean power was {most:.1f} W." in loose.text("evidence")
    assert max(shown_rows.values(), key=lambda row: row["items_per_joule"]) is loose, (
        "it would be the peak if it counted"
    )
    settings = {row.text("setting") for row in read_lines(page, "resnet50-train-settings")}
    assert settings <= {"400 W", "700 W"}
    assert [cap for cap, row in shown_rows.items() if "most efficient" in row.text("note")] == [
        "400"
    ]


def test_cap_that_has_no_effect_is_marked_like_one_that_did_not_hold(
    submissions: Submissions, report: Report
) -> None:
    add_sweep(
        submissions, make_run_at_cap(675, 1.0, draw_w=670), make_run_at_cap(700, 1.0, draw_w=670)
    )
    page, _ = report(submissions.root)
    compared = [
        row
        for id in ("resnet50-train-results", SWEEPS)
        for row in read_lines(page, id)
        if row["doubt"]
    ]
    assert [row["cap_w"] for row in compared] == [675, 675]
    reason = (
        "The cap of 675 W is not shown to be in force: "
        "a higher cap gives the same throughput and power."
    )
    assert all(
        row["doubt"] == reason and "unenforced" in row.element.attributes["class"]
        for row in compared
    )
    titles = [
        span.attributes["title"]
        for row in compared
        for span in row.element.find("span")
        if "title" in span.attributes
    ]
    assert set(titles) == {reason}


def test_cap_that_did_not_hold_and_has_no_effect_says_first_what_was_drawn(
    submissions: Submissions, report: Report
) -> None:
    runs = add_sweep(
        submissions, make_run_at_cap(300, 1.0, draw_w=497), make_run_at_cap(500, 1.0, draw_w=497)
    )
    page, _ = report(submissions.root)
    most = max(o["mean_power_w"] for o in runs[0].result["observed"])
    reason = (
        f"The cap of 300 W did not hold: mean power was {most:.1f} W; "
        "a higher cap gives the same throughput and power."
    )
    assert reason in by_cap(page)["300"].text("evidence")


@pytest.mark.parametrize("best", [300, 700])
def test_best_cap_at_an_edge_is_not_called_a_peak(
    best: float, submissions: Submissions, report: Report
) -> None:
    add_sweep(
        submissions,
        *(
            make_run_at_cap(cap, cap / 700 * (1.2 if cap == best else 1.0))
            for cap in (300.0, 700.0)
        ),
    )
    page, _ = report(submissions.root)
    (peak,) = read_lines(page, PEAKS)
    assert peak["peak_cap_w"] == best
    assert (
        peak["note"]
        == f"the edge of the sweep: the peak may lie {'below' if best == 300 else 'above'}"
    )
    notes = {cap: row.text("note") for cap, row in by_cap(page).items()}
    assert "most efficient" in notes[f"{best}"] and not any(
        "peak" in note for note in notes.values()
    )


def test_one_cap_alone_that_held_is_no_peak(submissions: Submissions, report: Report) -> None:
    add_sweep(submissions, make_run_at_cap(300, 1.2, draw_w=320), make_run_at_cap(700, 1.0))
    page, _ = report(submissions.root)
    (peak,) = read_lines(page, PEAKS)
    assert peak["peak_cap_w"] is None
    assert peak["note"] == "no peak: no other cap than 700 W is known to have held"
    assert not any("most efficient" in row.text("note") for row in by_cap(page).values())


def test_repeats_at_a_cap_are_combined(submissions: Submissions, report: Report) -> None:
    runs = add_sweep(
        submissions,
        make_run_at_cap(500, 0.88),
        make_run_at_cap(500, 0.8),
        make_run_at_cap(700, 1.0),
    )
    page, _ = report(submissions.root)
    row = by_cap(page)["500"]
    one, other = point(runs[0]), point(runs[1])
    means = [
        (one.items_per_s + other.items_per_s) / 2,
        (one.joules_per_item + other.joules_per_item) / 2,
    ]
    assert [row["items_per_s"], row["joules_per_item"]] == pytest.approx(means)
    assert row.text("evidence") == "2 runs: 1, 2" and row["n"] == 2
    assert len({a.attributes["href"] for a in row.cells["evidence"].find("a")}) == 2


@pytest.mark.parametrize(
    ("runs", "default_mw", "reason"),
    [
        (
            [(500, 495), (600, 594)],
            700_000,
            "there is no run at the default cap of 700 W to compare with; run that cap too",
        ),
        (
            [(500, 495), (600, 620)],
            600_000,
            "nothing is compared with the run at the default cap of 600 W: its cap",
        ),
        ([(500, 495), (600, 594)], None, "the boards do not name one default cap"),
    ],
)
def test_sweep_without_a_run_to_compare_with_says_why(
    runs: list[tuple[float, float]],
    default_mw: int | None,
    reason: str,
    submissions: Submissions,
    report: Report,
) -> None:
    made = [make_run_at_cap(cap_w, cap_w / 700, draw_w) for cap_w, draw_w in runs]
    for evidence in made:
        for readback in evidence.result["readbacks"]:
            readback["default_mw"] = default_mw
    add_sweep(submissions, *made)
    page, _ = report(submissions.root)
    (peak,) = read_lines(page, PEAKS)
    assert f"no gains: {reason}" in peak["note"]
    assert all(row[key] is None for row in by_cap(page).values() for key in GAINS)


def test_gain_whose_interval_contains_zero_is_not_told_from_the_reference(
    submissions: Submissions,
) -> None:
    add_sweep(
        submissions,
        *(make_run_at_cap(500, rate) for rate in (0.72, 0.73)),
        *(make_run_at_cap(700, rate) for rate in (1.0, 1.01)),
        make_run_at_cap(400, 0.5),
    )
    page = build_page_model(collect([submissions.root]), Path.as_posix)
    tables = {table.id: table for table in page.tables}
    rows = {row["cap_w"]: row for row in tables[SWEEPS].rows}
    assert rows[500]["note"] == "peak, not told apart from the reference: energy gain"
    low, high = rows[500]["energy_gain_percent_low"], rows[500]["energy_gain_percent_high"]
    assert float(str(low)) < 0 < float(str(high))
    assert {row["interval_basis"] for row in (rows[400], rows[500])} == {"between runs"}
    energy = next(r for r in tables["resnet50-train-settings"].rows if r["metric"] == "energy")
    assert (energy["setting"], energy["not_told_apart"]) == ("500 W", "700 W")


def test_one_cap_or_runs_that_differ_in_more_are_no_sweep(
    submissions: Submissions, report: Report
) -> None:
    baseline = convert_to_baseline(make_run_at_cap(500, 0.9))
    clocked = make_run_at_cap(600, 0.9)
    for readback in clocked.result["readbacks"]:
        readback.update(sm_set_mhz=1200, sm_default_mhz=1980)
    add_sweep(submissions, baseline, clocked, make_run_at_cap(700, 1.0), make_run_at_cap(700, 0.99))
    page, _ = report(submissions.root)
    assert not [id for id in list_table_ids(page) if id.endswith(("-sweeps", "-peaks"))]


def test_demo_sweep_stands_apart(submissions: Submissions, report: Report) -> None:
    runs = [
        make_run_at_cap(cap, rate, standing=s)
        for s in ("closed", "demo")
        for cap, rate in ((500, 0.9), (700, 1.0))
    ]
    for evidence in runs[2:]:
        evidence.system["name"] = "laptop"
    add_sweep(submissions, *runs)
    serving = make_serving_evidence()
    use_other_boards(serving)
    rederive(serving)
    submissions.add(serving, "20260101T000000Z-serving")
    page, _ = report(submissions.root)
    submitted, apart = read_lines(page, SWEEPS), read_lines(page, "resnet50-train-demo-sweeps")
    titles = {table["id"]: table["title"] for table in read_embedded(page, "tables")}
    assert [
        titles[id].endswith("not compared") for id in (SWEEPS, "resnet50-train-demo-sweeps")
    ] == [False, True]
    assert [{row["line"].split(" ")[0] for row in table} for table in (submitted, apart)] == [
        {"example-h200x2"},
        {"laptop"},
    ]
    (demo_section,) = page.find("section", id="simulated")
    drawn = {figure.attributes["data-table"] for figure in demo_section.find("figure")}
    assert "resnet50-train-demo-results" in drawn
    assert all("-demo-" in table for table in drawn)
    (folded,) = demo_section.find("details", class_="demo")
    assert "Demo" in next(demo_section.find("h2")).text
    assert "#simulated" in [
        link.attributes["href"] for nav in page.find("nav") for link in nav.find("a")
    ]
    assert set(list_table_ids(folded)) == {id for id in list_table_ids(page) if "-demo-" in id}
    assert len(read_lines(page, "resnet50-train-demo-results")) == 2


def test_sweeps_of_one_name_are_told_apart(submissions: Submissions, report: Report) -> None:
    runs = [make_run_at_cap(cap, rate) for rate in (0.9, 1.0) for cap in (500, 700)]
    for evidence in runs[2:]:
        evidence.batches["items"] = evidence.result["settings"]["batch_size"] = 512
        rederive(evidence)
    add_sweep(submissions, *runs)
    page, _ = report(submissions.root)
    names = sorted({row["line"] for row in read_lines(page, SWEEPS)})
    assert [name.rpartition(" \u00b7 ")[2] for name in names] == ["batch 1024", "batch 512"]
