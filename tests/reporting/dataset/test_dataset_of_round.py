"""The data of the committed round: the figures of the report, with the same marks, and a data
dictionary of each column."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reporting.dataset import Round
from reporting.dataset.columns import DTYPES
from reporting.dataset.tables import ALL_TABLES, TABLES, format_dictionary

pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once
ROOT = Path(__file__).parents[3]
MARKS = ("standing", "doubt", "implausible", "withheld", "caution")
INTERVAL = ("_low", "_high", "_n")
SHARED_WORDS = " SXM in a virtual machine"
"""What the names of all systems of the round end with; the page states it once."""
SAME_NAMES = (
    *MARKS,
    *("system", "accelerator", "variant", "precision", "cap_w", "provenance", "sm_clock_mhz"),
    *("items_per_s", "sensor_term_percent", "comparable", "url"),
    *(
        f"{name}{end}"
        for name in ("items_per_s_per_accelerator", "joules_per_item", "items_per_joule")
        for end in ("", "_kind")
    ),
)
RENAMED = {
    "batch": "batch_size",
    "count": "accelerators",
    "model": "board",
    "line": "configuration",
    "held": "cap_enforced",
    "mfu_percent_kind": "mfu_kind",
    "node_items_per_joule_assumed": "items_per_joule_with_node_share",
    "power_w": "mean_power_w",
}
COLUMN_OF_REPORT_KEY = {name: name for name in SAME_NAMES} | RENAMED
"""The column of `figures` by the key of the results tables of report.json."""
STATED: dict[str, tuple[str, ...]] = {
    **{
        name: ("headline", name, "mean")
        for name in ("items_per_s_per_accelerator", "joules_per_item", "items_per_joule", "mfu")
    },
    "mean_power_w": ("headline", "mean_power_w_per_accelerator", "mean"),
    **{name: (name,) for name in ("run_id", "protocol", "rules_version", "energy_of_record")},
    "variant": ("implementation", "variant"),
    "precision": ("implementation", "precision"),
    "cap_w": ("power", "cap_w"),
    "sm_clock_mhz": ("power", "sm_clock_mhz"),
    **{name: ("settings", name) for name in ("batch_size", "batches_per_epoch", "nodes", "input")},
    **{
        name: ("settings", "requests", name)
        for name in ("concurrency", "prompt_tokens", "output_tokens")
    },
    "requests_served": ("serving", "requests"),
    "input_tokens_per_s": ("serving", "input_tokens_per_s"),
    **{
        f"{name}_s_{rank}": ("serving", f"{name}_s", rank)
        for name in ("ttft", "tpot", "latency")
        for rank in ("p50", "p95", "p99")
    },
}
"""Where result.json has the value of a column."""


@pytest.fixture(scope="module")
def frames(whole_report: Path) -> dict[str, pd.DataFrame]:
    data = whole_report / "data"
    return {table.name: pd.read_parquet(data / table.file) for table in TABLES}


@pytest.fixture(scope="module")
def report_rows(whole_report: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of report.json by the last part of the id of their table."""
    document = json.loads((whole_report / "tables" / "report.json").read_text(encoding="utf-8"))
    rows: dict[str, list[dict[str, Any]]] = {}
    for table in document["tables"]:
        suffix = table["id"].rpartition("-")[2]
        rows.setdefault(suffix, []).extend(
            dict(zip(table["keys"], row, strict=True)) | {"workload": table["id"]}
            for row in table["rows"]
        )
    return rows


def simplify(value: Any) -> Any:
    """A value of a frame as report.json has it: with ten significant digits."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(f"{value:.10g}") if isinstance(value, float) else value


def name_result(bundle: str | None, workload: str, board: str, cap_w: Any) -> tuple[Any, ...]:
    """What identifies a result: its bundle, or the setting of a published figure."""
    return (bundle.rpartition("/")[2],) if bundle else (workload, board, cap_w)


def index_frame(frame: pd.DataFrame) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The rows of a frame by `name_result`, as report.json has them."""
    rows = [{str(k): simplify(v) for k, v in row.items()} for row in frame.to_dict("records")]
    return {name_result(r["bundle"], r["workload"], r["board"], r["cap_w"]): r for r in rows}


def find_result(rows: dict[tuple[Any, ...], Any], row: dict[str, Any], suffix: str) -> Any:
    workload = row["workload"].removesuffix(f"-{suffix}")
    return rows[name_result(row["bundle"], workload, row["model"], row["cap_w"])]


def test_figures_are_those_of_the_report(
    frames: dict[str, pd.DataFrame], report_rows: dict[str, list[dict[str, Any]]]
) -> None:
    results = index_frame(frames["figures"])
    assert len(results) == len(frames["figures"]) > 100
    compared = 0
    for suffix in ("results", "control"):
        for row in report_rows[suffix]:
            result = find_result(results, row, suffix)
            keys = row.keys() & COLUMN_OF_REPORT_KEY.keys()
            if suffix == "control":
                # All rows of the table of control runs are withheld, and it does not repeat why.
                keys -= {"withheld"}
                assert result["withheld"].startswith("a control run")
            else:
                assert keys == COLUMN_OF_REPORT_KEY.keys()
            for key in keys:
                value = result[COLUMN_OF_REPORT_KEY[key]]
                if key in ("system", "line") and row["bundle"]:
                    value = value.replace(SHARED_WORDS, "", 1)
                assert value == row[key], (row["line"], key)
            if row.get("mfu_percent") is not None:
                assert 100 * result["mfu"] == pytest.approx(row["mfu_percent"], rel=1e-9)
            compared += 1
    assert compared == len(results), "each figure of the data is in the report"


def test_intervals_are_those_within_each_run(
    frames: dict[str, pd.DataFrame], report_rows: dict[str, list[dict[str, Any]]]
) -> None:
    results = index_frame(frames["figures"])
    assert len(report_rows["epochs"]) > 60
    for row in report_rows["epochs"]:
        result = find_result(results, row, "epochs")
        for name in ("items_per_s_per_accelerator", "joules_per_item"):
            assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]
            for end in INTERVAL:
                assert result[f"{name}{end}"] == row[f"{name}{end}"], (row["line"], name)


def test_values_are_those_that_each_result_states(frames: dict[str, pd.DataFrame]) -> None:
    figures = frames["figures"].dropna(subset="bundle").set_index("bundle").to_dict("index")
    assert len(figures) > 60
    for run in frames["runs"].to_dict("records"):
        row = figures[run["bundle"]] | run
        path = ROOT / "submissions" / run["bundle"] / "result.json"
        result = json.loads(path.read_text("utf-8"))
        for name, keys in STATED.items():
            stated = result
            for key in keys:
                stated = (stated or {}).get(key)
            # Before rule book 1.5.0, stated figures were means of epochs, not ratios of sums.
            assert simplify(row[name]) == pytest.approx(stated, rel=5e-4), (path, name)


def test_power_and_clocks_are_those_of_the_samples(frames: dict[str, pd.DataFrame]) -> None:
    shares = {"min": 0, "p5": 0.05, "median": 0.5, "p95": 0.95, "max": 1}
    for row in frames["runs"].iloc[[0, -1]].to_dict("records"):
        samples = frames["samples"][frames["samples"]["bundle"] == row["bundle"]]
        scored = samples[samples["epoch"].fillna(0) > 0]
        power_w = scored["power_mw"].astype(float) / 1e3
        for name, share in shares.items():
            assert row[f"reading_{name}_w"] == pytest.approx(power_w.quantile(share), rel=2e-3)
        for column, name in (("sm_mhz", "mean_sm_clock_mhz"), ("mem_mhz", "mean_memory_clock_mhz")):
            assert row[name] == pytest.approx(scored[column].astype(float).mean(), rel=2e-3)


def test_withheld_results_keep_their_marks(frames: dict[str, pd.DataFrame]) -> None:
    figures, runs, epochs = (frames[name] for name in ("figures", "runs", "epochs"))
    cautioned = figures[figures["caution"].notna()]
    assert set(cautioned["workload"]) >= {"llama3-8b-pretrain", "llama3-8b-serve"}
    assert set(figures["standing"]) == {"closed", "open", "control", "published"}
    reasons = figures[["doubt", "implausible", "withheld"]].notna().any(axis=1)
    assert (figures["ranked"] == ~reasons).all() and not figures["ranked"].all()
    reproduction = runs[runs["reproduces"].notna()]
    assert not reproduction["ranked"].any() and reproduction["withheld"].notna().all()
    marks = ["bundle", "ranked", *MARKS]
    joined = epochs[marks].drop_duplicates().reset_index(drop=True)
    pd.testing.assert_frame_equal(joined, runs[marks])


def test_epochs_add_up_to_the_figures(frames: dict[str, pd.DataFrame]) -> None:
    figures = frames["figures"].dropna(subset="bundle").set_index("bundle")
    scored = frames["epochs"][frames["epochs"]["scored"]]
    sums = scored.groupby("bundle", sort=False).sum(numeric_only=True)
    rate = sums["items"] / sums["active_s"] / figures["accelerators"]
    assert rate.to_numpy(float) == pytest.approx(
        figures["items_per_s_per_accelerator"].to_numpy(), rel=1e-6
    )
    assert set(scored.groupby("bundle").size()) == {10}


def test_samples_are_those_of_the_bundles(frames: dict[str, pd.DataFrame]) -> None:
    samples = frames["samples"]
    assert samples["bundle"].unique().tolist() == frames["runs"]["bundle"].tolist()
    for bundle in samples["bundle"].unique()[[0, -1]]:
        raw = pd.read_csv(
            ROOT / "submissions" / bundle / "samples.csv.gz", keep_default_na=False, na_values=[""]
        )
        bundle_samples = samples[samples["bundle"] == bundle].reset_index(drop=True)
        for name in raw.columns:
            column = bundle_samples[name]
            pd.testing.assert_series_equal(column, raw[name].astype(column.dtype))


def test_samples_of_an_epoch_lie_in_its_batches(frames: dict[str, pd.DataFrame]) -> None:
    bundle = frames["runs"]["bundle"].iloc[0]
    batches = pd.read_csv(ROOT / "submissions" / bundle / "batches.csv.gz")
    spans = batches.groupby("epoch").agg({"start_ns": "min", "end_ns": "max"})
    samples = frames["samples"][frames["samples"]["bundle"] == bundle]
    within = samples.dropna(subset="epoch").join(spans, on="epoch")
    assert within["read_ns"].between(within["start_ns"], within["end_ns"]).all()
    assert set(within["epoch"]) == set(range(11)) and len(within) > 0.6 * len(samples)


def test_dictionary_has_each_column_and_nothing_else(
    whole_report: Path, frames: dict[str, pd.DataFrame]
) -> None:
    dictionary = json.loads((whole_report / "data" / "dictionary.json").read_text("utf-8"))
    assert {table["file"] for table in dictionary["tables"]} == {
        path.name for path in (whole_report / "data").glob("*.parquet")
    }
    for table in dictionary["tables"]:
        frame = frames[table["name"]]
        assert table["rows"] == len(frame)
        described = {column["column"]: column["dtype"] for column in table["columns"]}
        assert described == {name: str(dtype) for name, dtype in frame.dtypes.items()}
        assert list(described) == list(frame.columns) and set(described.values()) <= {
            *DTYPES.values()
        }
        assert all(column["meaning"] for column in table["columns"])


UNITS = {
    "_s": "s",
    "_w": "W",
    "_j": "J",
    "_mw": "mW",
    "_mj": "mJ",
    "_ns": "ns",
    "_mhz": "MHz",
    "_c": "\u00b0C",
    "_pct": "%",
    "_percent": "%",
    "_tokens": "tokens",
    "joules_per_item": "J/item",
    "items_per_joule": "items/J",
    "items_per_s": "items/s",
    "tokens_per_s": "tokens/s",
    "rate_per_s": "1/s",
    "_sha256": "SHA-256",
}
"""By the end of a name; the longest that fits counts."""


def test_names_end_in_their_units() -> None:
    for table in ALL_TABLES:
        for column in table.columns:
            ends = [end for end in UNITS if column.key.endswith(end)]
            if ends:
                assert column.unit == UNITS[max(ends, key=len)], column.key


def test_page_names_all_public_names_of_a_round() -> None:
    page = (ROOT / "docs" / "dataset.md").read_text(encoding="utf-8")
    public_names = {name for name in vars(Round) if not name.startswith("_")}
    assert public_names == set(re.findall(r"\b(?:data|Round)\.(\w+)", page))


def test_readme_has_the_dictionary(whole_report: Path) -> None:
    # No committed run states an optional setting.
    stated = [replace(t, columns=[c for c in t.columns if not c.optional]) for t in TABLES]
    readme = (whole_report / "data" / "README.md").read_text("utf-8")
    assert format_dictionary(stated).strip() in readme


def test_page_names_every_column_with_its_meaning() -> None:
    """Columns that accompany a figure are described by the ends of their names."""
    page = (ROOT / "docs" / "dataset.md").read_text("utf-8").partition("## Data dictionary")[2]
    figures = re.findall(r"`(\w+)`", page.partition("have columns")[0])
    ends = re.findall(r"`(_\w+)`,", page.partition("ends too:")[2].partition("\n\n")[0])
    assert len(figures) > 3 and len(ends) == 4
    accompanying = {f"{figure}{end}" for figure in figures for end in ends}
    sections = re.findall(r"^### (.*?)\n(.*?)(?=^### |\Z)", page, re.MULTILINE | re.DOTALL)
    for table in ALL_TABLES:
        lines = [
            line
            for head, text in sections
            if table.name in re.split(r", | and ", head)
            for line in text.splitlines()
        ]
        for column in table.columns:
            described = any(
                line.startswith(f"`{column.key}`") and line.endswith(f": {column.about}  ")
                for line in lines
            )
            assert described or column.key in accompanying, column.key
