"""What `rules` say of each result, computed again from the raw tables of its bundle or from the
printed row of a paper, and which of that each column of each kind of table shows. No arithmetic of
`reporting` takes part.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from support.report.html import Element

from checker.verdict import Verdict
from reporting.report_table import ReportTable
from reporting.sections.planning import DEFAULTS
from rules.boards import find_board
from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.bundle_format.load import read_evidence
from rules.declarations import RunDeclaration
from rules.metrics import comparison, sweeps
from rules.metrics import run as metrics
from rules.metrics.figures import Estimate
from rules.metrics.imbalance import Imbalance, compute_imbalance
from rules.metrics.power_profile import spread, with_node_overhead
from rules.metrics.run import mean_clocks
from rules.protocol import PROTOCOLS
from rules.run_summary import submission_key
from rules.workloads import workloads

RATE, JOULES, PER_JOULE = "items_per_s_per_accelerator", "joules_per_item", "items_per_joule"

Numbers = dict[str, Any]
"""By the key of a column."""


@dataclass(frozen=True)
class Result:
    """A run or a printed row, and what `rules` say of it."""

    workload: str
    standing: str
    system: str
    model: str
    variant: str | None
    precision: str | None
    count: int | None
    cap_w: float
    comparable: bool
    numbers: Mapping[str, Any]
    """What follows from it alone, as the columns of the tables call it."""
    bundle: Bundle | None = None
    verdict: Verdict | None = None

    @property
    def like(self) -> tuple[object, ...]:
        """What it must have in common with another to be compared."""
        return (
            self.workload,
            self.bundle is None,
            self.standing == "demo",
            self.precision,
            self.count,
        )

    @property
    def made(self) -> Bundle:
        assert self.bundle is not None
        return self.bundle

    @cached_property
    def point(self) -> sweeps.Point:
        numbers = self.numbers
        return sweeps.Point(self.cap_w, numbers["items_per_s"], numbers[JOULES], self.comparable)


def of_estimate(key: str, estimate: Estimate | None) -> Numbers:
    if estimate is None:
        return {key: None}
    low, high = estimate.ci95 or (None, None)
    return {key: estimate.mean, f"{key}_low": low, f"{key}_high": high, f"{key}_n": estimate.n}


def in_percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def measured(verdict: Verdict) -> Result:
    """A bundle, from its raw tables."""
    evidence, problems = read_evidence(read_files(verdict.path))
    made = Bundle(verdict.path, (), evidence)
    assert not problems and made.figures is not None
    result, head, epochs = made.result, made.figures.headline, made.figures.epochs
    boards = [
        a
        for node in made.system["nodes"]
        for a in node["accelerators"]
        if a["uuid"] in made.accelerator_ranks
    ]
    imbalance = compute_imbalance(epochs) or Imbalance(None, None, None)
    simulated = result["implementation"]["settings"].get("simulated")
    figures: Numbers = {
        "cap_w": result["power"]["cap_w"],
        "batch": result["settings"]["batch_size"],
        "count": len(boards),
    }
    figures |= of_estimate(RATE, head.items_per_s_per_accelerator)
    figures |= of_estimate(JOULES, head.joules_per_item)
    figures |= of_estimate(PER_JOULE, head.items_per_joule)
    figures |= of_estimate("power_w", head.mean_power_w_per_accelerator)
    for key, clock in vars(mean_clocks(epochs)).items():
        figures |= of_estimate(key, clock)
    counter, trapezoid = head.energy_j_counter, head.energy_j_trapezoid
    assert counter is not None and head.mfu is not None
    in_force = sorted({r["enforced_mw"] / 1e3 for r in result["readbacks"]})
    figures |= vars(spread(made.scored_samples.floats("power_mw") / 1e3)) | {
        "items_per_s": head.items_per_s.mean,
        "mfu_percent": None if simulated else head.mfu.mean * 100,
        "node_items_per_joule_assumed": with_node_overhead(figures[RATE], figures["power_w"]),
        "rated_w": max(a["max_power_w"] for a in boards),
        "in_force_w": ", ".join(f"{w:g}" for w in in_force),
        "difference_percent": 100 * metrics.relative_difference(counter.mean, trapezoid.mean),
        "active_apart_percent": in_percent(imbalance.active_time),
        "power_apart_percent": in_percent(imbalance.mean_power),
        "sm_apart_percent": in_percent(imbalance.mean_sm_clock),
    }
    held = all(observed.cap_enforced for observed in made.figures.observed) and not any(
        f.rule == "X101" for f in verdict.findings
    )
    known = find_board(boards[0]["name"])
    assert known is not None
    return Result(
        workload=result["workload"],
        standing=result["standing"],
        system=made.system["name"],
        model=known.id,
        variant=result["implementation"]["variant"],
        precision=result["implementation"]["precision"],
        count=len(boards),
        cap_w=figures["cap_w"],
        comparable=held and head.mfu.mean <= PROTOCOLS[result["protocol"]].max_peak_share,
        numbers=figures,
        bundle=made,
        verdict=verdict,
    )


def printed(paper: Any) -> Iterable[Result]:
    """The rows of a paper, as it prints them."""
    for row in paper["rows"]:
        rate, cap = row[RATE], row["cap_w"]
        known = find_board(row["accelerator"])
        assert known is not None
        joules, per_joule = metrics.energy_at_cap(rate, cap)
        share = metrics.min_peak_share(
            rate, workloads()[row["workload"]].full, known.peak_tflops["bf16"]
        )
        figures = {
            RATE: rate,
            JOULES: joules,
            PER_JOULE: per_joule,
            "cap_w": cap,
            "mfu_percent": 100 * share,
        }
        yield Result(
            workload=row["workload"],
            standing="published",
            system=f"{paper['authors'].split(',')[0]} et al. {paper['year']}",
            model=known.id,
            variant=None,
            precision=None,
            count=None,
            cap_w=cap,
            comparable=row["cap_enforced"] is not False
            and share <= PROTOCOLS["1.0"].max_peak_share,
            numbers=figures | {"node_items_per_joule_assumed": with_node_overhead(rate, cap)},
        )


@dataclass(frozen=True)
class Whole:
    """A page, where it lies, and all results that it is of."""

    page: Element
    tables: Sequence[ReportTable]
    directory: Path
    results: Sequence[Result]

    def of(self, table: ReportTable, row: Mapping[str, Any]) -> Result | None:
        """The result that a row is of; None for a row of several."""
        if bundles := str(row.get("bundle") or "").split():
            path = (self.directory / bundles[0]).resolve()
            return next(
                one for one in self.results if one.verdict and one.verdict.path.resolve() == path
            )
        if row.get("standing") != "published" or table.id == "rack":
            return None
        of = row.get("workload") or table.id.rpartition("-")[0]
        place = (of, row["model"], row["cap_w"])
        (found,) = [
            r for r in self.results if not r.bundle and (r.workload, r.model, r.cap_w) == place
        ]
        return found

    def like(self, one: Result) -> list[Result]:
        """The results that it is compared with, itself too, fastest first."""
        found = [other for other in self.results if other.comparable and other.like == one.like]
        return sorted(found, key=lambda other: -other.numbers[RATE])

    def sweep(self, one: Result) -> list[Result]:
        """The runs that differ from it in their cap only."""
        return [
            other
            for other in self.results
            if other.bundle and submission_key(other.bundle) == submission_key(one.made)
        ]


def alone(whole: Whole, one: Result) -> Numbers:
    return dict(one.numbers)


def compared(whole: Whole, one: Result) -> Numbers:
    base = whole.like(one)[0].numbers
    percent = {
        f"{short}_percent": comparison.relative_percent(one.numbers[key], base[key])
        for short, key in SHORT
    }
    return {**one.numbers, **percent}


SHORT = (("rate", RATE), ("joules", JOULES))


def tuned(whole: Whole, one: Result) -> Numbers:
    alike = (one.system, one.model, one.like[:3], one.count, one.cap_w)
    same = [
        r
        for r in whole.results
        if r.comparable and (r.system, r.model, r.like[:3], r.count, r.cap_w) == alike
    ]
    base = max((r for r in same if r.variant == "baseline"), key=lambda r: r.numbers[RATE])
    found = dict(one.numbers)
    for short, key in SHORT:
        found[f"{short}_percent"] = comparison.relative_percent(one.numbers[key], base.numbers[key])
        found |= {
            f"baseline_{short}{end}": base.numbers[f"{key}{end}"]
            for end in ("", "_low", "_high", "_n")
        }
    return found


def best(by: str) -> "Source":
    key = {"throughput": RATE, "efficiency": PER_JOULE}[by]

    def found(whole: Whole, one: Result) -> Numbers:
        own = [other for other in whole.like(one) if other.cap_w == one.cap_w]
        first = max(own, key=lambda other: other.numbers[key])
        value = {
            f"value{end}": first.numbers.get(f"{key}{end}") for end in ("", "_low", "_high", "_n")
        }
        return {"cap_w": one.cap_w, "n": len(own), **value}

    return found


def scaled(whole: Whole, one: Result) -> Numbers:
    alike = [
        r
        for r in whole.results
        if r.bundle and r.comparable and r.count == 1 and r.like[:4] == one.like[:4]
    ]
    ones = [
        r for r in alike if (r.variant, r.model, r.cap_w) == (one.variant, one.model, one.cap_w)
    ]
    if not ones:
        return dict(one.numbers)
    (on_one,) = sweeps.combine([r.point for r in ones])
    against = sweeps.compute_scaling(one.point, one.count or 0, on_one)
    return {
        **one.numbers,
        "on_one": on_one.items_per_s,
        "speed_up": against.speed_up,
        "efficiency_percent": 100 * against.efficiency,
        "energy_per_item_ratio": against.energy_per_item_ratio,
    }


def default_cap_w(runs: Iterable[Result]) -> float:
    """The default cap of the boards of some bundles."""
    return sweeps.common_default_cap_w(
        cap_w
        for run in runs
        for cap_w in RunDeclaration.from_document(run.made.result).default_caps_w
    )


def swept(whole: Whole, one: Result) -> Numbers:
    runs = whole.sweep(one)
    points = sweeps.combine([r.point for r in runs])
    (own,) = [point for point in points if point.cap_w == one.cap_w]
    against = sweeps.compare(own, sweeps.find_reference(points, default_cap_w(runs)))
    return {
        "cap_w": own.cap_w,
        "in_force_w": one.numbers["in_force_w"],
        "power_w": np.mean([r.numbers["power_w"] for r in runs if r.cap_w == one.cap_w]),
        "items_per_s": own.items_per_s,
        "joules_per_item": own.joules_per_item,
        "items_per_joule": own.items_per_joule,
        "energy_gain_percent": against.energy_gain_percent,
        "performance_loss_percent": against.performance_loss_percent,
        "gain_minus_loss_points": against.gain_minus_loss_percent,
        "edp_js": against.edp_js,
        "edp_gain_percent": against.edp_gain_percent,
        "eds_gain_k15_percent": against.eds_gain_percent[1.5],
        "eds_gain_k2_percent": against.eds_gain_percent[2.0],
        "n": own.n,
    }


def served(whole: Whole, one: Result) -> Numbers:
    assert one.made.figures is not None and one.made.figures.serving is not None
    serving, asked = one.made.figures.serving, one.made.result["settings"]["requests"]
    waits = {
        f"{key}_{p}": getattr(getattr(serving, key), p)
        for key in ("ttft_s", "tpot_s", "latency_s")
        for p in ("p50", "p95", "p99")
    }
    sizes = {key: asked[key] for key in ("prompt_tokens", "output_tokens")}
    return {
        "cap_w": one.cap_w,
        "requests": serving.requests,
        "input_tokens_per_s": serving.input_tokens_per_s,
        **sizes,
        **waits,
    }


def what_if(whole: Whole, one: Result) -> Numbers:
    ranked = [
        r
        for r in whole.results
        if r.comparable and r.standing != "demo" and r.like[:2] == one.like[:2]
    ]
    fastest, highest = (max(r.numbers[key] for r in ranked) for key in (RATE, JOULES))
    scores = {
        id(r): comparison.score(
            r.numbers[JOULES],
            highest,
            100 * r.numbers[RATE] / fastest,
            DEFAULTS.weight,
            DEFAULTS.scaling,
        )
        for r in ranked
    }
    million = comparison.site_kwh(one.numbers[JOULES], 1e6, DEFAULTS.pue)
    year = comparison.site_kwh(
        one.numbers[JOULES], comparison.items_per_year(DEFAULTS.millions_per_day), DEFAULTS.pue
    )
    return {
        "rank": 1 + sum(score > scores[id(one)] for score in scores.values()),
        "score": scores[id(one)],
        RATE: one.numbers[RATE],
        JOULES: one.numbers[JOULES],
        "power_w": one.numbers.get("power_w", one.cap_w),
        "cap_w": one.cap_w,
        "eur_per_million": million * DEFAULTS.price_per_kwh,
        "gco2e_per_million": million * DEFAULTS.gco2e_per_kwh,
        "eur_per_year": year * DEFAULTS.price_per_kwh,
        "kgco2e_per_year": year * DEFAULTS.gco2e_per_kwh / 1e3,
        "accelerators_needed": comparison.accelerators_needed(
            DEFAULTS.millions_per_day, one.numbers[RATE]
        ),
    }


def evidence(whole: Whole, one: Result) -> Numbers:
    return {"n": one.numbers[f"{RATE}_n"], "difference_percent": one.numbers["difference_percent"]}


Source = Callable[[Whole, Result], Numbers]
SOURCES: Mapping[str, Source] = {
    "results": alone,
    "system": alone,
    "power": alone,
    "compare": compared,
    "tuned": tuned,
    "scaling": scaled,
    "sweeps": swept,
    "serving": served,
    "what-if": what_if,
    "evidence": evidence,
}
"""How the numbers of a row come about, by the kind of its table. `best` has two, by what a row is
best in."""


def kind_of(table: ReportTable) -> str:
    """`resnet50-train-demo-trace-1` is a `trace`, `what-if` is one of its own."""
    return table.id if table.id == "what-if" else table.id.rstrip("0123456789-").rpartition("-")[2]
