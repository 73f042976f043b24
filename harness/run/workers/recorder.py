"""Records when each batch was active, without waiting for the device inside an epoch.

The implementation calls `more`, `start` and `end` (see `rules.contract`). The recorder waits while
the model is resident and no batch runs, warms up, calibrates how many batches make an epoch of the
wanted length, and then takes the epochs. On a GPU
two events a batch go onto the stream; after the epoch they are resolved against the host's
monotonic clock by an anchor at either end. On a CPU the host clock serves.
"""

import math
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, Protocol

from rules.bundle_format.records import BatchWindow
from rules.contract import Training

WARMUP_BATCHES = 3
FIRST_CALIBRATION_BATCHES = 2
# A calibration phase takes at least this share of an epoch.
CALIBRATION_SHARE = 0.2


class Clock(Protocol):
    """Marks instants on the timeline of a device, and later gives them in ns of the node's
    monotonic clock."""

    def open(self) -> None:
        """Wait for the device and start a new timeline."""
        ...

    def mark(self) -> None:
        """Mark the instant at which the device has finished all work submitted so far."""
        ...

    def close(self) -> list[int]:
        """Wait for the device. Returns the instants of all marks since `open`, in ns."""
        ...


class HostClock:
    """For devices that compute while the host waits, such as a CPU."""

    def open(self) -> None:
        self._marks: list[int] = []

    def mark(self) -> None:
        self._marks.append(time.monotonic_ns())

    def close(self) -> list[int]:
        return self._marks


class CudaClock:
    """Events on the current CUDA stream, placed on the host's clock by an anchor before the first
    and one after the last.

    Event times have a resolution of about 1 us (float32 milliseconds: 2 us at 30 s); the two
    anchors take out the drift between the clocks. Source: CUDA runtime API, cudaEventElapsedTime.
    """

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._pool: list[Any] = []

    def open(self) -> None:
        self._torch.cuda.synchronize()
        self._used = 0
        self._anchor = self._anchor_event()

    def mark(self) -> None:
        self._event().record()

    def close(self) -> list[int]:
        first, first_ns = self._anchor
        count = self._used
        last, last_ns = self._anchor_event()
        # `elapsed_time` is in ms. The scale takes out the drift between the clocks of device and
        # host.
        scale = (last_ns - first_ns) / (first.elapsed_time(last) * 1e6)
        # Event 0 is the first anchor and not a mark.
        return [first_ns + round(first.elapsed_time(e) * 1e6 * scale) for e in self._pool[1:count]]

    def _anchor_event(self) -> tuple[Any, int]:
        event = self._event()
        event.record()
        event.synchronize()
        return event, time.monotonic_ns()

    def _event(self) -> Any:
        # Events are reused in every epoch, so that the loop creates none once the pool is large
        # enough.
        if self._used == len(self._pool):
            self._pool.append(self._torch.cuda.Event(enable_timing=True))
        self._used += 1
        return self._pool[self._used - 1]


class EpochRecorder:
    """The recorder of one rank (see `rules.contract.Recorder`).

    `agree` returns the largest of the values that all ranks give it, and so also makes them wait
    for each other. `on_calibrated` is given batches per epoch and seconds per batch, `on_epoch`
    each finished epoch's number, windows and losses. `idle_s` is the time without batches before
    the first one. `on_phase` is given the name, start and end of each phase before the first epoch.
    `trainings` has those of the present phase.
    """

    def __init__(
        self,
        clock: Clock,
        epochs: int,
        epoch_s: float,
        rank: int,
        agree: Callable[[float], float],
        on_epoch: Callable[[int, list[BatchWindow], list[float]], None],
        on_calibrated: Callable[[int, float], None] = lambda batches, batch_s: None,
        idle_s: float = 0.0,
        on_phase: Callable[[str, int, int], None] = lambda phase, start_ns, end_ns: None,
    ) -> None:
        self._clock, self._rank, self._agree = clock, rank, agree
        self._epochs, self._epoch_s = epochs, epoch_s
        self._on_epoch, self._on_calibrated = on_epoch, on_calibrated
        self._idle_s, self._on_phase = idle_s, on_phase
        self._items: list[int] = []
        self._open = False
        self._losses: list[Any] = []
        self.trainings: list[Training] = []
        self._wanted = 0
        self._phases = self._plan()

    def more(self) -> bool:
        if len(self._items) < self._wanted:
            return True
        try:
            self._wanted = next(self._phases)
        except StopIteration:
            return False
        self._items, self._losses, self.trainings = [], [], []
        # All ranks begin a phase together, so that no epoch contains the wait for a slower rank.
        self._agree(0.0)
        self._clock.open()
        return True

    def start(self) -> None:
        if self._open:
            raise RuntimeError("a batch was started before the last one was ended")
        self._open = True
        self._clock.mark()

    def end(self, items: int, loss: Any = None, training: Training | None = None) -> None:
        if not self._open:
            raise RuntimeError("a batch was ended that was not started")
        # Throughput is items by time, so a batch without items would not count.
        if items < 1:
            raise ValueError(f"a batch was ended with {items} items; give how many it has")
        self._open = False
        self._clock.mark()
        self._items.append(items)
        if loss is not None:
            self._losses.append(loss)
        if training is not None:
            self.trainings.append(training)

    def _plan(self) -> Iterator[int]:
        """Yield the number of batches of each phase: warm-up, calibration, epochs. A phase has
        ended when the next number is requested."""
        # Once every rank has built its model, so that no rank is still building or already
        # computing while another one is idle.
        self._agree(0.0)
        start_ns = time.monotonic_ns()
        time.sleep(self._idle_s)
        start_ns = self._end_phase("resident", start_ns)
        # The first batches compile, autotune and fill caches. Their times say nothing about an
        # epoch.
        yield WARMUP_BATCHES
        self._windows(0)
        start_ns = self._end_phase("warm-up", start_ns)
        batches, batch_s = FIRST_CALIBRATION_BATCHES, 0.0
        # Batches are doubled until they take long enough. All ranks decide by the same number, the
        # largest, so they leave the loop together.
        while self._agree(batches * batch_s) < self._epoch_s * CALIBRATION_SHARE:
            batches *= 2
            yield batches
            # The median, because the mean of a few batches with a stalled one among them makes all
            # epochs too short.
            batch_s = median(w.end_ns - w.start_ns for w in self._windows(0)) / 1e9
        # The protocol requires a minimum of active time, for the fastest rank as well. So all ranks
        # use the largest number of batches.
        per_epoch = int(self._agree(max(1, math.ceil(self._epoch_s / batch_s))))
        self._on_calibrated(per_epoch, batch_s)
        self._end_phase("calibration", start_ns)
        for epoch in range(self._epochs):
            yield per_epoch
            windows = self._windows(epoch)
            # `float` waits for the device, so losses are converted only after the epoch.
            self._on_epoch(epoch, windows, [float(loss) for loss in self._losses])

    def _end_phase(self, phase: str, start_ns: int) -> int:
        """Report the phase and return its end, which is the start of the next one."""
        end_ns = time.monotonic_ns()
        self._on_phase(phase, start_ns, end_ns)
        return end_ns

    def _windows(self, epoch: int) -> list[BatchWindow]:
        marks = self._clock.close()
        starts, ends = marks[0::2], marks[1::2]
        return [
            BatchWindow(epoch, batch, self._rank, starts[batch], ends[batch], items)
            for batch, items in enumerate(self._items)
        ]
