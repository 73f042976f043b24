"""One attempt at a run: sampler, workers, epochs, readbacks, evidence, bundle."""

import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness import interrupts
from harness.host_load import HostLoad
from harness.power.reading_process import SamplerError
from harness.power.sampler import SAMPLES_FILE, UNUSED_DIRECTORY, Sampler, Settings
from harness.power.source import Readback
from harness.processes import Workers, list_descendants
from harness.run.board_settings import check_locked_clock
from harness.run.cluster import Cluster
from harness.run.evidence import gather
from harness.run.export import RunExport
from harness.run.node_share import (
    BoardReadback,
    ClockReading,
    Measurements,
    NodeShare,
    SamplingCounts,
    collect_share,
    list_trainings,
)
from harness.run.plan import Plan
from harness.run.progress import View, describe_calibration
from harness.run.run_directory import RunEvents, write_state
from harness.run.workers.launch import make_node_readers, make_worker_environment, make_workers
from harness.run.workers.load_generator import RequestTally
from harness.run.workers.mismatch import describe_mismatch
from harness.run.workers.worker_events import (
    EpochCalibrated,
    FilesUnwritable,
    JobRefused,
    MemoryExhausted,
    RankEndedEpoch,
    RankEndedPhase,
    TokensTallied,
    WorkerEvent,
    WorkerEventReader,
    WorkerFailed,
    WorkerFinished,
    WorkerStarted,
    WorkloadBuilt,
)
from harness.slurm.energy import open_account
from rules.bundle_format import write as bundle
from rules.bundle_format.events import (
    Calibrated,
    EpochEnded,
    LimitsReadBack,
    PhaseEnded,
    RankBuilt,
    WorkersEnded,
)
from rules.json_record import from_json, to_json
from rules.metrics import run as metrics
from rules.metrics.idle import BARE, BUILD, RESIDENT, START_UP
from rules.protocol import CURRENT
from rules.workloads import workloads

POLL_S = 0.1
# Energy is interpolated at the edges of batches, so samples must surround the first and last batch.
SETTLE_S = 0.25
EXIT_TIMEOUT_S = 30.0
UNUSED_INTERVAL_MS = 1000
"""How often the boards that the run does not use are read."""


class RunFailed(Exception):
    """The run did not complete. The message says why and what to do."""


class RunUnwritable(RunFailed):
    """The files of the run cannot be written, on a full disk for example."""


class RunRefused(RunFailed):
    """The run cannot work as requested. Running it again would not help."""


def run(
    plan: Plan,
    directory: Path,
    target: Path,
    view: View,
    events: RunEvents,
    cluster: Cluster | None,
    ensure_watchdog: Callable[[], None],
    export: RunExport | None = None,
) -> None:
    """Carry out `plan` in its `directory`, export its progress, and write the bundle to `target`.
    In a run over several nodes only the head writes the bundle.

    `ensure_watchdog` is called before every readback. Raises RunFailed, ClusterError, SamplerError
    or OSError, and what `ensure_watchdog` raises; `target` then does not exist. Raises Interrupted
    too. A signal that arrives while the bundle is written takes effect when it is complete.
    """
    attempt = Attempt(plan, directory, view, events, ensure_watchdog, export)
    account = open_account(plan.job, os.environ)
    attempt.run()
    if plan.job is not None and account is not None:
        plan = replace(plan, job=replace(plan.job, energy=account.read(os.environ)))
    events.end_attempt()
    share = collect_share(plan, directory, attempt.measurements)
    if cluster and plan.node > 0:
        cluster.send("share", to_json(share))
        # The head confirms the bundle. Until then the files of this node must stay.
        cluster.receive("bundle", 0)
        cluster.finish_exchange()
        return
    shares = [share]
    if cluster:
        shares += [
            # All nodes run the same code, so the shares have the form of this one.
            from_json(NodeShare, cluster.receive("share", node), is_validated=True)
            for node in range(1, plan.nodes)
        ]
    # The measurement is complete, and writing it takes a second. A signal takes effect afterwards.
    with interrupts.defer_signals():
        try:
            evidence = gather(plan, shares, make_worker_environment(plan))
        except metrics.MetricsError as error:
            raise RunFailed(f"the run ended, but its figures cannot be computed: {error}") from None
        bundle.write(evidence, target)
        if cluster:
            cluster.send("bundle", {"run_id": plan.run_id})
    if cluster:
        cluster.finish_exchange()


class Attempt:
    """One attempt at a plan on this node. It fills `measurements` while it runs."""

    def __init__(
        self,
        plan: Plan,
        directory: Path,
        view: View,
        events: RunEvents,
        ensure_watchdog: Callable[[], None],
        export: RunExport | None,
    ) -> None:
        self.measurements = Measurements()
        self._plan, self._directory, self._view = plan, directory, view
        self._ensure_watchdog = ensure_watchdog
        self._events, self._export = events, export
        self._workload = workloads()[plan.configuration.workload]
        self._pids: dict[int, int] = {}
        """Of the workers, by rank."""
        self._finished_ranks: set[int] = set()
        """Ranks that have ended their last epoch."""
        self._epoch_ends: dict[int, list[RankEndedEpoch]] = {}
        """For each epoch, the events of the ranks that have ended it."""
        self._phase_ends: dict[str, list[RankEndedPhase]] = {}
        """The same for each phase before the first epoch."""
        self._launch_ns = 0
        """When the workers were started."""

    def run(self) -> None:
        """Run the workers while the sampler samples. Raises RunFailed or SamplerError."""
        plan = self._plan
        settings = Settings(
            plan.meter,
            tuple(device.uuid for device in plan.devices),
            plan.node_name,
            CURRENT.sample_interval_ms,
            str(self._directory.resolve()),
        )
        self.measurements.started_at = datetime.now(UTC)
        self._read_clocks("before")
        started_s = time.monotonic()
        with Sampler(settings) as sampler, ExitStack() as stack:
            readers = stack.enter_context(
                make_node_readers(plan, self._directory, self._view).run()
            )
            self._read_back(sampler, "before")
            # The bare phase is part of the time that node meters are read before the first batch.
            self._wait(SETTLE_S + max(0.0, readers.margin_s - plan.idle_s), sampler)
            bare_start_ns = time.monotonic_ns()
            self._sample_unused_boards(stack)
            self._wait(plan.idle_s - (time.monotonic_ns() - bare_start_ns) / 1e9, sampler)
            self._launch_ns = time.monotonic_ns()
            self._add_phase(sampler, BARE, bare_start_ns, self._launch_ns)
            workers = make_workers(plan, self._directory, self._view)
            with HostLoad(plan.configuration.host_load), workers:
                self._follow(workers, sampler)
                # All epochs are done. A worker that hangs while it exits must not cost the run.
                status = workers.wait(EXIT_TIMEOUT_S)
            self._view.log_line(f"the workers ended with status {status}")
            self._events.add(WorkersEnded, status=status)
            self._read_back(sampler, "after")
            self._wait(SETTLE_S + readers.margin_s, sampler)
            self.measurements.node_sampling = readers.stop()
            self.measurements.sampling = SamplingCounts(**sampler.stop())
        self._read_clocks("after")
        # By the monotonic clock of the samples. The wall clock may be set while a run goes on.
        self.measurements.ended_at = self.measurements.started_at + timedelta(
            seconds=time.monotonic() - started_s
        )

    def _sample_unused_boards(self, stack: ExitStack) -> None:
        """Read the boards of the node that the run does not use until `stack` is closed. A process
        of its own reads them, so that a board that hangs delays no sample."""
        plan, directory = self._plan, self._directory / UNUSED_DIRECTORY
        if not plan.machine.unused_boards:
            return
        directory.mkdir()
        task = plan.meter, plan.machine.unused_boards, plan.node_name, UNUSED_INTERVAL_MS
        settings = Settings(*task, str(directory.resolve()))
        try:
            stack.enter_context(Sampler(settings))
        except SamplerError as error:
            # The run needs the readings of its own boards only.
            self._view.log_line(f"the unused boards cannot be read: {error}")

    def _read_clocks(self, when: str) -> None:
        """Read both clocks. The pairs relate the monotonic clocks of several nodes to wall time."""
        reading = ClockReading(self._plan.node_name, when, time.monotonic_ns(), time.time_ns())
        self.measurements.clocks.append(reading)

    def _follow(self, workers: Workers, sampler: Sampler) -> None:
        """Handle the events of the workers until every rank has finished. Raises RunFailed."""
        reader = WorkerEventReader(self._directory, self._plan.ranks)
        while len(self._finished_ranks) < self._plan.processes:
            status = workers.wait(0)
            # Read events after the status: what a worker wrote before it ended is then always seen.
            for event in reader.read_new():
                if isinstance(event, WorkerFailed | FilesUnwritable | JobRefused):
                    # The worker ends by itself, after its traceback has reached the log.
                    workers.wait(EXIT_TIMEOUT_S)
                self._handle_event(event, sampler)
            if status is not None and len(self._finished_ranks) < self._plan.processes:
                raise RunFailed(
                    f"the workers ended with status {status} before their last epoch; the "
                    "log says why"
                )
            self._wait(POLL_S, sampler)

    def _wait(self, seconds: float, sampler: Sampler) -> None:
        """Wait, and export the latest readings meanwhile. Raises SamplerError."""
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            if self._export:
                self._export.update(sampler.read_latest, self._view)
            self._view.wait(min(left_s, POLL_S))

    def _handle_event(self, event: WorkerEvent, sampler: Sampler) -> None:
        """Record what the event reports. Raises RunFailed if it ends the run."""
        match event:
            case WorkerStarted():
                self._pids[event.rank] = event.pid
                if event.source_sha256 != self._plan.source_sha256:
                    raise RunFailed(
                        f"rank {event.rank} runs other code than the harness; is there a second "
                        "copy of wattmark?"
                    )
            case WorkloadBuilt():
                if mismatch := describe_mismatch(self._plan, event):
                    raise RunFailed(mismatch)
                self._record_built(event)
            case RankEndedPhase():
                self._end_phase(event, sampler)
            # All ranks of a node report the same number. One line is enough.
            case EpochCalibrated() if event.rank == self._plan.ranks[0]:
                self._record_calibration(event)
            case RankEndedEpoch():
                ends = self._epoch_ends.setdefault(event.epoch, [])
                ends.append(event)
                # An epoch is over when its slowest rank has ended it.
                if len(ends) == self._plan.processes:
                    self._end_epoch(event.epoch, ends, sampler)
            case MemoryExhausted():
                raise RunFailed(
                    "out of memory at batch size "
                    f"{self._plan.configuration.batch_size} per accelerator "
                    f"(rank {event.rank}: {event.message}); "
                    "use a smaller --batch, or --batch auto to find the highest that is stable"
                )
            case JobRefused():
                raise RunRefused(f"rank {event.rank}: {event.message}")
            case FilesUnwritable():
                raise RunUnwritable(f"rank {event.rank}: {event.message}")
            case WorkerFailed():
                raise RunFailed(f"rank {event.rank}: {event.message}; the log has the rest")
            case TokensTallied():
                self.measurements.tally = RequestTally(
                    event.requests, event.client_output_tokens, event.server_output_tokens
                )
            case WorkerFinished():
                self._finished_ranks.add(event.rank)

    def _record_built(self, event: WorkloadBuilt) -> None:
        self.measurements.built[event.rank] = event
        self._events.add(
            RankBuilt,
            rank=event.rank,
            accelerators=event.accelerators,
            precision=event.precision,
            seconds=event.seconds,
        )
        self._view.print_line(
            f"rank {event.rank}: built in {event.seconds:.0f} s on "
            f"{', '.join(event.accelerators)}, {event.precision}"
        )

    def _end_phase(self, event: RankEndedPhase, sampler: Sampler) -> None:
        """Record a phase when the last rank of this node has ended it."""
        ends = self._phase_ends.setdefault(event.phase, [])
        ends.append(event)
        if len(ends) < self._plan.processes:
            return
        # A node is idle while all its ranks are, and busy while one of them is.
        first, last = (max, min) if event.phase == RESIDENT else (min, max)
        start_ns = first(end.start_ns for end in ends)
        end_ns = last(end.end_ns for end in ends)
        if event.phase == BUILD:
            self._add_phase(sampler, START_UP, self._launch_ns, start_ns)
        self._add_phase(sampler, event.phase, start_ns, end_ns)

    def _add_phase(self, sampler: Sampler, phase: str, start_ns: int, end_ns: int) -> None:
        self._events.add(PhaseEnded, phase=phase, start_ns=start_ns, end_ns=end_ns)
        self._view.end_phase(phase, self.measurements.compiles)
        # Only idle phases: epochs may have begun, whose samples stay in memory until printed.
        if phase in (BARE, RESIDENT):
            sampler.flush()

    def _record_calibration(self, event: EpochCalibrated) -> None:
        plan = self._plan
        self.measurements.batches_per_epoch = event.batches_per_epoch
        self._view.print_line(describe_calibration(plan, event.batches_per_epoch, event.batch_s))
        self._events.add(
            Calibrated,
            batch_size=plan.configuration.batch_size,
            batches_per_epoch=event.batches_per_epoch,
            batch_s=event.batch_s,
        )
        self._view.begin_epochs(plan.epochs, self._workload.item_of(plan.configuration.size))

    def _end_epoch(self, epoch: int, ends: Sequence[RankEndedEpoch], sampler: Sampler) -> None:
        """Record an epoch that all ranks of this node have ended, and print its line."""
        start_ns = min(end.start_ns for end in ends)
        end_ns = max(end.end_ns for end in ends)
        power_w = sampler.measure_power(start_ns, end_ns)
        # Samples go to disk once an epoch, together with the batch windows.
        sampler.flush()
        if epoch < CURRENT.discarded_epochs:
            check_locked_clock(self._plan, self._directory / SAMPLES_FILE, start_ns, end_ns)
        self._read_back(sampler, f"epoch-{epoch}")
        losses = next(end.losses for end in ends if end.rank == self._plan.ranks[0])
        # JSON has no NaN and no infinity.
        self.measurements.losses[epoch] = [loss if math.isfinite(loss) else None for loss in losses]
        self.measurements.trainings[epoch] = list_trainings(ends)
        write_state(self._directory, finished_epochs=len(self.measurements.losses))
        items = sum(end.items for end in ends)
        if self._export:
            self._export.add_epoch(items)
        self._events.add(EpochEnded, epoch=epoch, items=items, start_ns=start_ns, end_ns=end_ns)
        # As the figures of the bundle do, divide by the active time.
        seconds = sum(end.active_s for end in ends) / len(ends)
        items_per_s = metrics.items_per_second(items, seconds)
        power = " ".join("-" if w is None else f"{w:.0f}" for w in power_w)
        loss_text = "".join(
            f"  loss {loss:.4g}" if math.isfinite(loss) else f"  loss is not finite: {loss}"
            for loss in losses[-1:]
        )
        discarded = "  (discarded)" if epoch < CURRENT.discarded_epochs else ""
        rate = f"{items_per_s:10.2f} {self._workload.rate_unit(self._plan.configuration.size)}"
        self._view.print_line(
            f"epoch {epoch:2d}  {seconds:6.2f} s  {rate}  {power:>5} W{loss_text}{discarded}"
        )
        self._view.show_epoch_end(items_per_s, power)

    def _read_back(self, sampler: Sampler, when: str) -> None:
        """Record limits and state of every accelerator. Raises SamplerError."""
        # Replaces a watchdog that died, or ends the run if none starts.
        self._ensure_watchdog()
        # Some libraries list every process that has a board open, the harness too.
        run_pids = [os.getpid(), *list_descendants(self._pids.values())]
        for state in sampler.readback(run_pids):
            board = BoardReadback(when, state.pop("accelerator"), Readback(**state))
            self.measurements.readbacks.append(board)
            self._events.add(
                LimitsReadBack,
                when=when,
                accelerator=board.accelerator,
                requested_mw=board.readback.requested_mw,
                enforced_mw=board.readback.enforced_mw,
            )
