"""What the rules across bundles see of each: small enough that one process holds that of a whole round."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rules import metrics
from rules.records import Json
from rules.rule import Bundle
from rules.slowdown import POWER_CAP, any_of


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
    """`mean_power_w`, `items_per_s` (both per accelerator) and `mean_sm_mhz` over the scored epochs, as `metrics.summary` gives
    them; one that was not read is left out."""


def digest(bundle: Bundle) -> Digest | None:
    """The digest of a bundle; None where its evidence gives no figures."""
    if bundle.evidence is None or isinstance(bundle.computed, str):
        return None
    return Digest(
        path=bundle.path,
        kind=kind(bundle),
        cap_w=bundle.result["power"]["cap_w"],
        capped_share=_capped_share(bundle),
        figures=dict(_figures([e for e in bundle.computed["epochs"] if e["scored"]])),
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
    clocks = [[a["mean_sm_mhz"] for a in e["accelerators"]] for e in scored]
    if not any(None in of_epoch for of_epoch in clocks):
        yield "mean_sm_mhz", metrics.summary([fmean(of_epoch) for of_epoch in clocks])


def _capped_share(bundle: Bundle) -> float | None:
    samples = bundle.scored_samples
    if samples["slowdown"].isna().all():
        return None
    capped = 0
    for accelerator, own in samples.groupby("accelerator", sort=False):
        vendor = str(bundle.accelerators.get(str(accelerator), {}).get("vendor"))
        capped += int(any_of(own, POWER_CAP.get(vendor, 0)).sum())
    return capped / len(samples)
