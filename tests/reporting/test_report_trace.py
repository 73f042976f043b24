"""Every number of the page is computed again by `rules` from the raw tables of the bundles, and
from the printed rows of papers.

What is traced is all that the page's tables hold, of every bundle: of `submissions/`, and of sweeps
made for the test. A number whose source is not named in recomputation.py fails. That cells and
downloads hold what the tables hold is tested in test_report_tables.py, and that charts do in
test_report_charts.py.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import Submissions
from support.recomputation import (
    SOURCES,
    SOURCES_BY_ROW,
    get_default_cap_w,
    get_table_kind,
)
from support.report.html import Tree, read_tables
from support.report.recomputed_page import ReportPage, join_repeats, list_settings
from support.report.recomputed_results import (
    PER_JOULE,
    RATE,
    Result,
    list_estimate_columns,
    read_paper,
    recompute_bundle,
    withhold_older_recipes,
)
from support.report.recomputed_spread import state_intervals
from support.report.report_runs import add_sweep, convert_to_baseline, make_run_at_cap

from checker.engine import judge_all
from reporting.cli import main
from reporting.sections.sweeps.relative import RELATIVE_COLUMNS
from reporting.traces import MAX_BINS
from rules.boards import find_board
from rules.finding import Severity
from rules.metrics import energy
from rules.metrics.power.profile import envelope
from rules.metrics.sweeps.peaks import find_measured_peak, fit_quadratic_peak
from rules.metrics.sweeps.points import combine

pytestmark = pytest.mark.xdist_group("trace")  # one test process builds its page, once
RELATIVE_KEYS = {column.key for column in RELATIVE_COLUMNS}
SUBMISSIONS = Path(__file__).parents[2] / "submissions"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, signing_key: Path) -> ReportPage:
    """The page of submissions/ and of two sweeps: of one a cap does not hold and another is run
    twice, the other is a demo."""
    directory = tmp_path_factory.mktemp("traced")
    submissions = Submissions(directory / "submissions", signing_key)
    submissions.allow(signing_key)
    caps = ((400, 0.7), (500, 0.9), (500, 0.88), (700, 1.0))
    demo_caps = ((500, 0.7), (600, 0.95), (700, 1.0))
    runs = [make_run_at_cap(300, 0.5, draw_w=320), *(make_run_at_cap(w, rate) for w, rate in caps)]
    runs += [convert_to_baseline(make_run_at_cap(700, rate)) for rate in (0.3, 0.28)]
    runs += [make_run_at_cap(w, rate, standing="demo") for w, rate in demo_caps]
    add_sweep(submissions, *runs)
    out = directory / "report.html"
    paths = [SUBMISSIONS, submissions.root]
    done = CliRunner().invoke(main, [*map(str, paths), "-o", str(out)])
    assert done.exit_code == 0, done.output
    verdicts = judge_all(paths).verdicts
    assert not [(v.path.name, v.findings) for v in verdicts if v.status != "pass"]
    papers = [json.loads(v.path.read_text()) for v in verdicts if v.standing == "published"]
    results = withhold_older_recipes(
        [
            recompute_bundle(v)
            for v in verdicts
            if v.standing in ("closed", "open", "demo", "control")
        ]
    )
    studies = [v for v in verdicts if v.standing == "study"]
    # Two centers have a system of this name, so the page names the center too.
    results = [
        replace(r, system=f"{r.system} ({r.center})")
        if r.system == "H200 SXM in a virtual machine"
        else r
        for r in results
    ]
    page = Tree(out.read_text(encoding="utf-8")).open[0]
    printed = [row for paper in papers for row in read_paper(paper)]
    whole = ReportPage(page, read_tables(page), directory, [*results, *printed], studies)
    return replace(whole, results=[*state_intervals(results, whole.spreads), *printed])


def agree(row: Mapping[str, Any], wanted: Mapping[str, Any], name: str) -> int:
    """How many numbers of a row are those wanted; fails for any that is not, and for one that is
    not wanted at all."""
    seen = 0
    for key, value in row.items():
        if isinstance(value, bool | str):
            assert (
                isinstance(value, bool)
                or not isinstance(wanted.get(key), str)
                or value == wanted[key]
            ), f"{key} of {name}"
        elif value is None:
            assert wanted.get(key) is None, f"{key} of {name} is left out"
        else:
            assert key in wanted, f"{key} of {name} comes from nowhere"
            near = pytest.approx(
                wanted[key], rel=1e-9, abs=1e-7 if key.endswith(("_percent", "_points")) else 0
            )
            assert value == near, f"{key} of {name}"
            seen += 1
    return seen


def list_facets(result: Result) -> dict[str, Any]:
    """The numbers of a result that the control bar filters by."""
    power = result.bundle.result["power"] if result.bundle else {}
    return {
        "cap_w": result.cap_w,
        "count": result.count,
        "batch": result.numbers.get("batch"),
        "sm_clock_mhz": power.get("sm_clock_mhz"),
    }


def test_every_number_of_a_result_is_that_of_the_rules(whole: ReportPage) -> None:
    seen: dict[str, int] = {}
    traced: set[int] = set()
    for table in whole.tables:
        kind = get_table_kind(table)
        for row in table.rows:
            if (result := whole.find_result(table, row)) is None or table.id in (
                "rack",
                "whole-nodes",
            ):
                continue
            source = SOURCES_BY_ROW[kind](row) if kind in SOURCES_BY_ROW else SOURCES[kind]
            wanted = list_facets(result) | source(whole, result)
            name = f"{row.get('line') or row} in {table.id}"
            if kind == "results":
                # A table without these columns would hold no wrong number.
                assert {key for key in wanted if key in RELATIVE_KEYS} <= row.keys(), name
            seen[kind] = seen.get(kind, 0) + agree(row, wanted, name)
            traced.add(id(result))
    assert seen.keys() == {*SOURCES, *SOURCES_BY_ROW} and min(seen.values()) >= 8, (
        "each kind of table was there"
    )
    assert (
        len(traced)
        == len(whole.results)
        == len(list(SUBMISSIONS.glob("*/*/*/result.json"))) + 10 + 95
    )


def test_every_row_of_a_result_is_in_the_page_once(whole: ReportPage) -> None:
    """A number cannot be right in a row that is missing."""
    for of in ("results", "compare", "evidence", "system", "epochs"):
        shown = [
            whole.find_result(t, row)
            for t in whole.tables
            if get_table_kind(t) == of
            for row in t.rows
        ]
        if of == "compare":
            # A row shows all repeats of a setting.
            shown = [r for one in shown if one for r in join_repeats(whole, one)]
        wanted = {
            # Control runs have a table of their own, which compares nothing.
            "results": lambda r: r.standing != "control",
            # Without two settings to compare, there is no such table.
            "compare": lambda r: (
                r.may_win
                and r.standing not in ("demo", "control")
                and f"{r.workload}-compare" in {table.id for table in whole.tables}
            ),
            "epochs": lambda r: r.bundle is not None and r.standing != "control",
        }.get(of, lambda r: r.bundle is not None)
        assert sorted(map(id, shown)) == sorted(id(one) for one in whole.results if wanted(one)), of


def test_workload_without_comparison_has_one_setting_in_each_group(whole: ReportPage) -> None:
    missing = {r.workload for r in whole.results if r.standing not in ("demo", "control")} - {
        table.id.removesuffix("-compare") for table in whole.tables
    }
    assert missing
    for result in whole.results:
        if result.workload in missing and result.may_win and result.standing != "demo":
            assert len(list_settings(whole, whole.list_compared(result))) == 1


def test_each_setting_that_may_win_is_ranked_once(whole: ReportPage) -> None:
    (table,) = [t for t in whole.tables if t.id == "what-if"]
    ranked = [
        id(repeat)
        for row in table.rows
        if (result := whole.find_result(table, row))
        for repeat in join_repeats(whole, result)
    ]
    assert sorted(ranked) == sorted(
        id(r) for r in whole.results if r.may_win and r.standing not in ("demo", "control")
    )
    assert len(table.rows) < len(ranked), "repeats share a row"


def test_peaks_are_those_of_the_rules(whole: ReportPage) -> None:
    by_id = {table.id: table for table in whole.tables}
    checked = 0
    for id, table in by_id.items():
        if get_table_kind(table) != "peaks":
            continue
        swept = by_id[f"{id.removesuffix('peaks')}sweeps"]
        for row in table.rows:
            result = whole.find_result(
                swept, next(of for of in swept.rows if of["line"] == row["line"])
            )
            assert result is not None
            runs = whole.list_sweep_runs(result)
            points = combine([r.point for r in runs])
            peak, between = find_measured_peak(points), fit_quadratic_peak(points)
            assert between is not None
            low_w, high_w = between.cap_ci95_w or (None, None)
            wanted = {
                **list_facets(result),
                "default_cap_w": get_default_cap_w(runs),
                "peak_cap_w": peak.cap_w,
                **list_estimate_columns("peak_items_per_joule", peak.items_per_joule),
                "quadratic_cap_w": between.cap_w,
                "quadratic_cap_w_low": low_w,
                "quadratic_cap_w_high": high_w,
                "quadratic_cap_w_n": between.items_per_joule.n,
                **list_estimate_columns("quadratic_items_per_joule", between.items_per_joule),
            }
            checked += agree(row, wanted, f"{row['line']} in {id}")
    # The repeats of one of the two sweeps do not bound the place of its interpolated peak.
    assert checked == 14 + 16


def test_power_over_time_is_that_of_the_samples(whole: ReportPage) -> None:
    traces = [table for table in whole.tables if get_table_kind(table) == "trace"]
    assert len(traces) >= 6
    for table in traces:
        (one,) = [
            r
            for r in whole.results
            if r.bundle and r.bundle.result["run_id"] == table.title.partition(", ")[2]
        ]
        made, uuid = one.loaded_bundle, next(iter(one.loaded_bundle.accelerator_ranks))
        own, rank = energy.build_trace(made.samples_of[uuid]), made.accelerator_ranks[uuid]
        known, control = find_board(made.accelerators[uuid].name), whole.find_control(one)
        assert known is not None
        bins = list(envelope(own.usable_power_times_s, own.usable_power_w, MAX_BINS))
        for row, one_bin in zip(table.rows, bins, strict=True):
            middle_ns = own.zero_ns + (one_bin.from_s + one_bin.to_s) / 2 * 1e9
            epochs = [
                e
                for (e, of), (start, end) in made.spans.items()
                if of == rank and start <= middle_ns <= end
            ]
            wanted = list_facets(one) | {
                "t_s": round(one_bin.from_s, 3),
                "to_s": round(one_bin.to_s, 3),
                "low_w": one_bin.low_w,
                "high_w": one_bin.high_w,
                "n": one_bin.n,
                # The table has a tenth of a watt.
                "mean_w": row["mean_w"],
                "epoch": epochs[0] if epochs else None,
                "cap_w": one.cap_w,
                "rated_w": known.max_power_w,
                "idle_w": known.idle_power_w,
                "control_w": control.numbers["median_w"] if control else None,
            }
            assert agree(row, wanted, f"{row['t_s']} s in {table.id}") >= 8
            is_near = np.abs(own.usable_power_times_s - (one_bin.from_s + one_bin.to_s) / 2) <= 0.5
            assert row["mean_w"] == pytest.approx(own.usable_power_w[is_near].mean(), abs=0.0501)
        assert f"{len(own.usable_power_w)} readings in {len(bins)} bins" in table.about


def test_course_of_a_run_is_that_of_its_boards(whole: ReportPage) -> None:
    courses = [table for table in whole.tables if get_table_kind(table) == "course"]
    assert len(courses) >= 2
    for table in courses:
        run_id = table.title.split(", ")[1]
        (one,) = [r for r in whole.results if r.bundle and r.bundle.result["run_id"] == run_id]
        made, control = one.loaded_bundle, whole.find_control(one)
        uuids = list(made.accelerator_ranks)
        lines = {str(row["line"]): row for row in table.rows}
        assert list(lines) == ["all boards", *(f"board {n}" for n in range(len(uuids)))]
        traces = [energy.build_trace(made.samples_of[uuid]) for uuid in uuids]
        zero_ns = min(trace.zero_ns for trace in traces)
        for row in table.rows:
            if row["of"] == "board":
                trace = traces[int(str(row["line"]).split()[1])]
                times_s = trace.usable_power_times_s + (trace.zero_ns - zero_ns) / 1e9
                is_inside = (times_s >= row["t_s"] - 0.002) & (times_s <= row["to_s"] + 0.002)
                power_w = trace.usable_power_w[is_inside]
                # The ends of a step are rounded to milliseconds.
                assert power_w.min() - 0.1 <= row["power_w"] <= power_w.max() + 0.1
            fixed = list_facets(one) | {
                **{key: row[key] for key in ("t_s", "to_s", "power_w", "epoch")},
                "utilisation_percent": row["utilisation_percent"],
                "control_w": control.numbers["median_w"] if control else None,
            }
            assert agree(row, fixed, f"{row['t_s']} s in {table.id}") >= 5


def read_published(name: str) -> dict[str, Any]:
    path = Path(__file__).parents[2] / f"submissions/published/{name}.json"
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def test_power_of_whole_nodes_is_that_of_the_publications(whole: ReportPage) -> None:
    (table,) = [t for t in whole.tables if t.id == "whole-nodes"]
    nodes = [
        (paper["url"], node)
        for paper in map(read_published, ("latif2024", "mlperf-nodes"))
        for node in paper["nodes"]
    ]
    for row, (_, node) in zip(table.rows, nodes, strict=True):
        figures = ("mean_w", "median_w", "max_w", "p99_60s_w", "rated_w")
        wanted = {name: node[name] for name in (*figures, "accelerators") if name in node}
        if "rated_w" in node:
            wanted["max_percent"] = 100 * node["max_w"] / node["rated_w"]
        assert agree(row, wanted, str(row["work"])) == len(wanted)
    (section,) = whole.page.find("div", id="racks")
    assert {url for url, _ in nodes} <= {link.attributes["href"] for link in section.find("a")}


def test_rack_of_latif_holds_five_nodes_by_rating_and_six_by_the_highest_reading(
    whole: ReportPage,
) -> None:
    (table,) = [t for t in whole.tables if t.id == "rack"]
    rows = [row for row in table.rows if row["source"] == "Latif et al. 2024"]
    plans = {row["by"]: (row["node_w"], row["nodes"], row["used_kw"]) for row in rows}
    assert plans == {
        "rating": (10_200, 5, pytest.approx(51.0, abs=1e-3)),
        "control": (8430, 6, pytest.approx(50.58, abs=1e-3)),
        "max": (8480, 6, pytest.approx(50.88, abs=1e-3)),
    }
    margins = [round(row["margin_percent"], 1) for row in rows if row["by"] in ("rating", "max")]
    assert margins == [27.1, 27.3]
    b200 = {row["by"]: row["nodes"] for row in table.rows if row["what"] == "8 \u00d7 B200"}
    assert b200 == {"rating": None, "max": 4, "p99": 4, "mean": 4}


def test_overview_counts_and_best_figures_are_those_of_the_results(whole: ReportPage) -> None:
    by_id = {table.id: table for table in whole.tables}
    for row in by_id["workloads"].rows:
        own = [
            r
            for r in whole.results
            if (r.workload, r.standing) == (row["workload"], row["standing"])
        ]
        candidates = [r for r in own if r.may_win]
        wanted: dict[str, object] = {
            "results": len(own),
            "excluded": len(own) - len(candidates),
        }
        for prefix, key in (("fastest_rate", RATE), ("efficient_per_joule", PER_JOULE)):
            if candidates:
                best = max(list_settings(whole, candidates), key=lambda n: n[key])
                wanted |= {
                    f"{prefix}{end}": best.get(f"{key}{end}") for end in ("", "_low", "_high", "_n")
                }
            else:
                assert row.get(prefix) is None
        assert agree(row, wanted, f"{row['workload']} {row['standing']}") >= 2
    shown = {(row["workload"], row["standing"]) for row in by_id["workloads"].rows}
    assert shown == {
        (r.workload, r.standing) for r in whole.results if r.standing not in ("demo", "control")
    }
    for row in by_id["systems-table"].rows:
        own = [r for r in whole.results if r.bundle and r.system == row["system"]]
        wanted = {
            standing: sum(r.standing == standing for r in own)
            for standing in ("closed", "open", "demo", "control")
        }
        wanted |= {
            "runs": len(own),
            "findings": sum(bool(r.verdict and r.verdict.findings) for r in own),
        }
        assert agree(row, wanted, str(row["system"])) == 6
    passed = [r.verdict for r in whole.results if r.verdict] + list(whole.studies)
    listed = {row["rule"] for row in by_id["findings"].rows}
    assert listed == {f.rule for verdict in passed for f in verdict.findings}
    for row in by_id["findings"].rows:
        with_it = [v for v in passed if any(f.rule == row["rule"] for f in v.findings)]
        count = sum(f.rule == row["rule"] for v in passed for f in v.findings)
        wanted = {"findings": count, "accepted": len(with_it), "rejected": 0}
        assert agree(row, wanted, str(row["rule"])) == 3


def test_numbers_in_words_are_those_of_the_bundles(whole: ReportPage) -> None:
    runs = [r for r in whole.results if r.verdict]
    (facts,) = whole.page.find("p", class_="facts")
    (trust,) = whole.page.find("p", class_="trust")
    passed = [r.verdict for r in runs if r.verdict] + list(whole.studies)
    severities = [f.severity for verdict in passed for f in verdict.findings]
    warnings, notes = (severities.count(s) for s in (Severity.WARNING, Severity.NOTE))
    systems = {r.system for r in runs}
    assert warnings and notes
    # The trust line counts the bundles of both.
    excluded = sum(not r.may_win and r.standing not in ("demo", "control") for r in whole.results)
    counts = (
        f"{len(runs)} runs · {len(whole.studies)} studies · {len(systems)} systems · "
        f"{excluded} not compared · 0 failed"
    )
    assert counts in " ".join(facts.text.split())
    assert trust.text.startswith(
        f"{len(passed)} bundles passed: {warnings} warnings, {notes} notes, "
    )
    (loose,) = [r for r in runs if not r.comparable]
    assert loose.loaded_bundle.figures is not None
    most_w = max(observed.mean_power_w for observed in loose.loaded_bundle.figures.observed)
    reason = f"The cap of {loose.cap_w:g} W did not hold: mean power was {most_w:.1f} W."
    assert {
        row["doubt"]
        for t in whole.tables
        for row in t.rows
        if row.get("doubt") and row.get("bundle")
    } == {reason}
    for article in whole.page.find("article", class_="system-part"):
        own = [r for r in runs if r.system == next(article.find("h3")).text]
        facts_of = {
            d.text: v.text for d, v in zip(article.find("dt"), article.find("dd"), strict=True)
        }
        uuids = {uuid for r in own for uuid in r.loaded_bundle.accelerator_ranks}
        assert facts_of["accelerators used"].startswith(f"{len(uuids)} board")
        for node in (node for r in own for node in r.loaded_bundle.system["nodes"]):
            assert f"{node['cpu_cores']} cores" in facts_of["CPU"]
            assert f"{node['memory_bytes'] / 2**30:.0f} GiB" in facts_of["memory"]
