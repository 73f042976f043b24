"""The parameters of the measurement protocol, one frozen set per version. A bundle is judged by the
version that it declares."""

from dataclasses import dataclass, replace
from types import MappingProxyType


@dataclass(frozen=True)
class Agreement:
    """The largest allowed difference between the energy counter and the trapezoidal integral of the
    power samples, as a share of the counter's energy."""

    run: float
    epoch: float


@dataclass(frozen=True)
class Protocol:
    """One version of the measurement protocol. Shares and tolerances are fractions, not percent."""

    version: str
    epochs: int
    discarded_epochs: int
    min_epoch_s: float
    min_control_epoch_s: float
    """Minimum length of a scored epoch of a control run: ten readings of a node meter with one
    reading per second, and 100 readings of a board."""
    sample_interval_ms: int
    interval_min_ms: float
    interval_max_ms: float
    regular_share: float
    max_gap_ms: float
    max_failed_share: float
    cap_tolerance: float
    state_share: float
    states: tuple[str, ...]
    max_throughput_cv: float
    min_active_share: float
    instantaneous: Agreement
    averaged: Agreement
    board_power_tolerance: float
    """The largest allowed averaged power, as a multiple of the board's highest power limit."""
    transient_tolerance: float
    """The same for a single instantaneous reading. It is larger, because a board enforces its cap
    on the average."""
    invalid_slowdown_mask: int
    """Clock event reasons of NVML that make an epoch invalid. Simulated boards use them too."""
    invalid_slowdown_mask_amd: int
    """The same for AMD. The AMD meter derives these bits from the residency counters."""
    max_peak_share: float
    recompute_tolerance: float
    comparable_with: str
    """The first version that measures accelerators in the same way. Runs may be compared where it
    is equal."""

    @property
    def scored_epochs(self) -> int:
        """Number of epochs that the headline averages over."""
        return self.epochs - self.discarded_epochs

    def choose_min_epoch_s(self, is_control: bool, has_target: bool) -> float:
        """Return the least active time of an epoch, in s. A control run is compared with no other
        run, and a batch that trains to a target is a measurement of its own."""
        return self.min_control_epoch_s if is_control or has_target else self.min_epoch_s


# NVML's reasons that make an epoch invalid: hardware slowdown 0x8, software thermal 0x20, hardware
# thermal 0x40 and power brake 0x80. The software power cap, 0x4, is allowed: it is set whenever the
# cap limits the clocks. Source: NVML API reference, nvmlClocksEventReasons.
_INVALID_SLOWDOWN = 0x8 | 0x20 | 0x40 | 0x80

# AMD's reasons that make an epoch invalid: processor hot 0x1, and thermal throttling of socket 0x4,
# voltage regulators 0x8 and memory 0x10. Package power tracking, 0x2, is allowed: it is the power
# cap. Source: AMD SMI reference, the throttle residencies of the GPU metrics.
_INVALID_SLOWDOWN_AMD = 0x1 | 0x4 | 0x8 | 0x10

V1_0 = Protocol(
    version="1.0",
    epochs=11,
    discarded_epochs=1,
    min_epoch_s=30.0,
    min_control_epoch_s=10.0,
    sample_interval_ms=100,
    interval_min_ms=90.0,
    interval_max_ms=110.0,
    regular_share=0.95,
    max_gap_ms=300.0,
    max_failed_share=0.01,
    cap_tolerance=1.02,
    state_share=0.99,
    states=("P0", "auto"),
    max_throughput_cv=0.03,
    min_active_share=0.9,
    instantaneous=Agreement(run=0.01, epoch=0.02),
    averaged=Agreement(run=0.02, epoch=0.05),
    board_power_tolerance=1.05,
    transient_tolerance=1.5,
    invalid_slowdown_mask=_INVALID_SLOWDOWN,
    invalid_slowdown_mask_amd=_INVALID_SLOWDOWN_AMD,
    max_peak_share=1.0,
    recompute_tolerance=1e-6,
    comparable_with="1.0",
)

V1_1 = replace(V1_0, version="1.1")
"""Adds node power, idle power and phases. Accelerators are measured as by 1.0."""

PROTOCOLS = MappingProxyType({protocol.version: protocol for protocol in (V1_0, V1_1)})
CURRENT = V1_1


@dataclass(frozen=True)
class StudyMethod:
    """One version of the method of studies of image models."""

    version: str
    ladder_s: float
    """Shortest window of a point of a ladder."""
    long_s: float
    """Shortest window of a long point."""
    long_batches: int
    """Fewest batches of a long point."""
    parts: int
    """Parts of a long point."""
    burn_in_s: float
    """Time under load before the first point of a session."""
    climbs_by_counter: bool
    """Whether ladders are climbed, and long windows chosen, by the energy counter of boards that
    have one, and not by the mean of the power samples."""


STUDY_V1_0 = StudyMethod(
    version="1.0",
    ladder_s=1.0,
    long_s=10.0,
    long_batches=13,
    parts=10,
    burn_in_s=30.0,
    climbs_by_counter=False,
)
STUDY_V1_1 = replace(STUDY_V1_0, version="1.1", climbs_by_counter=True)
"""Windows are those of 1.0. Samples in step with batches do not mislead its ladders."""

STUDY_METHODS = MappingProxyType({method.version: method for method in (STUDY_V1_0, STUDY_V1_1)})
