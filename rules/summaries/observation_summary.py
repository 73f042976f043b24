"""The summary of an observed job that the rules across observed jobs see."""

from dataclasses import dataclass
from typing import ClassVar

from rules.fingerprints import Hashes, sample_sequences
from rules.metrics.power.readings import to_whole_milliwatts
from rules.observations.bundle import ObservationBundle
from rules.summaries.bundle_summary import BundleSummary, find_center, parse_date


@dataclass(frozen=True)
class ObservationSummary(BundleSummary):
    """What the rules across observed jobs need to know of one."""

    KIND: ClassVar[str] = "observation"

    system: str
    """The name of the nodes."""
    from_s: float
    """Start of the window, in s of Unix time; `until_s` is its end."""
    readings: Hashes
    """Of the power readings of each feed in the window, in mW. Those around it belong to other
    jobs too."""


def summarize_observation(
    bundle: ObservationBundle, signer: str | None = None, manifest_sha256: str = "", salt: int = 0
) -> ObservationSummary | None:
    """The summary of an observed job, None without evidence. Without a signer, the center is that
    of the path. Sequences are comparable under one salt."""
    if bundle.evidence is None:
        return None
    start_ns, end_ns = bundle.window_ns
    readings = (
        to_whole_milliwatts(feed.power_w[(feed.times_ns >= start_ns) & (feed.times_ns <= end_ns)])
        for feed in bundle.feeds.values()
    )
    declared = bundle.declaration
    return ObservationSummary(
        path=bundle.path,
        center=find_center(bundle.path, signer),
        signer=signer,
        manifest_sha256=manifest_sha256,
        until_s=parse_date(declared.ended_at),
        system=declared.node.system,
        from_s=parse_date(declared.started_at),
        # A log may have one reading a minute, so all are kept.
        readings=sample_sequences(readings, salt, kept=1),
    )
