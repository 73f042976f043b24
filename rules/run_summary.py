"""What the rules across bundles see of each: small enough that one process holds that of a whole
round."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.records import Json
from rules.metrics import sweeps
from rules.metrics.figures import Headline, MeanClocks
from rules.metrics.power_series import IN_A_ROW, regular, rolling
from rules.metrics.readings import to_whole_milliwatts
from rules.metrics.run import mean_clocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIFFERENT = 8
"""Of so many different values at least: a few that alternate would repeat by chance."""
KEPT = 16
"""How many fingerprints stand for a series: the smallest ones, so that two series that share a part
share some of them."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Multiplying by it loses nothing, and mixes the bits."""
_UNDONE = np.uint64(pow(int(_ODD), -1, 2**64))
"""Multiplying by it gives back what was multiplied by `_ODD`."""
_ONE = np.uint64(1)
_IN_A_ROW = np.arange(IN_A_ROW)


@dataclass(frozen=True)
class RunSummary:
    """One bundle, in short."""

    path: Path
    center: str
    setting: tuple[object, ...]
    """What runs of any center have in common that may be compared: boards, protocol, standing,
    workload, variant, precision."""
    kind: tuple[object, ...]
    """What runs of one center have in common that differ in their cap only: center, setting, and
    how it ran (see `work`). Neither the directory nor the name of the system counts: these are free
    to choose."""
    cap_w: float | None
    capped_share: float | None
    """Share of the scored samples in which the power cap held the clock down; None where no
    slowdown was read."""
    headline: Headline
    clocks: MeanClocks
    held: bool | None
    """Whether every accelerator kept to the cap; None where that is not known."""
    run_id: str
    standing: str
    seed: int
    sweep: Json | None
    """Which run of which sweep it is, as result.json says it."""
    from_s: float
    until_s: float
    """When the run began and ended by its own clock, in s of Unix time; not a number where that is
    no date."""
    boards: tuple[str, ...]
    """The UUIDs of the accelerators that worked."""
    system: tuple[tuple[str, object], ...]
    """What all runs of one system have in common, by the name of the field."""
    source: tuple[str, str] | None
    """The commit of the code and the hash over it; None where it was no clean checkout."""
    readings: frozenset[int]
    """Fingerprints of the power readings under load: of each accelerator up to `KEPT`."""
    delays: frozenset[int]
    """The same of how long after it was due each reading was made."""
    patterns: frozenset[int]
    """The same of where the readings go up and where not."""
    windows: frozenset[int]
    """Fingerprints of the lengths of batches, of each rank."""
    epochs: tuple[tuple[float, float], ...]
    """Items/s and mean power in W, both per accelerator, of each scored epoch."""

    @property
    def name(self) -> str:
        """Center, system and run, as far as the path has them: by these a finding names another
        bundle."""
        return Path(*self.path.parts[-3:]).as_posix()


def summarize(bundle: Bundle, center: str = "") -> RunSummary | None:
    """The digest of a bundle; None where its evidence gives no figures. A center that is not named
    is that of the path."""
    if bundle.evidence is None or bundle.figures is None:
        return None
    result, figures = bundle.result, bundle.figures
    center = center or bundle.path.parent.parent.name.casefold()
    setting, how = work(bundle)
    return RunSummary(
        path=bundle.path,
        center=center,
        setting=setting,
        kind=(center, *setting, *how),
        cap_w=result["power"]["cap_w"],
        capped_share=_capped_share(bundle),
        headline=figures.headline,
        clocks=mean_clocks(figures.epochs),
        held=sweeps.is_cap_enforced(figures),
        run_id=result["run_id"],
        standing=bundle.standing,
        seed=result["settings"]["seed"],
        sweep=result.get("sweep"),
        from_s=_unix_s(result["started_at"]),
        until_s=_unix_s(result["ended_at"]),
        boards=tuple(sorted(bundle.accelerator_ranks)),
        system=tuple(_system(bundle)),
        source=_source(bundle.environment),
        readings=frozenset().union(*_readings(bundle)),
        delays=frozenset().union(*_delays(bundle)),
        patterns=frozenset().union(*_patterns(bundle)),
        windows=frozenset().union(*_windows(bundle)),
        epochs=tuple(
            (epoch.items_per_s_per_accelerator, epoch.mean_power_w_per_accelerator)
            for epoch in figures.scored_epochs
        ),
    )


def kind(bundle: Bundle) -> tuple[object, ...]:
    """What runs of one submission that differ in their cap only have in common: directory, system,
    and `work`. Hashable."""
    setting, how = work(bundle)
    return (bundle.path.parent, bundle.system["name"], *setting, *how)


def work(bundle: Bundle) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """What ran on how many boards of which kind, and how; the boards themselves, seed and length of
    an epoch may differ."""
    result, own = bundle.result, bundle.result["implementation"]
    settings = result["settings"]
    boards = sorted(
        bundle.accelerators[uuid].name
        for uuid in bundle.accelerator_ranks
        if uuid in bundle.accelerators
    )
    requests = settings.get("requests") or {}
    setting = (
        tuple(boards),
        result["protocol"],
        bundle.standing,
        result["workload"],
        result["size"],
        own["variant"],
        own["precision"],
    )
    return setting, (
        own["name"],
        own.get("sha256"),
        *(settings[name] for name in ("batch_size", "nodes", "input", "weights")),
        settings.get("corpus_sha256"),
        tuple(sorted((settings.get("options") or {}).items())),
        *(requests.get(name) for name in ("prompt_tokens", "output_tokens", "rate_per_s")),
    )


def _capped_share(bundle: Bundle) -> float | None:
    scored = bundle.scored_samples
    if not len(scored) or (
        bundle.samples.has_gaps("slowdown") and np.isnan(scored.floats("slowdown")).all()
    ):
        return None
    held = sum(int(np.count_nonzero(one.capped & one.load)) for one in bundle.series)
    return held / len(scored)


def _system(bundle: Bundle) -> Iterator[tuple[str, object]]:
    """Driver, and of the boards that worked and their nodes what one system has once. Cores and
    memory of a node are left out: a batch system may hand out a part of a node."""
    yield "driver", bundle.environment.get("driver")
    for name in ("name", "category"):
        yield name, bundle.system.get(name)
    nodes = {rank["node"] for rank in bundle.result["ranks"]}
    yield (
        "cpu",
        tuple(
            sorted({str(node["cpu"]) for node in bundle.system["nodes"] if node["name"] in nodes})
        ),
    )
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


def _source(environment: Json) -> tuple[str, str] | None:
    git = environment.get("git") or {}
    if git.get("dirty") is not False or not git.get("commit"):
        return None
    return str(git["commit"]), str(environment["source_sha256"])


def _unix_s(date: str) -> float:
    try:
        return datetime.fromisoformat(date).timestamp()
    except ValueError:
        return float("nan")


def _readings(bundle: Bundle) -> Iterator[frozenset[int]]:
    for one in bundle.series:
        yield fingerprints(to_whole_milliwatts(one.usable_w))


def _delays(bundle: Bundle) -> Iterator[frozenset[int]]:
    for one in bundle.series:
        yield fingerprints(one.samples.ints("read_ns") - one.samples.ints("scheduled_ns"))


def _patterns(bundle: Bundle) -> Iterator[frozenset[int]]:
    for one in bundle.series:
        yield few(one.patterns)


def few(patterns: "NDArray[np.uint64]") -> frozenset[int]:
    """The `KEPT` smallest fingerprints of those patterns of a series, shape (n,), that it has once
    and that do not repeat themselves."""
    ordered = np.sort(patterns * _ODD)
    differs = np.ones(len(ordered) + 1, dtype=bool)
    differs[1:-1] = ordered[1:] != ordered[:-1]
    once = ordered[differs[1:] & differs[:-1]]
    found: list[int] = []
    for begin in range(0, len(once), 4 * KEPT):  # mostly the first of these suffice
        some = once[begin : begin + 4 * KEPT]
        found += (some[~regular(some * _UNDONE)] >> _ONE).tolist()
        if len(found) >= KEPT:
            break
    return frozenset(found[:KEPT])


def _windows(bundle: Bundle) -> Iterator[frozenset[int]]:
    ranks, lengths_ns = (
        bundle.batches.ints("rank"),
        bundle.batches.ints("end_ns") - bundle.batches.ints("start_ns"),
    )
    for rank in np.unique(ranks):
        yield fingerprints(lengths_ns[ranks == rank])


def fingerprints(values: "NDArray[np.int64]") -> frozenset[int]:
    """The `KEPT` smallest fingerprints of a series, shape (n,): the same wherever in a series the
    values stand.

    Of `IN_A_ROW` values in a row, where `DIFFERENT` of them differ. Two series that share a tenth
    of 3 000 readings share a fingerprint with a probability of 0.7, and those that share half of
    them always (300 trials each on measured series).
    """
    if len(values) < IN_A_ROW:
        return frozenset()
    mixed = _mixed(rolling(values))
    few = min(4 * KEPT, len(mixed) - 1)
    smallest = np.argpartition(mixed, few)[: few + 1]
    smallest = smallest[np.argsort(mixed[smallest])]
    found: list[int] = []
    for begin in range(0, len(smallest), 2 * KEPT):  # mostly the first of these suffice
        some = smallest[begin : begin + 2 * KEPT]
        rows = np.sort(values[some[:, None] + _IN_A_ROW], axis=1)
        found += mixed[some[(np.diff(rows, axis=1) != 0).sum(axis=1) + 1 >= DIFFERENT]].tolist()
        if len(found) >= KEPT:
            break
    return frozenset(found[:KEPT])


def _mixed(values: "NDArray[np.uint64]") -> "NDArray[np.uint64]":
    return (values * _ODD) >> _ONE


def sharing(
    digests: "Sequence[RunSummary]", of: Callable[[RunSummary], frozenset[int]]
) -> Iterator[tuple[RunSummary, RunSummary, int]]:
    """The digests that share a fingerprint with another, each with the one that has most of them,
    and how many any other has."""
    counts = Counter(chain.from_iterable(map(of, digests)))
    repeated = {fingerprint for fingerprint, count in counts.items() if count > 1}
    of_each = [(one, of(one) & repeated) for one in digests]
    having: dict[int, list[RunSummary]] = {}
    for one, own in of_each:
        for fingerprint in own:
            having.setdefault(fingerprint, []).append(one)
    for one, own in of_each:
        shared = [
            owners[1] if owners[0] is one else owners[0] for owners in map(having.__getitem__, own)
        ]
        if shared:
            shares = Counter(other.path for other in shared)
            yield one, min(shared, key=lambda other: (-shares[other.path], other.path)), len(shared)


def alike(digests: "Sequence[RunSummary]") -> list[list[RunSummary]]:
    """The digests in groups of one kind, which are of one center, each by cap; those without a cap
    are left out."""
    found: dict[tuple[object, ...], list[RunSummary]] = {}
    for one in digests:
        if one.cap_w is not None:
            found.setdefault(one.kind, []).append(one)
    return [sorted(runs, key=lambda run: (run.cap_w or 0, run.path)) for runs in found.values()]


def by_sweep(
    digests: "Sequence[RunSummary]",
) -> dict[tuple[str, str], list[tuple[RunSummary, Json]]]:
    """The digests of each sweep by place, with what each says of it; a sweep is named by its center
    and its id."""
    found: dict[tuple[str, str], list[tuple[RunSummary, Json]]] = {}
    for one in digests:
        if one.sweep is not None:
            found.setdefault((one.center, one.sweep["id"]), []).append((one, one.sweep))
    for runs in found.values():
        runs.sort(key=lambda run: (run[1]["place"], run[0].path))
    return found
