"""Results computed again from the raw tables of a bundle or from the printed row of a paper. No
arithmetic of `reporting` takes part.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from checker.verdict import Verdict
from rules.boards import find_board
from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.bundle_format.load import read_evidence
from rules.metrics import run as metrics
from rules.metrics.activity import compute_activity
from rules.metrics.figures import EpochFigures, Estimate, Headline, RunFigures
from rules.metrics.imbalance import Imbalance, compute_imbalance
from rules.metrics.power.profile import spread, with_node_overhead
from rules.metrics.run import mean_clocks
from rules.metrics.sweeps.points import Point
from rules.metrics.uncertainty.propagation import estimate_spread_within_run
from rules.metrics.uncertainty.within_run import describe_epochs
from rules.protocol import PROTOCOLS
from rules.workloads import workloads

RATE, JOULES, PER_JOULE = "items_per_s_per_accelerator", "joules_per_item", "items_per_joule"

Numbers = dict[str, Any]
"""The numbers of a row by the key of their column."""


@dataclass(frozen=True)
class Result:
    """A run or a printed row, and its figures as `rules` computes them."""

    workload: str
    standing: str
    system: str
    model: str
    variant: str | None
    precision: str | None
    count: int | None
    cap_w: float
    comparable: bool
    may_win: bool
    """Whether it may be compared with results of other series."""
    numbers: Mapping[str, Any]
    """The figures that follow from this result alone, by the key of their column."""
    within_limits: bool = True
    """Of a printed row, whether the cap held and the throughput is possible."""
    forbids_comparison: bool = False
    """Of a printed row, whether its caution forbids the comparison with any other."""
    has_older_recipe: bool = False
    bundle: Bundle | None = None
    verdict: Verdict | None = None

    @property
    def comparison_key(self) -> tuple[object, ...]:
        """The properties that two results must share to be compared."""
        return (
            self.workload,
            self.standing,
            self.precision,
            self.count,
        )

    @property
    def center(self) -> str:
        """The directory name of the center of a run."""
        assert self.verdict is not None
        return self.verdict.path.parent.parent.name

    @property
    def loaded_bundle(self) -> Bundle:
        """The bundle of a run; a printed row has none."""
        assert self.bundle is not None
        return self.bundle

    @property
    def loaded_figures(self) -> RunFigures:
        figures = self.loaded_bundle.figures
        assert figures is not None
        return figures

    @cached_property
    def point(self) -> Point:
        """A printed row has throughput per accelerator alone."""
        numbers = self.numbers
        if self.bundle is None:
            return Point(self.cap_w, numbers[RATE], numbers[JOULES], self.within_limits)
        return Point(
            self.cap_w,
            numbers["items_per_s"],
            numbers[JOULES],
            self.comparable,
            spread=estimate_spread_within_run(describe_epochs(self.loaded_figures).headline),
        )


def list_estimate_columns(key: str, estimate: Estimate | None) -> Numbers:
    if estimate is None:
        return {key: None}
    low, high = estimate.ci95 or (None, None)
    return {key: estimate.mean, f"{key}_low": low, f"{key}_high": high, f"{key}_n": estimate.n}


def convert_to_percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def list_interval_columns(headline: Headline, epochs: Sequence[EpochFigures]) -> Numbers:
    """List the figures of a run that have an interval within the run."""
    estimates = {
        RATE: headline.items_per_s_per_accelerator,
        JOULES: headline.joules_per_item,
        PER_JOULE: headline.items_per_joule,
        "power_w": headline.mean_power_w_per_accelerator,
        **vars(mean_clocks(epochs)),
    }
    numbers: Numbers = {}
    for key, estimate in estimates.items():
        numbers |= list_estimate_columns(key, estimate)
    return numbers


def recompute_activity(bundle: Bundle) -> Numbers:
    """Compute how active the accelerators of a run were and how far they are apart."""
    assert bundle.figures is not None
    activity = compute_activity(
        bundle.declaration, bundle.scored_parts, bundle.spans, bundle.figures.energy_of_record
    )
    imbalance = compute_imbalance(bundle.figures.epochs) or Imbalance(None, None, None)
    return {
        "active_apart_percent": convert_to_percent(imbalance.active_time),
        "power_apart_percent": convert_to_percent(imbalance.mean_power),
        "sm_apart_percent": convert_to_percent(imbalance.mean_sm_clock),
        "max_60s_w": activity.max_60s_power_w,
        "active_percent": 100 * activity.active_share,
        "utilisation_percent": activity.utilisation_percent,
        "run_s": activity.run_s,
        "run_kj": activity.run_energy_j / 1e3,
    }


def recompute_naive_ratio(headline: Headline, max_power_w: float) -> Numbers:
    """Compute measured J per item as a multiple of the estimate by peak rate and peak power."""
    assert headline.mfu is not None
    scale = headline.items_per_s_per_accelerator.mean / (headline.mfu.mean * max_power_w)
    return {
        key.replace(JOULES, "over_naive"): value if key.endswith("_n") else scale * value
        for key, value in list_estimate_columns(JOULES, headline.joules_per_item).items()
    }


def recompute_achieved_rate(headline: Headline, peak_tflops: float) -> Numbers:
    """Compute the achieved TFLOP/s of an accelerator as a share of its peak."""
    assert headline.mfu is not None
    return {"peak_tflops": peak_tflops, "achieved_tflops": headline.mfu.mean * peak_tflops}


def recompute_bundle(verdict: Verdict) -> Result:
    """Compute the figures of a bundle from its raw tables."""
    evidence, problems = read_evidence(read_files(verdict.path))
    bundle = Bundle(verdict.path, (), evidence)
    assert not problems and bundle.figures is not None
    result, headline = bundle.result, describe_epochs(bundle.figures).headline
    boards = [
        a
        for node in bundle.system["nodes"]
        for a in node["accelerators"]
        if a["uuid"] in bundle.accelerator_ranks
    ]
    size = workloads()[result["workload"]].size(result["size"], bundle.variant)
    least_flops_share = (size.min_flops_per_item or size.flops_per_item) / size.flops_per_item
    simulated = result["implementation"]["settings"].get("simulated")
    figures: Numbers = {
        "cap_w": result["power"]["cap_w"],
        "batch": result["settings"]["batch_size"],
        "count": len(boards),
        **list_interval_columns(headline, bundle.figures.epochs),
    }
    counter, trapezoid = headline.energy_j_counter, headline.energy_j_trapezoid
    assert counter is not None and headline.mfu is not None
    enforced_w = sorted({r["enforced_mw"] / 1e3 for r in result["readbacks"]})
    figures |= vars(spread(bundle.scored_samples.floats("power_mw") / 1e3)) | {
        "items_per_s": headline.items_per_s.mean,
        "mfu_percent": None if simulated else headline.mfu.mean * 100,
        "mfu_least_percent": None if simulated else headline.mfu.mean * 100 * least_flops_share,
        "node_items_per_joule_assumed": with_node_overhead(figures[RATE], figures["power_w"]),
        "rated_w": max(a["max_power_w"] for a in boards),
        "in_force_w": ", ".join(f"{w:g}" for w in enforced_w),
        "sensor_term_percent": 100 * abs(trapezoid.mean - counter.mean) / counter.mean,
        "difference_percent": 100 * metrics.relative_difference(counter.mean, trapezoid.mean),
        **recompute_activity(bundle),
    }
    board = find_board(boards[0]["name"])
    assert board is not None and board.max_power_w is not None
    if not simulated:
        figures |= recompute_naive_ratio(headline, board.max_power_w)
        peak_tflops = board.peak_tflops[result["implementation"]["precision"]]
        figures |= recompute_achieved_rate(headline, peak_tflops)
        figures["highest_power_w"] = board.max_power_w
    cap_enforced = all(observed.cap_enforced for observed in bundle.figures.observed) and not any(
        f.rule == "X101" for f in verdict.findings
    )
    comparable = cap_enforced and headline.mfu.mean <= PROTOCOLS[result["protocol"]].max_peak_share
    return Result(
        workload=result["workload"],
        standing=result["standing"],
        system=bundle.system["name"],
        model=board.id,
        variant=result["implementation"]["variant"],
        precision=result["implementation"]["precision"],
        count=len(boards),
        cap_w=figures["cap_w"],
        comparable=comparable,
        may_win=comparable and not verdict.findings_that_bar_winning and verdict.reproduces is None,
        numbers=figures,
        bundle=bundle,
        verdict=verdict,
    )


def withhold_older_recipes(runs: Sequence[Result]) -> list[Result]:
    """The runs, of which those with an older recipe than another run of their kind win nothing."""

    def read_kind(run: Result) -> tuple[object, ...]:
        assert run.verdict is not None
        place, batch = run.verdict.path.parent, run.numbers["batch"]
        return place, run.workload, run.variant, run.precision, batch, run.count, run.cap_w

    def read_recipe(run: Result) -> list[object]:
        settings = run.loaded_bundle.result["implementation"]["settings"]
        return [settings.get(name) for name in ("fp8_linear", "group_norm", "kernel_tuning")]

    by_start = sorted(runs, key=lambda run: str(run.loaded_bundle.result["started_at"]))
    newest = {read_kind(run): run for run in by_start}
    return [
        run
        if read_recipe(run) == read_recipe(newest[read_kind(run)])
        else replace(run, may_win=False, has_older_recipe=True)
        for run in runs
    ]


def read_paper(paper: Any) -> Iterable[Result]:
    """Read the rows of a paper as results."""
    for row in paper.get("rows", []):
        rate, cap_w = row[RATE], row["cap_w"]
        board = find_board(row["accelerator"])
        assert board is not None
        joules, per_joule = metrics.energy_at_cap(rate, cap_w)
        share = metrics.min_peak_share(
            rate, workloads()[row["workload"]].full, board.peak_tflops["bf16"]
        )
        figures = {
            RATE: rate,
            JOULES: joules,
            PER_JOULE: per_joule,
            "cap_w": cap_w,
            "mfu_percent": 100 * share,
        }
        within_limits = (
            row["cap_enforced"] is not False and share <= PROTOCOLS["1.0"].max_peak_share
        )
        comparable = within_limits and row.get("comparison") != "none"
        yield Result(
            workload=row["workload"],
            standing="published",
            system=f"{paper['authors'].split(',')[0]} et al. {paper['year']}",
            model=board.id,
            variant=None,
            precision=None,
            count=None,
            cap_w=cap_w,
            comparable=comparable,
            may_win=comparable and "comparison" not in row,
            numbers=figures | {"node_items_per_joule_assumed": with_node_overhead(rate, cap_w)},
            within_limits=within_limits,
            forbids_comparison=row.get("comparison") == "none",
        )
