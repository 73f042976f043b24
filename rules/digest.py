"""What the rules across bundles see of each: small enough that one process holds that of a whole round."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rules import metrics
from rules.records import Json
from rules.rule import Bundle
from rules.slowdown import POWER_CAP, any_of
from rules.tables import floats, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

LENGTH = 32
"""How many values in a row make a fingerprint."""
DIFFERENT = 8
"""Of so many different values at least: a few that alternate would repeat by chance."""
KEPT = 16
"""How many fingerprints stand for a series: the smallest ones, so that two series that share a part share some of them."""


@dataclass(frozen=True)
class Digest:
    """One bundle, in short."""

    path: Path
    kind: tuple[object, ...]
    """What all runs of one sweep have in common (see `kind`)."""
    cap_w: float | None
    capped_share: float | None
    """Share of the scored samples in which the power cap held the clock down; None where no slowdown was read."""
    figures: Mapping[str, Json]
    """`mean_power_w`, `items_per_s`, `joules_per_item` (all per accelerator) and `mean_sm_mhz` over the scored epochs, as
    `metrics.summary` gives them; one that was not read is left out."""
    run_id: str
    standing: str
    seed: int
    sweep: Json | None
    """Which run of which sweep it is, as result.json says it."""
    from_s: float
    until_s: float
    """When the run began and ended by its own clock, in s of Unix time; not a number where that is no date."""
    boards: tuple[str, ...]
    """The UUIDs of the accelerators that worked."""
    system: tuple[tuple[str, object], ...]
    """What all runs of one system have in common, by the name of the field."""
    readings: frozenset[int]
    """Fingerprints of the power readings under load: of each accelerator up to `KEPT`."""
    windows: frozenset[int]
    """The same of the lengths of batches, of each rank."""
    epochs: tuple[tuple[float, float], ...]
    """Items/s per accelerator and J per item of each scored epoch."""

    @property
    def name(self) -> str:
        """Center, system and run, as far as the path has them: by these a finding names another bundle."""
        return Path(*self.path.parts[-3:]).as_posix()


def digest(bundle: Bundle) -> Digest | None:
    """The digest of a bundle; None where its evidence gives no figures."""
    if bundle.evidence is None or isinstance(bundle.computed, str):
        return None
    result = bundle.result
    scored = [e for e in bundle.computed["epochs"] if e["scored"]]
    return Digest(
        path=bundle.path,
        kind=kind(bundle),
        cap_w=result["power"]["cap_w"],
        capped_share=_capped_share(bundle),
        figures=dict(_figures(scored)),
        run_id=result["run_id"],
        standing=bundle.standing,
        seed=result["settings"]["seed"],
        sweep=result.get("sweep"),
        from_s=_unix_s(result["started_at"]),
        until_s=_unix_s(result["ended_at"]),
        boards=tuple(sorted(bundle.accelerator_ranks)),
        system=tuple(_system(bundle)),
        readings=frozenset().union(*_readings(bundle)),
        windows=frozenset().union(*_windows(bundle)),
        epochs=tuple((e["figures"]["items_per_s_per_accelerator"], e["figures"]["joules_per_item"] or 0.0) for e in scored),
    )


def kind(bundle: Bundle) -> tuple[object, ...]:
    """What runs have in common that differ in their cap only: submission, system, what ran on how many boards, and how.

    Hashable. The boards themselves, the seed and the length of an epoch may differ.
    """
    result, own = bundle.result, bundle.result["implementation"]
    settings = result["settings"]
    boards = sorted(bundle.accelerators[uuid]["name"] for uuid in bundle.accelerator_ranks if uuid in bundle.accelerators)
    requests = settings.get("requests") or {}
    return (
        bundle.path.parent,
        bundle.system["name"],
        tuple(boards),
        result["protocol"],
        bundle.standing,
        result["workload"],
        result["size"],
        *(own[name] for name in ("name", "variant", "precision")),
        own.get("sha256"),
        *(settings[name] for name in ("batch_size", "nodes", "input", "weights")),
        settings.get("corpus_sha256"),
        tuple(sorted((settings.get("options") or {}).items())),
        *(requests.get(name) for name in ("prompt_tokens", "output_tokens", "rate_per_s")),
    )


def _figures(scored: list[Json]) -> Iterator[tuple[str, Json]]:
    yield "mean_power_w", metrics.summary([e["figures"]["mean_power_w_per_accelerator"] for e in scored])
    yield "items_per_s", metrics.summary([e["figures"]["items_per_s_per_accelerator"] for e in scored])
    if not any(e["figures"]["joules_per_item"] is None for e in scored):
        yield "joules_per_item", metrics.summary([e["figures"]["joules_per_item"] for e in scored])
    clocks = [[a["mean_sm_mhz"] for a in e["accelerators"]] for e in scored]
    if not any(None in of_epoch for of_epoch in clocks):
        yield "mean_sm_mhz", metrics.summary([fmean(of_epoch) for of_epoch in clocks])


def _capped_share(bundle: Bundle) -> float | None:
    if bundle.scored_samples["slowdown"].isna().all():
        return None
    capped = 0
    for part in bundle.scored_parts:
        vendor = str(bundle.accelerators.get(part.accelerator, {}).get("vendor"))
        capped += int(any_of(part.samples, POWER_CAP.get(vendor, 0)).sum())
    return capped / len(bundle.scored_samples)


def _system(bundle: Bundle) -> Iterator[tuple[str, object]]:
    """Driver, and of the boards that worked and their nodes what one system has once. Cores and memory of a node are left out:
    a batch system may hand out a part of a node."""
    yield "driver", bundle.environment.get("driver")
    for name in ("name", "category"):
        yield name, bundle.system.get(name)
    nodes = {rank["node"] for rank in bundle.result["ranks"]}
    yield "cpu", tuple(sorted({str(node["cpu"]) for node in bundle.system["nodes"] if node["name"] in nodes}))
    used = [bundle.accelerators[uuid] for uuid in bundle.accelerator_ranks if uuid in bundle.accelerators]
    for name in ("name", "memory_bytes", "vbios", "max_power_w"):
        yield f"accelerator {name}", tuple(sorted({str(one.get(name)) for one in used}))


def _unix_s(date: str) -> float:
    try:
        return datetime.fromisoformat(date).timestamp()
    except ValueError:
        return float("nan")


def _readings(bundle: Bundle) -> Iterator[frozenset[int]]:
    powers: dict[str, list[NDArray[np.float64]]] = {}
    for part in bundle.scored_parts:
        powers.setdefault(part.accelerator, []).append(floats(part.samples, "power_avg_mw" if part.averaged else "power_mw"))
    for own in powers.values():
        power = np.concatenate(own)
        yield fingerprints(np.clip(power[np.isfinite(power)], 0, 2.0**53).astype(np.int64))


def _windows(bundle: Bundle) -> Iterator[frozenset[int]]:
    for _, own in bundle.batches.groupby("rank", sort=False):
        yield fingerprints(whole(own, "end_ns") - whole(own, "start_ns"))


def fingerprints(values: "NDArray[np.int64]") -> frozenset[int]:
    """The `KEPT` smallest fingerprints of a series, shape (n,): the same wherever in a series the values stand.

    Of `LENGTH` values in a row, and only where `DIFFERENT` of them differ. Two series that share a tenth of 3 000 readings share
    a fingerprint with a probability of 0.7, and those that share half of them always (300 trials each on measured series).
    """
    if len(values) < LENGTH:
        return frozenset()
    sums = np.convolve(values, np.random.default_rng(0).integers(1, 2**40, LENGTH), mode="valid")  # may wrap, alike for all
    mixed = (sums.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(1)
    smallest = np.argsort(mixed, kind="stable")[: 4 * KEPT]
    rows = np.sort(sliding_window_view(values, LENGTH)[smallest], axis=1)
    different = (np.diff(rows, axis=1) != 0).sum(axis=1) + 1 >= DIFFERENT
    return frozenset(mixed[smallest[different]][:KEPT].tolist())


def sharing(digests: "Sequence[Digest]", of: Callable[[Digest], frozenset[int]]) -> Iterator[tuple[Digest, Digest, int]]:
    """The digests that share a fingerprint with another, each with that other one and with how many it shares with any."""
    having: dict[int, list[Digest]] = {}
    for one in digests:
        for fingerprint in of(one):
            having.setdefault(fingerprint, []).append(one)
    for one in digests:
        shared = [owners for fingerprint in of(one) if len(owners := having[fingerprint]) > 1]
        if shared:
            yield one, next((other for other in shared[0] if other is not one), one), len(shared)


def alike(digests: "Sequence[Digest]") -> list[list[Digest]]:
    """The digests in groups of one kind, each by cap; those without a cap are left out."""
    found: dict[tuple[object, ...], list[Digest]] = {}
    for one in digests:
        if one.cap_w is not None:
            found.setdefault(one.kind, []).append(one)
    return [sorted(runs, key=lambda run: (run.cap_w or 0, run.path)) for runs in found.values()]


def by_sweep(digests: "Sequence[Digest]") -> dict[tuple[Path, str], list[tuple[Digest, Json]]]:
    """The digests of each sweep by place, with what each says of it; a sweep is named by its submission and its id."""
    found: dict[tuple[Path, str], list[tuple[Digest, Json]]] = {}
    for one in digests:
        if one.sweep is not None:
            found.setdefault((one.path.parent, one.sweep["id"]), []).append((one, one.sweep))
    for runs in found.values():
        runs.sort(key=lambda run: (run[1]["place"], run[0].path))
    return found


def half_width(figure: Json) -> float:
    """Half of the 95 % interval of a figure, 0 where it has none."""
    return float(figure["ci95"][1] - figure["ci95"][0]) / 2 if figure["ci95"] else 0.0
