"""The results of the report: one `ResultRow` per accepted bundle and one per published figure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from checker.directory_names import fold_name
from checker.verdict import Verdict
from reporting.run_record import Provenance, RunRecord, describe_ties
from rules.boards import SIMULATED_PREFIX, find_board
from rules.bundle_findings import is_cap_without_effect
from rules.declarations.run import RunDeclaration
from rules.finding import Finding
from rules.metrics import run as metrics
from rules.metrics.figures import Estimate
from rules.metrics.power.profile import with_node_overhead
from rules.protocol import PROTOCOLS
from rules.settings import SHOWN_SETTINGS
from rules.studies.metrics.naive import RunComparison, compare_run_with_naive, estimate_by_board
from rules.workloads import workloads

PUBLISHED_PRECISION = "bf16"
"""Papers rarely state the precision of a row. The dense bf16 peak is the highest one in use there,
so it flags the fewest rows."""


Comparison = Literal["level", "shape", "none"]
"""What of a published row may be compared (schema `published-1`)."""


@dataclass(frozen=True)
class Figure:
    """A number and its origin. A measured one has a 95 % interval: of a collected row, that within
    the run over `n` epochs; on a page, that of another run on another board, from `n` runs."""

    value: float
    kind: Literal["measured", "printed", "assumed", "bound"]
    """Measured by a bundle, printed in a paper, based on the assumption power = cap, or a lower
    bound."""
    n: int | None = None
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True)
class ControlShare:
    """The power of a run as a share of that of a control run."""

    share: float
    """Mean power of the run over the median power of the control run."""
    median_w: float
    """Median power of the control run, in W per accelerator."""
    run_id: str
    """The control run."""
    is_same_boards: bool
    """Whether it ran on the same accelerators, and not on others of the same kind."""
    node_share: float | None = None
    """The share of the nodes: None unless node meters measured both runs on the same
    accelerators."""
    node_median_w: float | None = None
    """Median power of the nodes in the control run; None without `node_share`."""


@dataclass(frozen=True)
class ResultRow:
    """A result: an accepted bundle or a published figure. Powers are in W per accelerator. None:
    not known or not stated."""

    workload: str
    standing: str
    system: str
    """Name of the system, with the center in parentheses if another center has a system of this
    name; of a published figure, the authors."""
    accelerator: str
    model: str
    """The short name of the board, which selects the colour of a line."""
    cap_w: float | None
    cap_enforced: bool | None
    items_per_s_per_accelerator: Figure
    joules_per_item: Figure | None
    items_per_joule: Figure | None
    mfu: Figure | None
    implausible: str | None
    """Why the throughput is implausible; None if it is plausible."""
    center: str | None = None
    """Directory name of the center that submitted the run."""
    count: int | None = None
    variant: str | None = None
    precision: str | None = None
    batch_size: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The values of `SHOWN_SETTINGS` by key; empty for a published figure."""
    limits_w: tuple[float, ...] = ()
    """The power limits that were read back, each once."""
    mean_power_w: Figure | None = None
    exceeding_power_w: float | None = None
    """Highest mean power of an accelerator that exceeded its cap; None if none did."""
    items_per_s: Figure | None = None
    provenance: Provenance | None = None
    mfu_least: float | None = None
    """The MFU of a measured row that counts only the FLOPs which all ways of counting include, a
    share of 1; None without a peak."""
    paper: str | None = None
    """The id of the paper of a published figure."""
    table: str | None = None
    url: str | None = None
    caution: str | None = None
    comparison: Comparison = "level"
    """What of a published row may be compared with other results: its figures, only the course of
    its series over the cap, or nothing."""
    naive: RunComparison | None = None
    """Measured energy over the naive estimate; None without energy or MFU."""
    control: ControlShare | None = None
    """None without a control run at the same cap."""
    is_of_nodes: bool = False
    """Whether energy, efficiency and power are those of whole nodes, by node meters
    (`reporting/sections/nodes/scope.py`)."""

    @property
    def run(self) -> RunRecord:
        """The record of the run of a submitted row."""
        assert self.provenance is not None, "a published figure has no run"
        return self.provenance.run

    @property
    def comparable(self) -> bool:
        """Whether the row counts within its own series over the cap: its cap is not known to have
        failed, its throughput is plausible, and its caution does not forbid all comparison."""
        return (
            self.cap_enforced is not False
            and self.implausible is None
            and self.comparison != "none"
        )

    @property
    def may_win(self) -> bool:
        """Whether the row may be compared with other series, ranked, and be a winner or a
        baseline. All places of the report that choose a result ask this."""
        return self.comparable and self.withheld is None

    @property
    def items_per_joule_with_node_share(self) -> float | None:
        """Items/J with the power that Mayr et al. 2026 assume for the rest of the node; None if no
        power and no cap is known, and where the power of the node was measured."""
        power_w = self.mean_power_w.value if self.mean_power_w else self.cap_w
        if power_w is None or (self.provenance and self.provenance.run.node):
            return None
        return with_node_overhead(self.items_per_s_per_accelerator.value, power_w)

    @property
    def withheld(self) -> str | None:
        """Why a plausible row that held its cap is excluded from rankings; None if it is not."""
        if self.standing == "control":
            return "a control run, which is compared with no result"
        if self.comparison == "none":
            return "not compared: see the note on the published figure"
        if self.comparison == "shape":
            return "only the shape of the series is compared: see the note on the published figure"
        if self.provenance and self.provenance.original:
            ties = describe_ties(self.provenance.ties)
            return f"reproduces {self.provenance.original}{ties}, and is no result of its own"
        if self.provenance and self.provenance.newer:
            return f"older recipe of the implementation than {self.provenance.newer}"
        if self.provenance and self.provenance.bars:
            finding = self.provenance.bars[0]
            return f"not reviewed yet ({finding.rule}): {finding.found}"
        return None

    @property
    def doubt(self) -> str | None:
        """Why the cap is not known to have held; None if there is no doubt."""
        if self.cap_enforced is not False:
            return None
        findings = self.provenance.findings if self.provenance else ()
        effect_reason = ""
        if is_cap_without_effect(findings):
            effect_reason = "a higher cap gives the same throughput and power"
        if self.exceeding_power_w is not None:
            second_reason = f"; {effect_reason}" if effect_reason else ""
            return (
                f"The cap of {self.cap_w:g} W did not hold: "
                f"mean power was {self.exceeding_power_w:.1f} W{second_reason}."
            )
        if effect_reason:
            return f"The cap of {self.cap_w:g} W is not shown to be in force: {effect_reason}."
        return f"The cap of {self.cap_w:g} W did not hold."


def build_submitted_row(run: RunRecord, verdict: Verdict) -> ResultRow:
    """The row of an accepted bundle, with the figures recomputed from its raw tables."""
    declaration, headline = run.declaration, run.headline
    names = sorted({accelerator.name for accelerator in run.accelerators})
    mfu = _make_optional_figure(headline.mfu)
    peak = metrics.peak_flops(declaration, run.system)
    precision = declaration.implementation.precision
    is_demo_work = declaration.standing == "demo" and run.is_simulated
    exceeds_peak = (
        mfu is not None and peak is not None and mfu.value > PROTOCOLS[run.protocol].max_peak_share
    )
    return ResultRow(
        workload=declaration.workload,
        standing=declaration.standing,
        system=run.system.name,
        accelerator=", ".join(names),
        model=_get_model(run),
        center=verdict.path.resolve().parent.parent.name,
        count=len(run.accelerators),
        variant=declaration.implementation.variant,
        precision=precision,
        batch_size=declaration.settings.batch_size,
        settings={setting.key: setting.read(declaration) for setting, _ in SHOWN_SETTINGS},
        cap_w=declaration.power.cap_w,
        limits_w=run.limits_w,
        mean_power_w=_make_figure(headline.mean_power_w_per_accelerator),
        # A bundle with several accelerators names the worst one.
        exceeding_power_w=max(
            (o.mean_power_w for o in run.observed if o.cap_enforced is False), default=None
        ),
        cap_enforced=_is_cap_held([o.cap_enforced for o in run.observed], verdict.findings),
        items_per_s_per_accelerator=_make_figure(headline.items_per_s_per_accelerator),
        items_per_s=_make_figure(headline.items_per_s),
        joules_per_item=_make_optional_figure(headline.joules_per_item),
        items_per_joule=_make_optional_figure(headline.items_per_joule),
        # The FLOPs of simulated work are those of the smoke size, so its MFU means nothing.
        mfu=None if is_demo_work else mfu,
        mfu_least=None
        if mfu is None or is_demo_work
        else mfu.value * _least_flops_share(declaration),
        naive=None if is_demo_work else _compare_with_naive(run, names),
        implausible=explain_excess(mfu.value, peak / 1e12, precision)
        if exceeds_peak and mfu and peak
        else None,
        provenance=_make_provenance(run, verdict),
    )


def _make_provenance(run: RunRecord, verdict: Verdict) -> Provenance:
    reproductions = (*verdict.reproductions, verdict.reproduces)
    ties = (tie for r in reproductions if r and r.agrees for tie in r.shared)
    original = verdict.reproduces.original if verdict.reproduces else None
    return Provenance(
        run,
        verdict.signer,
        tuple(verdict.findings),
        verdict.reviewers,
        verdict.rejecters,
        verdict.accepted,
        verdict.reproducers,
        verdict.findings_that_bar_winning,
        Path(*original.parts[-3:]).as_posix() if original else None,
        ties=tuple(dict.fromkeys(ties)),
        manifest_sha256=verdict.manifest_sha256,
        trust_level=verdict.trust_level,
    )


def _compare_with_naive(run: RunRecord, names: Sequence[str]) -> RunComparison | None:
    """Compare a run on boards of one kind, with these names, with the naive estimate."""
    board = run.accelerators[0].board
    if board is None or len(names) > 1:
        return None
    estimate = estimate_by_board(board, run.declaration.implementation.precision)
    return None if estimate is None else compare_run_with_naive(run.headline, estimate)


def _least_flops_share(run: RunDeclaration) -> float:
    size = workloads()[run.workload].size(run.size, run.implementation.variant)
    return (size.min_flops_per_item or size.flops_per_item) / size.flops_per_item


def name_centers(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """The rows, with the center in the name of each system that readers could take for one of
    another center: two centers use the name, apart from case, blanks and the form of characters, or
    it has parentheses, which look like the name of a center."""
    centers_by_form: dict[str, set[str | None]] = {}
    for row in rows:
        centers_by_form.setdefault(_fold_system(row.system), set()).add(row.center)
    return [
        replace(row, system=f"{row.system} ({row.center})")
        if row.center
        and ("(" in fold_name(row.system) or len(centers_by_form[_fold_system(row.system)]) > 1)
        else row
        for row in rows
    ]


def find_shared_words(rows: Sequence[ResultRow]) -> str:
    """The last words that the names of all systems share, two or more; empty without them, and
    where a name has no other words."""
    names = {_split_center(row.system)[0] for row in rows if row.provenance}
    words = [name.split() for name in names]
    shared: list[str] = []
    for group in zip(*(reversed(split) for split in words), strict=False):
        if len(set(group)) > 1:
            break
        shared.insert(0, group[0])
    is_whole = any(len(split) <= len(shared) for split in words)
    return "" if len(names) < 2 or len(shared) < 2 or is_whole else " ".join(shared)


def drop_shared_words(rows: Sequence[ResultRow], shared: str) -> list[ResultRow]:
    """The rows, without the last words that the names of all systems share."""
    return [
        replace(row, system=name.removesuffix(f" {shared}") + center)
        if row.provenance and shared
        else row
        for row in rows
        for name, center in [_split_center(row.system)]
    ]


def _split_center(system: str) -> tuple[str, str]:
    """The name of a system, and its center in parentheses behind a blank, if `name_centers` added
    it."""
    name, separator, center = system.rpartition(" (")
    return (name, separator + center) if separator and system.endswith(")") else (system, "")


def _fold_system(name: str) -> str:
    return " ".join(fold_name(name).split())


def name_submitted_line(row: ResultRow) -> str:
    """The configuration that all caps of a submitted line share."""
    precision = "" if row.precision == row.variant else f" {row.precision}"
    settings = "".join(f" · {value} {unit}" for value, unit in list_stated_settings(row))
    return f"{row.system}{format_accelerator_count(row)} · {row.variant}{precision}{settings}"


def list_stated_settings(row: ResultRow) -> Iterator[tuple[Any, str]]:
    """The values of `SHOWN_SETTINGS` that a run states, with their units."""
    for setting, _ in SHOWN_SETTINGS:
        if (value := row.settings.get(setting.key)) is not None:
            yield value, setting.unit


def format_accelerator_count(row: ResultRow) -> str:
    """The number of accelerators for a label, with a multiplication sign; empty for one."""
    return f" \u00d7 {row.count}" if row.count and row.count > 1 else ""


def sort_results(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Sort submitted rows by throughput per accelerator, highest first. Rows excluded from
    comparison come last."""
    return sorted(
        rows, key=lambda r: (not r.may_win, -r.items_per_s_per_accelerator.value, r.system)
    )


def _is_cap_held(enforced: Sequence[bool | None], findings: Sequence[Finding]) -> bool | None:
    """Whether the cap held on every accelerator and had an effect; None if it is not known of
    one of them."""
    # A cap that read back as set may still limit nothing. Only the comparison with other runs shows
    # that.
    if False in enforced or is_cap_without_effect(findings):
        return False
    return None if None in enforced else True


def _make_figure(estimate: Estimate) -> Figure:
    return Figure(estimate.mean, "measured", estimate.n, estimate.ci95)


def _make_optional_figure(estimate: Estimate | None) -> Figure | None:
    return None if estimate is None else _make_figure(estimate)


def _get_model(run: RunRecord) -> str:
    """The board of a run; of several, the first by name."""
    first = min(run.accelerators, key=lambda accelerator: accelerator.name)
    return first.board.id if first.board else first.name.removeprefix(SIMULATED_PREFIX)


def get_board_id(name: str) -> str:
    known_board = find_board(name)
    # A simulated board has the colour of the board that it simulates.
    return known_board.id if known_board else name.removeprefix(SIMULATED_PREFIX)


def explain_excess(share: float, peak_tflops: float, precision: str) -> str:
    return f"exceeds the peak: {share * 100:.0f} % of {peak_tflops:.0f} TFLOP/s dense {precision}"
