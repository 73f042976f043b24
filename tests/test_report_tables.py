"""A table says the same on the page, in its downloads and in its charts, and its numbers are those of the rules."""

import csv
import json
import random
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from pages import Element, Tree, embedded, lines, table_ids

from checker.files import read_files
from checker.load import read_evidence
from reporting.charts import charts
from reporting.planning import DEFAULTS
from reporting.tables import Column, Table, doubtful, interval, text, to_csv, to_latex, to_markdown
from rules import comparison, metrics
from rules.power import with_node_overhead
from rules.profile import clocks
from rules.rule import Bundle
from rules.sweeps import Point, combine, scaling

SUBMISSIONS = Path(__file__).parents[1] / "submissions"
RATE, JOULES, PER_JOULE = "items_per_s_per_accelerator", "joules_per_item", "items_per_joule"


@pytest.fixture(scope="module")
def page(whole_report: Path) -> Element:
    return Tree((whole_report / "report.html").read_text(encoding="utf-8")).open[0]


def tables(page: Element) -> list[Table]:
    """The tables of a page, made anew from its JSON."""
    known = {field.name for field in fields(Column)}
    found = []
    for record in embedded(page, "tables"):
        columns = tuple(Column(**{key: value for key, value in c.items() if key in known}) for c in record["columns"])
        rows = tuple(dict(zip(record["keys"], row, strict=True)) for row in record["rows"])
        found.append(Table(record["id"], record["title"], columns, rows, record["about"]))
    return found


def bundle(path: Path) -> Bundle:
    evidence, problems = read_evidence(read_files(path))
    assert not problems
    return Bundle(path, (), evidence)


def summaries(made: Bundle) -> dict[str, Any]:
    """What `rules` says of a bundle, by the key that the tables give it; a summary where there is an interval."""
    computed = made.computed
    assert not isinstance(computed, str)
    head = computed["headline"]
    return {
        RATE: head[RATE],
        JOULES: head[JOULES],
        PER_JOULE: head[PER_JOULE],
        "power_w": head["mean_power_w_per_accelerator"],
        **clocks(computed["epochs"]),
    }


def expected(made: Bundle) -> dict[str, float | None]:
    """Every number that a row of a bundle may show by itself."""
    computed, result = made.computed, made.result
    assert not isinstance(computed, str)
    head = computed["headline"]
    found: dict[str, float | None] = {}
    for key, summary in summaries(made).items():
        if summary is not None:
            low, high = summary["ci95"]
            found |= {key: summary["mean"], f"{key}_low": low, f"{key}_high": high, f"{key}_n": summary["n"]}
    rate, joules = head[RATE]["mean"], head[JOULES]["mean"]
    million = comparison.site_kwh(joules, 1e6, DEFAULTS.pue)
    year = comparison.site_kwh(joules, comparison.items_per_year(DEFAULTS.millions_per_day), DEFAULTS.pue)
    apart = metrics.difference(head["energy_j_counter"]["mean"], head["energy_j_trapezoid"]["mean"])
    return found | {
        "items_per_s": head["items_per_s"]["mean"],
        "mfu_percent": head["mfu"]["mean"] * 100,
        "node_items_per_joule_assumed": with_node_overhead(rate, head["mean_power_w_per_accelerator"]["mean"]),
        "count": len(made.accelerator_ranks),
        "batch": result["settings"]["batch_size"],
        "cap_w": result["power"]["cap_w"],
        "n": head[RATE]["n"],
        "difference_percent": apart * 100,
        "eur_per_million": million * DEFAULTS.price_per_kwh,
        "gco2e_per_million": million * DEFAULTS.gco2e_per_kwh,
        "eur_per_year": year * DEFAULTS.price_per_kwh,
        "kgco2e_per_year": year * DEFAULTS.gco2e_per_kwh / 1e3,
        "accelerators_needed": comparison.accelerators_needed(DEFAULTS.millions_per_day, rate),
    }


def test_every_number_of_three_bundles_is_that_of_the_rules(page: Element, whole_report: Path) -> None:
    seed = random.randrange(10**6)
    every = {path: bundle(path) for path in sorted(p.parent for p in SUBMISSIONS.glob("reference/*/*/MANIFEST.json"))}
    chosen = random.Random(seed).sample(list(every), 3)
    seen = 0
    for path in chosen:
        own = expected(every[path])
        for table in tables(page):
            kind = table.id.rpartition("-")[2]
            if kind not in ("results", "compare", "tuned", "scaling", "evidence", "if") and not table.id.startswith("system-"):
                continue  # best and power have tests of their own
            for row in table.rows:
                if not row.get("bundle") or (whole_report / str(row["bundle"])).resolve() != path.resolve():
                    continue
                for key in own.keys() & row.keys():
                    told = f"{key} of {path.name} in {table.id}, seed {seed}"
                    if row[key] is None:
                        assert own[key] is None or key.endswith(("_low", "_high", "_n")), told
                    else:
                        assert row[key] == pytest.approx(own[key], rel=1e-9), told
                        seen += 1
    assert seen > 3 * 40


def test_relative_figures_are_those_of_the_rules(page: Element) -> None:
    for table in tables(page):
        if not table.id.endswith("-compare"):
            continue
        by_name = {row["result"]: row for row in table.rows}
        for row in table.rows:
            base = by_name[row["against"]]
            same = row["boards"] == base["boards"]
            assert row["like"] == base["like"], "only like is compared with like"
            for short, key in (("rate", RATE), ("joules", JOULES)):
                ends = [
                    None if one[f"{key}_low"] is None else (float(one[f"{key}_low"]), float(one[f"{key}_high"]))  # type: ignore[arg-type]
                    for one in (row, base)
                ]
                own, other = float(row[key] or 0), float(base[key] or 0)
                assert row[f"{short}_percent"] == pytest.approx(comparison.relative_percent(own, other), abs=1e-6)
                if row is not base:
                    assert row[f"{short}_told"] == comparison.told_apart(own, ends[0], other, ends[1], same)


def test_scores_are_those_of_the_rules(page: Element) -> None:
    (table,) = [t for t in tables(page) if t.id == "what-if"]
    groups: dict[object, list[Any]] = {}
    for row in table.rows:
        groups.setdefault((row["workload"], row["standing"] == "published"), []).append(row)
    for rows in groups.values():
        fastest, highest = max(r[RATE] for r in rows), max(r[JOULES] for r in rows)
        for row in rows:
            performance = 100 * row[RATE] / fastest
            score = comparison.score(row[JOULES], highest, performance, DEFAULTS.weight, DEFAULTS.scaling)
            assert row["score"] == pytest.approx(score)
        assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
        assert sorted(rows, key=lambda r: -r["score"]) == rows


def test_scaling_is_that_of_the_rules(page: Element) -> None:
    (row,) = lines(page, "resnet50-train-scaling")
    points: dict[str, list[Point]] = {}
    for path in SUBMISSIONS.glob("reference/*/*resnet50-train-tuned*"):
        made = bundle(path)
        assert not isinstance(made.computed, str)
        head = made.computed["headline"]
        own = Point(made.result["power"]["cap_w"], head["items_per_s"]["mean"], head[JOULES]["mean"], True)
        points.setdefault(path.name.split("-x")[1][0], []).append(own)
    (several,), (one,) = combine(points["4"]), combine(points["1"])
    against = scaling(several, 4, one)
    assert row["speed_up"] == pytest.approx(against.speed_up)
    assert row["efficiency_percent"] == pytest.approx(against.efficiency * 100)
    assert row["energy_per_item_ratio"] == pytest.approx(against.energy_per_item_ratio)


def test_cells_are_the_values_as_the_table_says_them(page: Element) -> None:
    checked = 0
    for table in tables(page):
        for line, row in zip(lines(page, table.id), table.rows, strict=True):
            for column in table.columns:
                if column.hidden or column.form in ("evidence", "findings"):
                    continue
                shown = text(column, row) or "\u2013"
                loose = row[column.key] is not None and doubtful(column, row)
                assert line.text(column.key) == (f"({shown})" if loose else shown)
                small, between = [s.text for s in line.cells[column.key].find("small")], interval(column, row)
                assert small == [between] or small == ([between.partition(",")[0]] if between else [])
                checked += 1
    assert checked > 3000


def test_chart_holds_the_rows_and_titles_of_its_table(page: Element) -> None:
    by_id = {table.id: table for table in tables(page)}
    drawn = {figure.attributes["id"]: figure for figure in page.find("figure", class_="chart")}
    specs = embedded(page, "charts")
    assert specs.keys() == drawn.keys()
    for id, figure in drawn.items():
        table = by_id[figure.attributes["data-table"]]
        told = json.dumps(specs[id])
        assert f'"{table.id}"' in told, "its data is that of the table"
        (chart,) = [c for c in charts(table) if c.id == id]
        assert next(figure.find("h4")).text == chart.title
        for row in table.rows:
            for key in (RATE, JOULES, "median_w"):
                if isinstance(row.get(key), float) and row[key] not in (0, 1):
                    assert f"{row[key]}" not in told, "a spec holds no number of its own"


def said(value: object) -> str:
    """A value as CSV has it."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def test_files_of_tables_hold_what_the_page_holds(page: Element, whole_report: Path) -> None:
    directory = whole_report / "tables"
    assert sorted(p.stem for p in directory.glob("*.csv")) == sorted(table_ids(page))
    for table in tables(page):
        with (directory / f"{table.id}.csv").open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        assert tuple(head) == table.keys
        assert rows == [[said(value) for value in row.values()] for row in table.rows]
    everything = json.loads((directory / "report.json").read_text(encoding="utf-8"))
    assert everything["tables"] == embedded(page, "tables")
    assert {p.suffix for p in directory.glob("resnet50-train-results.*")} == {".csv", ".md", ".tex"}


def table(**row: Any) -> Table:
    columns = (
        Column("name", "name"),
        Column("power_w", "power", "W", "number", kinds=True),
        Column("rate", "rate", "images/s", "number", interval=True, kinds=True),
        Column("gain_percent", "gain", "%", "signed"),
        Column("doubt", "doubt", hidden=True),
    )
    return Table("t", "A & B_1", columns, (row,))


@pytest.mark.parametrize(
    ("row", "key", "said"),
    [
        ({"rate": 7444.5}, "rate", "7\u202f444"),
        ({"rate": 259.0, "rate_kind": "printed"}, "rate", "259"),
        ({"rate": 34107.2, "rate_kind": "printed"}, "rate", "34\u202f107.2"),
        ({"rate": 0.25, "rate_kind": "assumed"}, "rate", "≈\u202f0.2500"),
        ({"rate": 166.09, "rate_kind": "bound"}, "rate", "≥\u202f166"),
        ({"gain_percent": -3.456}, "gain_percent", "\u22123.46"),
        ({"gain_percent": -0.001}, "gain_percent", "0.00"),
        ({"rate": None}, "rate", ""),
        ({"name": "x"}, "name", "x"),
    ],
)
def test_text_of_a_cell(row: dict[str, Any], key: str, said: str) -> None:
    made = table(**row)
    assert text(made.column(key), made.rows[0]) == said


def test_csv_keeps_figures_and_disarms_formulas() -> None:
    made = to_csv(table(name="=cmd()", rate=1 / 3, rate_low=0.3, rate_high=float("nan"), rate_n=10))
    assert made == "name,power_w,power_w_kind,rate,rate_low,rate_high,rate_n,rate_kind,gain_percent,doubt\r\n" + (
        "'=cmd(),,,0.3333333333,0.3,,10,,,\r\n"
    )


def test_tables_for_papers_escape_what_strangers_wrote() -> None:
    made = table(name="a|b_\\end{x}%", rate=2.0, power_w=3.0, doubt="The cap did not hold.")
    assert to_markdown(made).splitlines()[-1] == "| a\\|b\\_\\\\end{x}% | 3.000 | (2.000) |  |"
    assert "a|b\\_\\textbackslash{}end\\{x\\}\\% & 3.000 & (2.000) &  \\\\" in to_latex(made)
    assert "\\caption{A \\& B\\_1}" in to_latex(made)


def test_row_with_a_key_of_no_column_is_refused() -> None:
    with pytest.raises(ValueError, match="rates"):
        table(rates=1)


def test_guide_answers_five_questions_as_the_page_does(page: Element) -> None:
    guide = (SUBMISSIONS.parent / "docs/reading-a-report.md").read_text(encoding="utf-8")
    (best,) = [line for line in lines(page, "workloads") if line["workload"] == "resnet50-train"]
    efficient, published = best.text("efficient_per_joule"), best.text("published_per_joule").replace("\u202f", " ")
    assert f"submitted: {efficient} images/J at 700 W" in guide and best["efficient"].endswith("700 W")
    assert f"published: {published} at 300 W on H100" in guide and best["published_efficient"].endswith("H100 · 300 W")
    vit = {line["result"]: line for line in lines(page, "vitl16-train-compare")}
    slower = vit["Mayr et al. 2026 · H200 · 400 W"]
    assert slower["against"] == "Mayr et al. 2026 · H200 · 700 W" and slower["rate_told"] == "no interval"
    assert f"throughput is {slower.text('rate_percent').removeprefix(chr(0x2212))} % lower" in guide
    every = [row for table in tables(page) if table.id.endswith("-results") for row in table.rows]
    assert {(row["model"], row["cap_w"]) for row in every if row["doubt"]} == {("MI300X", 200), ("MI300X", 300)}
    assert len([row for row in every if row["implausible"]]) == 8 and "eight rows of LLaMA pre-training" in guide
    moved = [(row["line"], row["cap_w"]) for row in every if row["peak"] != row["peak_node"]]
    assert moved == [("Mayr et al. 2026 · MI300X", 400), ("Mayr et al. 2026 · MI300X", 500)]
    assert "one peak moves: Stable Diffusion v2 on MI300X, from 400 to 500 W" in guide
    (h100,) = [row for row in every if row["line"] == "Mayr et al. 2026 · H100" and row[RATE] == 1312.8]
    assert f"{h100[PER_JOULE]} to {h100['node_items_per_joule_assumed']:.3f} images/J on H100 at 300 W" in guide
