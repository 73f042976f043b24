"""The summary of a run that the rules across bundles see.

It is small enough that one process holds those of a whole round.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rules.bundle import Bundle
from rules.declarations.run import OriginalRun, SweepLabel
from rules.declarations.system import Accelerator, EnvironmentDeclaration
from rules.fingerprints import Fingerprints, Hashes, take_fingerprints, take_node_sequences
from rules.known_results import is_held_by_cap
from rules.metrics.figures import Headline, MeanClocks
from rules.metrics.power.clock_limit import has_known_ceilings
from rules.metrics.power.series import Series
from rules.metrics.run import mean_clocks
from rules.metrics.sweeps.points import is_cap_enforced
from rules.settings import SETTINGS, ConfigurationKey, make_key
from rules.summaries.bundle_summary import BundleSummary, Summary, find_center, parse_date

RECIPE_SETTINGS = ("fp8_linear", "group_norm", "kernel_tuning")
"""The settings of an implementation that tell versions of one variant apart: runs that differ in
them are no repeats of each other. Settings that follow from the memory of a board are not among
them."""
FIRST_STEPS = 8
"""How many losses at the start of a run are compared between runs."""


@dataclass(frozen=True)
class RunSummary(BundleSummary):
    """What the rules across bundles need to know of one run."""

    reproduces: OriginalRun | None
    """The run that this one repeats; None if it is no reproduction."""
    configuration: ConfigurationKey
    setting: ConfigurationKey
    """The part of it in which runs of any center that are compared agree."""
    workload: str
    size: str
    board_names: tuple[str, ...]
    """The names of the boards that worked, as the driver reports them, without duplicates."""
    batch_size: int
    cap_w: float | None
    capped_share: float | None
    """Share of the scored samples with the power cap as a slowdown reason. None if no slowdown was
    read."""
    held_share: float | None
    """The same of the boards whose clock only the cap explains, if it is known how low other limits
    hold it."""
    headline: Headline
    clocks: MeanClocks
    held: bool | None
    """Whether every accelerator kept to the cap. None if that is not known."""
    run_id: str
    standing: str
    """`Bundle.judged_standing`."""
    seed: int
    sweep: SweepLabel | None
    """Which run of which sweep this is; None if the run belongs to no sweep."""
    from_s: float
    """Start of the run by its own clock, in s of Unix time. NaN if it is not a date."""
    boards: tuple[str, ...]
    """The UUIDs of the accelerators that worked."""
    system: tuple[tuple[str, object], ...]
    """Facts that are equal in all runs on one system, each with its name."""
    source: tuple[str, str] | None
    """The commit of the code and the hash of its files. None without a clean checkout."""
    fingerprints: Fingerprints
    node_sequences: Hashes
    """Sequences of the readings of node meters; empty without any."""
    epochs: tuple[tuple[float, float], ...]
    """Items/s and mean power in W, both per accelerator, of each scored epoch."""
    first_losses: tuple[float, ...]
    """Finite losses of the first `FIRST_STEPS` steps. Empty if the bundle does not list so many."""
    resident_batches: str | float | bool | None
    """The number of batches that the implementation repeats, as the bundle states it; None if it
    does not. Input depends on it and on the seed."""
    inputs: tuple[str, ...]
    """Hashes of a part of the input of each rank; empty if one is not recorded."""
    epoch_losses: tuple[float, ...]
    """The finite losses at the end of the scored epochs, in their order."""

    @property
    def comparison_key(self) -> tuple[str, ConfigurationKey]:
        """Equal for runs of one center that differ in their cap only. It has neither directory nor
        system name, because both are free to choose."""
        return self.center, self.configuration


def summarize(
    bundle: Bundle, signer: str | None = None, manifest_sha256: str = "", salt: int = 0
) -> RunSummary | None:
    """The summary of a bundle. None if its evidence gives no figures. Without a signer, the center
    is that of the path. Fingerprints are comparable under one salt."""
    if bundle.evidence is None or bundle.figures is None:
        return None
    run, figures = bundle.declaration, bundle.figures
    center = find_center(bundle.path, signer)
    configuration = read_configuration(bundle)
    return RunSummary(
        path=bundle.path,
        center=center,
        signer=signer,
        manifest_sha256=manifest_sha256,
        reproduces=run.reproduces,
        configuration=configuration,
        setting=configuration.without(s.name for s in SETTINGS if not s.is_work),
        workload=run.workload,
        size=run.size,
        board_names=tuple(sorted({accelerator.name for accelerator in _list_working(bundle)})),
        batch_size=bundle.settings.batch_size,
        cap_w=bundle.cap_w,
        capped_share=_capped_share(bundle, bundle.series),
        held_share=_capped_share(
            bundle,
            [s for s in bundle.series if not has_known_ceilings(s) or is_held_by_cap(bundle, s)],
        ),
        headline=figures.headline,
        clocks=mean_clocks(figures.epochs),
        held=is_cap_enforced(figures),
        run_id=run.run_id,
        standing=bundle.judged_standing,
        seed=run.settings.seed,
        sweep=run.sweep,
        from_s=parse_date(run.started_at),
        until_s=parse_date(run.ended_at),
        boards=tuple(sorted(bundle.accelerator_ranks)),
        system=tuple(_system(bundle)),
        source=_source(bundle.environment_declaration),
        fingerprints=take_fingerprints(bundle, salt),
        node_sequences=take_node_sequences(bundle, salt),
        epochs=tuple(
            (epoch.items_per_s_per_accelerator, epoch.mean_power_w_per_accelerator)
            for epoch in figures.scored_epochs
        ),
        first_losses=_first_losses(bundle),
        resident_batches=bundle.implementation.settings.get("resident_batches"),
        inputs=_inputs(bundle),
        epoch_losses=tuple(
            epoch.loss
            for epoch in bundle.stated_epochs
            if epoch.scored and epoch.loss is not None and math.isfinite(epoch.loss)
        ),
    )


def attribute(summary: Summary, path: Path, signer: str | None, manifest_sha256: str) -> Summary:
    """The summary as it is of a bundle with the same evidence in the directory `path`, with this
    signer and manifest."""
    center = find_center(path, signer)
    return replace(
        summary, path=path, center=center, signer=signer, manifest_sha256=manifest_sha256
    )


class SubmissionKey(NamedTuple):
    """Equal for runs of one submission that differ in their cap only."""

    directory: Path
    system: str
    configuration: ConfigurationKey


def submission_key(bundle: Bundle) -> SubmissionKey:
    """What a run has in common with those that differ from it in their cap only."""
    name = bundle.system_declaration.name
    return SubmissionKey(bundle.path.parent, name, read_configuration(bundle))


def input_key(run: RunSummary) -> tuple[object, ...]:
    """Equal for runs of any center with equal configuration, seed and number of resident batches.
    They have the same input and, apart from rounding, the same first losses."""
    return run.configuration, run.seed, run.resident_batches


def read_configuration(bundle: Bundle) -> ConfigurationKey:
    """What decides the performance of a run. Seed, length of an epoch and the UUIDs of the boards
    are not part of it."""
    settings = bundle.settings
    computed = {
        # By UUID in result.json; their names are in system.json.
        "boards": tuple(sorted(accelerator.name for accelerator in _list_working(bundle))),
        # Runs of some versions are compared with each other.
        "protocol": bundle.protocol.comparable_with,
        # The check may give a run another one than it declares.
        "standing": bundle.standing,
        # Of all settings of an implementation, only these tell its versions apart.
        "recipe": _describe_recipe(bundle.implementation.settings),
        # Without the version of the program.
        "host load": settings.host_load and settings.host_load.partition(" ")[0],
    }
    return make_key(bundle.declaration, computed)


def _list_working(bundle: Bundle) -> list[Accelerator]:
    """The accelerators that worked, one entry for each."""
    return [
        bundle.accelerators[uuid]
        for uuid in bundle.accelerator_ranks
        if uuid in bundle.accelerators
    ]


def _describe_recipe(settings: Mapping[str, object]) -> str | None:
    """The settings that tell versions of one variant apart."""
    recipe = {name: settings.get(name) for name in RECIPE_SETTINGS}
    return ", ".join(f"{name}: {value}" for name, value in recipe.items() if value) or None


def _capped_share(bundle: Bundle, boards: Iterable[Series]) -> float | None:
    scored = bundle.scored_samples
    if not len(scored) or (
        bundle.samples.has_gaps("slowdown") and np.isnan(scored.floats("slowdown")).all()
    ):
        return None
    capped = sum(int(np.count_nonzero(s.capped & s.load)) for s in boards)
    return capped / len(scored)


def _system(bundle: Bundle) -> Iterator[tuple[str, object]]:
    """Driver, names, and the facts of the boards in use and their nodes that a system has once.
    Cores and memory of a node are left out, because a batch system may assign a part of a node."""
    system = bundle.system_declaration
    yield "driver", bundle.environment_declaration.driver
    yield "name", system.name
    yield "category", system.category
    nodes = {rank.node for rank in bundle.ranks}
    yield "cpu", tuple(sorted({node.cpu for node in system.nodes if node.name in nodes}))
    used = [
        bundle.accelerators[uuid]
        for uuid in bundle.accelerator_ranks
        if uuid in bundle.accelerators
    ]
    for name in ("name", "memory_bytes", "vbios", "max_power_w"):
        yield (
            f"accelerator {name}",
            tuple(sorted({str(getattr(accelerator, name)) for accelerator in used})),
        )


def _source(environment: EnvironmentDeclaration) -> tuple[str, str] | None:
    git = environment.git
    if git is None or git.dirty is not False or not git.commit:
        return None
    return git.commit, environment.source_sha256


def _inputs(bundle: Bundle) -> tuple[str, ...]:
    ranks = sorted(bundle.ranks, key=lambda rank: rank.rank)
    hashes = tuple(rank.inputs_sha256 for rank in ranks if rank.inputs_sha256)
    return hashes if len(hashes) == len(ranks) else ()


def _first_losses(bundle: Bundle) -> tuple[float, ...]:
    # The last losses of whole trainings differ even with one seed.
    first_epoch = bundle.stated_epochs[0] if bundle.stated_epochs and not bundle.target else None
    losses = (first_epoch.losses or [])[:FIRST_STEPS] if first_epoch else []
    finite = tuple(loss for loss in losses if loss is not None and math.isfinite(loss))
    return finite if len(finite) == FIRST_STEPS else ()


def find_reproductions(
    runs: Sequence[RunSummary],
) -> Iterator[tuple[RunSummary, OriginalRun, RunSummary | None]]:
    """Each reproduction, with what it states of its original, and the original if it is among the
    runs."""
    by_manifest = {run.manifest_sha256: run for run in runs if run.manifest_sha256}
    for run in runs:
        if run.reproduces is not None:
            yield run, run.reproduces, by_manifest.get(run.reproduces.manifest_sha256)


def list_configuration(run: RunSummary) -> list[tuple[str, object]]:
    """What a reproduction has in common with its original, each with its name."""
    return [("cap in W", run.cap_w), *run.configuration.items()]
