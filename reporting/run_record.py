"""What a report keeps of an accepted bundle: small enough that one process holds a thousand.

Its declarations are typed records of the documents, without epochs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.verdict import TrustLevel
from reporting.traces import summarize_power
from rules.bundle import Bundle
from rules.contract import RequestSet
from rules.declarations.run import RunDeclaration
from rules.declarations.system import Accelerator, EnvironmentDeclaration, SystemDeclaration
from rules.finding import Finding
from rules.metrics import run as metrics
from rules.metrics.activity import Activity, compute_activity
from rules.metrics.figures import (
    EnergySource,
    Headline,
    MeanClocks,
    ObservedPower,
    ServingFigures,
)
from rules.metrics.figures_json import idle_from_json
from rules.metrics.idle import IdleSummary, summarize_idle
from rules.metrics.imbalance import Imbalance, compute_imbalance
from rules.metrics.node.figures import NodeHeadline
from rules.metrics.power.profile import PowerSpread
from rules.metrics.target import TargetFigures, compute_target_figures
from rules.metrics.uncertainty.within_run import (
    NodesWithinRun,
    WithinRun,
    describe_epochs,
    describe_node_epochs,
)
from rules.run_summary import SubmissionKey, submission_key
from rules.workloads import workloads


@dataclass(frozen=True)
class SystemFacts:
    """What system.json and environment.json state. None or empty: not stated."""

    site: str
    category: str
    cpus: tuple[str, ...]
    """One text per node, with the number of cores."""
    memories_gib: tuple[float, ...]
    """One value per node."""
    interconnect: str | None
    cooling: str | None
    driver: str | None
    software: str


@dataclass(frozen=True)
class RunRecord:
    """The documents of an accepted bundle without their epochs, and the recomputed figures."""

    path: Path
    kind: SubmissionKey
    """What all runs of one sweep have in common (`rules.run_summary.submission_key`)."""
    accelerators: tuple[Accelerator, ...]
    """The accelerators that belong to a rank, in the order of system.json."""
    declaration: RunDeclaration
    system: SystemDeclaration
    environment: EnvironmentDeclaration
    within_run: WithinRun
    """The headline with intervals within the run, and how its epochs vary."""
    observed: Sequence[ObservedPower]
    energy_of_record: EnergySource
    serving: ServingFigures | None
    imbalance: Imbalance | None
    """None if there is one accelerator."""
    clocks: MeanClocks
    spread: PowerSpread | None
    """Of the power readings in scored epochs; None without any."""
    activity: Activity
    nodes_within_run: NodesWithinRun | None
    """What node meters measured; None without figures of nodes."""
    node_spread: PowerSpread | None
    """Of the power of all nodes together on a grid of 1 s; None without figures of nodes."""
    idle: IdleSummary | None
    """Idle power and preparation; None if the run did not record them."""
    to_target: TargetFigures | None = None
    """None unless the items of the run are whole trainings."""

    @property
    def headline(self) -> Headline:
        return self.within_run.headline

    @property
    def node(self) -> NodeHeadline | None:
        return self.nodes_within_run.headline if self.nodes_within_run else None

    @property
    def run_id(self) -> str:
        return self.declaration.run_id

    @property
    def protocol(self) -> str:
        return self.declaration.protocol

    @property
    def rules_version(self) -> str:
        """The version of the rule book at the time of the run."""
        return self.declaration.rules_version

    @property
    def is_simulated(self) -> bool:
        """Whether the work was simulated. The throughput then is that of the full size, but the
        FLOPs are counted for the smoke size (`harness/simulation/work.py`)."""
        # The settings of an implementation are free, so an absent key means a real run.
        return bool(self.declaration.implementation.settings.get("simulated"))

    @property
    def rate_unit(self) -> str:
        """The unit of the throughput, such as `images/s`."""
        return workloads()[self.declaration.workload].rate_unit(self.declaration.size)

    @property
    def limits_w(self) -> tuple[float, ...]:
        """The power limits that were read back, each once, in ascending order."""
        limits_mw = {readback.enforced_mw for readback in self.declaration.readbacks}
        return tuple(sorted(limit_mw / 1e3 for limit_mw in limits_mw if limit_mw is not None))

    @property
    def requests(self) -> RequestSet | None:
        """The requests that a server received; None if the run served none."""
        return self.declaration.settings.requests

    @property
    def system_facts(self) -> SystemFacts:
        system, environment = self.system, self.environment
        return SystemFacts(
            site=system.site,
            category=system.category,
            cpus=tuple(f"{node.cpu}, {node.cpu_cores} cores" for node in system.nodes),
            memories_gib=tuple(node.memory_bytes / 2**30 for node in system.nodes),
            interconnect=system.interconnect,
            cooling=system.cooling,
            driver=environment.driver,
            software=f"{environment.os}, Linux {environment.kernel}",
        )


def describe_ties(ties: Iterable[str]) -> str:
    """What reproducers share with the center of the run, as an addition; empty if nothing."""
    shared = " and ".join(dict.fromkeys(ties))
    return f" (a site that shares {shared})" if shared else ""


@dataclass(frozen=True)
class Provenance:
    """The evidence behind a submitted row: its run, signer, findings and reviews."""

    run: RunRecord
    signer: str | None
    findings: tuple[Finding, ...]
    reviewers: tuple[str, ...] = ()
    """Principals who reviewed and accepted the bundle."""
    rejecters: tuple[str, ...] = ()
    """Principals who reviewed and rejected it."""
    accepted: str = ""
    """The version of the rule book under which the LOG accepts the bundle; empty if it does not."""
    reproducers: tuple[str, ...] = ()
    """The centers that reproduced the run."""
    bars: tuple[Finding, ...] = ()
    """The findings that keep the run from winning until it is reviewed or accepted."""
    original: str | None = None
    """Center, system and run of the result that this run reproduces; None if it reproduces none."""

    ties: tuple[str, ...] = ()
    """What the centers of the run and of its reproductions, or of its original, share, such as
    `the board GPU-…`."""
    newer: str | None = None
    """Center, system and run of a run of the same configuration with a newer recipe; None if there
    is none."""

    manifest_sha256: str = ""
    """The SHA-256 of the manifest that was judged."""
    trust_level: TrustLevel = TrustLevel.SUBMITTED

    @property
    def trust(self) -> str:
        """How far others have confirmed the run: reviewed, accepted, reproduced."""
        reviewers = len(self.reviewers)
        return ", ".join(
            (
                f"reviewed by {reviewers}" if reviewers else "not reviewed",
                "accepted" if self.accepted else "not accepted",
                self._reproduction,
            )
        )

    @property
    def _reproduction(self) -> str:
        if not self.reproducers:
            return "not reproduced"
        return f"reproduced by {len(self.reproducers)}{describe_ties(self.ties)}"

    @property
    def difference(self) -> float | None:
        """Trapezoid minus counter as a share of the counter's energy; None without a counter."""
        headline = self.run.headline
        if headline.energy_j_counter is None:
            return None
        return metrics.relative_difference(
            headline.energy_j_counter.mean, headline.energy_j_trapezoid.mean
        )


def summarize_bundle(bundle: Bundle) -> RunRecord:
    """The record of a bundle.

    Raises LookupError if the bundle has no evidence and MetricsError if its tables give no figures;
    such a bundle does not pass the check.
    """
    figures = bundle.figures
    if figures is None:
        raise metrics.MetricsError(bundle.figures_error)
    idle, node_figures = idle_from_json(bundle.result), bundle.node_figures
    return RunRecord(
        path=bundle.path,
        kind=submission_key(bundle),
        accelerators=tuple(
            accelerator
            for uuid, accelerator in bundle.accelerators.items()
            # system.json lists all accelerators of a node. Those without a rank did no work.
            if uuid in bundle.accelerator_ranks
        ),
        declaration=bundle.declaration,
        system=bundle.system_declaration,
        environment=bundle.environment_declaration,
        # The recomputed figures, not those that result.json states.
        within_run=describe_epochs(figures),
        observed=figures.observed,
        energy_of_record=figures.energy_of_record,
        serving=figures.serving,
        imbalance=compute_imbalance(figures.epochs),
        clocks=metrics.mean_clocks(figures.epochs),
        spread=summarize_power(bundle),
        activity=compute_activity(
            bundle.declaration, bundle.scored_parts, bundle.spans, figures.energy_of_record
        ),
        nodes_within_run=None
        if node_figures is None
        else describe_node_epochs(figures, node_figures),
        node_spread=None if node_figures is None else node_figures.spread,
        # N118 has compared the stated figures with the evidence.
        idle=None if idle is None else summarize_idle(idle, figures.headline),
        to_target=compute_target_figures(figures, bundle.stated_epochs) if bundle.target else None,
    )
