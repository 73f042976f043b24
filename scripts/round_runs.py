"""The committed runs, and the tables on them that `scripts/round_pages.py` writes into docs/.

Figures are recomputed from the evidence by the rule book of today. Intervals are those within a run
(`rules.metrics.uncertainty.within_run`). What another run or another board gives is not in them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

import numpy as np

from rules.boards import find_board
from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.bundle_format.load import read_evidence
from rules.bundle_format.records import Evidence
from rules.metrics.figures import Estimate, Headline, Percentiles, RunFigures
from rules.metrics.run import as_defined, mean_clocks
from rules.metrics.uncertainty.within_run import describe_epochs
from rules.run_summary import read_configuration
from rules.workloads import workloads

NONE = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class CommittedRun:
    """A run of a round."""

    bundle: Bundle

    @cached_property
    def figures(self) -> RunFigures:
        assert self.bundle.figures is not None, f"{self.bundle.path}: {self.bundle.figures_error}"
        return self.bundle.figures

    @cached_property
    def headline(self) -> Headline:
        """The figures with their intervals within the run."""
        return describe_epochs(self.figures).headline

    @cached_property
    def configuration(self) -> dict[str, object]:
        """What decides the performance of the run, by name."""
        return read_configuration(self.bundle)

    @property
    def workload(self) -> str:
        return self.bundle.declaration.workload

    @property
    def started_at(self) -> str:
        return self.bundle.declaration.started_at

    @property
    def accelerators(self) -> int:
        return self.bundle.settings.accelerators

    @property
    def is_control(self) -> bool:
        return self.bundle.standing == "control"

    @cached_property
    def kind(self) -> str:
        """The short name of the kind of board."""
        name = self.bundle.listed_accelerators[0].name
        board = find_board(name)
        return board.id if board else name

    @cached_property
    def board(self) -> str:
        """The kind of board, and the first digits of the UUID of each."""
        uuids = sorted(self.bundle.accelerator_ranks)
        digits = ", ".join(uuid.removeprefix("GPU-")[:4] for uuid in uuids)
        return f"{self.kind} `{digits}`"

    @cached_property
    def comparable(self) -> tuple[object, ...]:
        """Equal for runs that differ in recipe, board, time and version of the protocol at most."""
        left_out = ("recipe", "protocol")
        named = {name: value for name, value in self.configuration.items() if name not in left_out}
        return (self.bundle.cap_w, *named.values())

    @property
    def setting(self) -> tuple[object, ...]:
        """Equal for runs that differ in board, time and version of the protocol at most."""
        return (*self.comparable, self.configuration["recipe"])

    @cached_property
    def order(self) -> tuple[object, ...]:
        """Workloads and variants as they are defined, then kind of board, batch, cap and time."""
        variants = [*workloads()[self.workload].variants, self.bundle.variant]
        return (
            list(workloads()).index(self.workload),
            variants.index(self.bundle.variant),
            self.kind,
            str(self.configuration["options"]),
            self.bundle.batch_size,
            self.bundle.cap_w or 0.0,
            self.started_at,
        )


def read_runs(submissions: Path) -> list[CommittedRun]:
    """The runs of a round in the order of the tables, without studies."""
    bundles = []
    for path in sorted(path.parent for path in submissions.rglob("result.json")):
        evidence, problems = read_evidence(read_files(path))
        assert isinstance(evidence, Evidence), f"{path}: {problems[0].violation.found}"
        bundles.append(CommittedRun(Bundle(path, (), evidence)))
    return sorted(bundles, key=lambda run: run.order)


def find_older(runs: Sequence[CommittedRun]) -> set[Path]:
    """The bundles of runs whose recipe is older than that of another run of their setting."""
    newest: dict[tuple[object, ...], CommittedRun] = {}
    for run in sorted(runs, key=lambda run: run.started_at):
        newest[run.comparable] = run
    return {
        run.bundle.path
        for run in runs
        if newest[run.comparable].configuration["recipe"] != run.configuration["recipe"]
    }


def format_number(value: float, digits: int = 4) -> str:
    """Four significant digits or all whole ones, with spaces between thousands."""
    magnitude = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    if magnitude:
        return f"{value:,.{max(digits - magnitude, 0)}f}".replace(",", " ")
    return f"{value:#.{digits}g}"


def format_interval(estimate: Estimate) -> str:
    """A throughput with its interval."""
    digits = 1 if estimate.mean >= 1000 else 2
    texts = [
        f"{value:,.{digits}f}".replace(",", " ")
        for value in (estimate.mean, *(estimate.ci95 or ()))
    ]
    return f"{texts[0]} ({texts[1]}\N{EN DASH}{texts[2]})" if len(texts) > 1 else texts[0]


def describe_variant(run: CommittedRun, older: set[Path]) -> str:
    """The variant with what sets it apart from the workload as defined."""
    requests, size = run.bundle.request_set, run.bundle.size
    options = dict(run.bundle.settings.options or {})
    clock_mhz, host_load = run.configuration["SM clock in MHz"], run.configuration["host load"]
    marks = [run.bundle.precision]
    if run.bundle.standing == "open":
        marks.append("open")
    marks += [f"{name}={value}" for name, value in sorted(options.items())]
    if requests and size and not as_defined(requests, size):
        marks.append(f"{requests.prompt_tokens} + {requests.output_tokens} tokens")
    if clock_mhz:
        marks.append(f"clock locked at {clock_mhz} MHz")
    if host_load:
        marks.append(f"beside {host_load}")
    if run.bundle.path in older:
        marks.append("older recipe")
    return f"{run.bundle.variant} ({', '.join(marks)})"


def render_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def list_figures(run: CommittedRun) -> tuple[str, ...]:
    """W per accelerator, J/item, items/J and MFU of a run."""
    headline = run.headline
    assert headline.joules_per_item is not None and headline.items_per_joule is not None
    return (
        f"{headline.mean_power_w_per_accelerator.mean:.1f}",
        format_number(headline.joules_per_item.mean),
        format_number(headline.items_per_joule.mean),
        f"{100 * headline.mfu.mean:.1f} %" if headline.mfu else NONE,
    )


def format_clock(run: CommittedRun) -> str:
    clock = mean_clocks(run.figures.epochs).sm_mhz
    return f"{clock.mean:,.0f} MHz".replace(",", " ") if clock else NONE


def render_single_results(runs: Sequence[CommittedRun]) -> str:
    """A row for each run on one accelerator, control runs left out."""
    older = find_older(runs)
    heads = "workload | variant | batch | board | cap, W | items/s | W | J/item | items/J | MFU"
    rows = [
        (
            run.workload,
            describe_variant(run, older),
            f"{run.bundle.batch_size}",
            run.board,
            f"{run.bundle.cap_w:g}" if run.bundle.cap_w else NONE,
            format_interval(run.headline.items_per_s),
            *list_figures(run),
            format_clock(run),
        )
        for run in runs
        if run.accelerators == 1 and not run.is_control
    ]
    return render_table([*heads.split(" | "), "SM clock"], rows)


def render_scaling(runs: Sequence[CommittedRun]) -> str:
    """A row for each run on several accelerators, control runs left out."""
    older = find_older(runs)
    heads = "workload | variant | batch | boards | items/s in total | per board"
    rows = [
        (
            run.workload,
            describe_variant(run, older),
            f"{run.bundle.batch_size}",
            run.board,
            format_interval(run.headline.items_per_s),
            format_number(run.headline.items_per_s_per_accelerator.mean, 5),
            *list_figures(run),
        )
        for run in runs
        if run.accelerators > 1 and not run.is_control
    ]
    return render_table([*heads.split(" | "), "W per board", "J/item", "items/J", "MFU"], rows)


def render_control_runs(runs: Sequence[CommittedRun]) -> str:
    heads = (
        "precision | inputs | boards | TFLOP/s in total | W per board | J/TFLOP | TFLOP/J | MFU | "
        "SM clock (5 to 95 %), MHz | samples that name the cap"
    )
    rows = [
        (
            run.bundle.precision,
            run.bundle.settings.options.get("input", "normal"),
            run.board,
            format_interval(run.headline.items_per_s),
            *list_figures(run),
            *describe_clock_limit(run),
        )
        for run in runs
        if run.is_control
    ]
    return render_table(heads.split(" | "), rows)


def describe_clock_limit(run: CommittedRun) -> tuple[str, str]:
    """The range of the SM clock under load, and the share of samples that name the power cap as its
    limit, over all boards of the run."""
    clocks_mhz = np.concatenate([series.sm_mhz[series.load] for series in run.bundle.series])
    ends_mhz = np.nanquantile(clocks_mhz, (0.05, 0.95))
    low, high = (f"{mhz:,.0f}".replace(",", " ") for mhz in ends_mhz)
    named = fmean(series.capped_share for series in run.bundle.series)
    return low if low == high else f"{low} to {high}", f"{named:.1%}".replace("%", " %")


def render_serving(runs: Sequence[CommittedRun]) -> str:
    """A row for each serving run on one accelerator."""
    older = find_older(runs)
    heads = (
        "variant | in flight | board | tokens/s | per user, tokens/s | J/token | "
        "time to first token, s | time per output token, ms | latency, s"
    )
    rows = []
    for run in runs:
        serving = run.figures.serving
        if serving and run.accelerators == 1:
            cells = (
                describe_variant(run, older),
                f"{run.bundle.batch_size}",
                run.board,
                format_number(run.headline.items_per_s.mean, 5),
                format_number(1 / serving.tpot_s.p50, 3),
                list_figures(run)[1],
                format_percentiles(serving.ttft_s, 1),
                format_percentiles(serving.tpot_s, 1e3),
                format_percentiles(serving.latency_s, 1),
            )
            rows.append(cells)
    return render_table(heads.split(" | "), rows)


def format_percentiles(percentiles: Percentiles, factor: float) -> str:
    values = (percentiles.p50, percentiles.p95, percentiles.p99)
    return ", ".join(format_number(factor * value, 3) for value in values)


def render_board_ratios(runs: Sequence[CommittedRun]) -> str:
    """Runs against other runs on the same board: no difference between boards is in the ratio.

    The reference on a board is the mean of its runs in the setting that most boards have, of those
    of the variant `tuned`. Boards without such a run are left out.
    """
    older = find_older(runs)
    by_setting: dict[tuple[object, ...], set[str]] = defaultdict(set)
    by_board: dict[tuple[str, str], list[CommittedRun]] = defaultdict(list)
    for run in runs:
        if run.accelerators == 1 and not run.is_control:
            (uuid,) = run.bundle.accelerator_ranks
            by_setting[run.setting].add(uuid)
            by_board[run.workload, uuid].append(run)
    heads = "workload | board | run | against | items/s | J/item"
    rows = []
    for (workload, _), on_board in by_board.items():
        tuned = [run for run in on_board if run.bundle.variant == "tuned"]
        if not tuned:
            continue
        # Of settings on equally many boards, that at the highest cap.
        reference = max(
            tuned,
            key=lambda run: (len(by_setting[run.setting]), run.bundle.cap_w or 0.0, run.order),
        )
        for cells in list_ratios(on_board, reference, older):
            rows.append((workload, reference.board, *cells))
    return render_table(heads.split(" | "), rows)


def list_ratios(
    on_board: Sequence[CommittedRun], reference: CommittedRun, older: set[Path]
) -> Iterator[tuple[str, ...]]:
    """Name, reference and differences in % of the runs on a board in other settings."""
    means = mean_figures([run for run in on_board if run.setting == reference.setting])
    for run in on_board:
        if run.setting != reference.setting:
            own = mean_figures([run])
            changes = [100 * (own[n] / means[n] - 1) for n in range(2)]
            yield (
                name_setting(run, older, reference),
                name_setting(reference, older, run),
                *(f"{change:+.1f} %".replace("-", MINUS) for change in changes),
            )


def mean_figures(runs: Sequence[CommittedRun]) -> tuple[float, float]:
    """Items/s and J/item as means over runs."""
    energies = [run.headline.joules_per_item for run in runs]
    return (
        fmean(run.headline.items_per_s.mean for run in runs),
        fmean(energy.mean for energy in energies if energy),
    )


def name_setting(run: CommittedRun, older: set[Path], other: CommittedRun) -> str:
    """Variant and batch size, and the cap where the other run has another one."""
    cap_w = run.bundle.cap_w
    cap = f", {cap_w:g} W" if cap_w is not None and cap_w != other.bundle.cap_w else ""
    return f"{describe_variant(run, older)}, batch {run.bundle.batch_size}{cap}"
