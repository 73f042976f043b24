"""One attempt at a run: sampler, workers, epochs, read-backs, evidence, bundle."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from checker.judging.cpu import count_cores
from harness import interrupts
from harness.power.rocm_devices import VISIBLE_VARIABLES
from harness.power.sampler import Sampler, Settings
from harness.processes import Workers, list_descendants
from harness.run.cluster import Cluster, address
from harness.run.events import RunEvents
from harness.run.evidence import Measurements, gather, share_of
from harness.run.plan import SIMULATED_WORK, Plan
from harness.run.progress import View, headline
from harness.run.run_directory import write_state
from rules.bundle_format import write as bundle
from rules.bundle_format.events import (
    Calibrated,
    EpochEnded,
    LimitsReadBack,
    RankBuilt,
    WorkersEnded,
)
from rules.bundle_format.records import Json
from rules.metrics import run as metrics
from rules.protocol import CURRENT
from rules.workloads import workloads

POLL_S = 0.1
# Energy is interpolated at the edges of batches, so samples must surround the first and last batch.
SETTLE_S = 0.25
EXIT_TIMEOUT_S = 30.0


class RunFailed(Exception):
    """The run did not complete. The message says why and what to do."""


class RunRefused(RunFailed):
    """The run cannot work as requested. Running it again would not help."""


def run(
    plan: Plan,
    directory: Path,
    target: Path,
    view: View,
    events: RunEvents,
    cluster: Cluster | None,
    guard: Callable[[], None],
) -> None:
    """Carry out `plan` in its `directory` and leave the bundle at `target`; of several nodes, the
    head does.

    `guard` is called before every readback. Raises RunFailed, ClusterError, SamplerError or
    OSError, or what `guard` raises; nothing is at `target` then. Raises Interrupted too; a signal
    that arrives while the bundle is written is heard after that.
    """
    attempt = Attempt(plan, directory, view, events, guard)
    attempt.take()
    events.end_attempt()
    shares = [share_of(plan, directory, attempt.measurements)]
    if cluster and plan.node > 0:
        cluster.tell("share", shares[0])
        cluster.hear("bundle", 0)
        cluster.part()
        return
    if cluster:
        shares += [cluster.hear("share", node) for node in range(1, plan.nodes)]
    # The measurement is complete, and writing it takes a second. A signal takes effect afterwards.
    with interrupts.defer_signals():
        try:
            evidence = gather(plan, shares, workers_environment(plan))
        except metrics.MetricsError as error:
            raise RunFailed(f"the run ended, but its figures cannot be computed: {error}") from None
        bundle.write(evidence, target)
        for line in headline(evidence.result):
            view.say(line)
        if cluster:
            cluster.tell("bundle", {"run_id": plan.run_id})
    if cluster:
        cluster.part()


def workers(plan: Plan, directory: Path, view: View) -> Workers:
    """The workers of a plan; what they print goes to the log."""
    arguments = ["harness.run.worker", str(directory.resolve())]

    def note(line: str) -> None:
        # A full disk ends the run elsewhere. Here it must not stop the reader, because workers
        # block when nobody reads their output.
        with suppress(OSError):
            view.note(f"| {line}")

    # One process has no others to meet. Without torchrun, which imports torch, it starts seconds
    # faster.
    is_alone = plan.processes == plan.nodes == 1
    meeting = None if is_alone else _rendezvous_arguments(plan)
    return Workers(plan.processes, meeting, arguments, workers_environment(plan), note)


def _rendezvous_arguments(plan: Plan) -> list[str]:
    """The options that tell torchrun's agents on all nodes where to meet."""
    if plan.head is None:
        return ["--standalone", "--nnodes=1"]
    host, port = address(plan.head)
    # The named port is taken by the exchange between the nodes (`harness.run.cluster`).
    endpoint = [f"--master-addr={host}", f"--master-port={port + 1}"]
    # Static: the ranks follow from --node, so they match `Plan.ranks`. With other backends torchrun
    # assigns them.
    return [
        "--rdzv-backend=static",
        f"--nnodes={plan.nodes}",
        f"--node-rank={plan.node}",
        *endpoint,
    ]


def workers_environment(plan: Plan) -> dict[str, str]:
    """The environment of the workers: which GPUs are theirs, and threads for those that compute on
    the CPU."""
    uuids = ",".join(d.uuid for d in plan.devices)
    if plan.torch_device == "cpu":
        # Torch starts a thread per core in each process. Several processes would then slow each
        # other down.
        threads = max(1, count_cores() // plan.processes)
        variables = {
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(threads)),
        }
        return {**os.environ, **variables}
    if plan.devices[0].vendor != "AMD":
        # UUIDs instead of numbers, because CUDA and NVML may count in different orders.
        return {**os.environ, "CUDA_VISIBLE_DEVICES": uuids}
    # ROCm's variables take no PCI addresses, and GPUs of virtual machines have no UUID.
    if any(d.uuid.startswith("PCI-") for d in plan.devices):
        return dict(os.environ)
    # A HIP or CUDA variable of the user would select once more among the GPUs that ROCr leaves.
    return {k: v for k, v in os.environ.items() if k not in VISIBLE_VARIABLES} | {
        "ROCR_VISIBLE_DEVICES": uuids
    }


def clocks(when: str) -> Json:
    """The monotonic and the wall clock of this node, read directly after each other."""
    # The pairs relate the monotonic clocks of several nodes to wall time.
    return {"when": when, "monotonic_ns": time.monotonic_ns(), "wall_ns": time.time_ns()}


class Follower:
    """Reads the event files of this node's ranks as they grow."""

    def __init__(self, directory: Path, ranks: range) -> None:
        self._paths = {rank: directory / f"events.{rank}.jsonl" for rank in ranks}
        self._offsets = dict.fromkeys(ranks, 0)

    def news(self) -> Iterator[tuple[int, Json]]:
        """Rank and event of everything written since the last call."""
        for rank, path in self._paths.items():
            if not path.exists():
                continue
            with path.open() as file:
                file.seek(self._offsets[rank])
                # A line without its end is still being written. The offset stays before it.
                while (line := file.readline()).endswith("\n"):
                    self._offsets[rank] = file.tell()
                    yield rank, json.loads(line)


class Attempt:
    """One attempt at a plan. `measurements` fills while it runs."""

    def __init__(
        self,
        plan: Plan,
        directory: Path,
        view: View,
        events: RunEvents,
        guard: Callable[[], None],
    ) -> None:
        self.measurements = Measurements()
        self._plan, self._directory, self._view, self._guard = plan, directory, view, guard
        self._events = events
        self._workload = workloads()[plan.workload]
        self._pids: dict[int, int] = {}
        self._finished: set[int] = set()
        self._ends: dict[int, list[Json]] = {}
        """Of each epoch, the events of the ranks that have ended it."""

    def take(self) -> None:
        """Run the workers while the sampler samples. Raises RunFailed or SamplerError."""
        plan = self._plan
        accelerators = tuple(d.uuid for d in plan.devices)
        settings = Settings(
            plan.meter,
            accelerators,
            plan.node_name,
            CURRENT.sample_interval_ms,
            str(self._directory.resolve()),
        )
        self.measurements.started_at = datetime.now(UTC)
        self.measurements.clocks = [clocks("before")]
        started_s = time.monotonic()
        with Sampler(settings) as sampler:
            self._read_back(sampler, "before")
            time.sleep(SETTLE_S)
            with workers(plan, self._directory, self._view) as ranks:
                self._follow(ranks, sampler)
                # All epochs are done. A worker that hangs while it exits must not cost the run.
                status = ranks.wait(EXIT_TIMEOUT_S)
            self._view.note(f"the workers ended with status {status}")
            self._events.add(WorkersEnded, status=status)
            self._read_back(sampler, "after")
            time.sleep(SETTLE_S)
            self.measurements.sampling = sampler.stop()
        self.measurements.clocks.append(clocks("after"))
        # By the monotonic clock of the samples. The wall clock may be set while a run goes on.
        self.measurements.ended_at = self.measurements.started_at + timedelta(
            seconds=time.monotonic() - started_s
        )

    def _follow(self, ranks: Workers, sampler: Sampler) -> None:
        follower = Follower(self._directory, self._plan.ranks)
        while len(self._finished) < self._plan.processes:
            status = ranks.wait(0)
            # Read events after the status: what a worker wrote before it ended is then always seen.
            for rank, event in follower.news():
                if event["event"] in ("failed", "refused"):
                    # The worker ends by itself, after its traceback has reached the log.
                    ranks.wait(EXIT_TIMEOUT_S)
                self._handle_event(rank, event, sampler)
            if status is not None and len(self._finished) < self._plan.processes:
                raise RunFailed(
                    f"the workers ended with status {status} before their last epoch; the "
                    "log says why"
                )
            self._view.power(sampler.power_w)
            time.sleep(POLL_S)

    def _handle_event(self, rank: int, event: Json, sampler: Sampler) -> None:
        match event["event"]:
            case "started":
                self._pids[rank] = event["pid"]
                if event["source_sha256"] != self._plan.source_sha256:
                    raise RunFailed(
                        f"rank {rank} runs other code than the harness; is there a second "
                        "copy of wattmark?"
                    )
            case "built":
                self._check_built(rank, event)
            # All ranks of a node report the same number. One line is enough.
            case "calibrated" if rank == self._plan.ranks[0]:
                self.measurements.batches_per_epoch = event["batches_per_epoch"]
                unit = "requests" if self._plan.requests else f"batches of {self._plan.batch_size}"
                self._view.say(
                    f"{event['batches_per_epoch']} {unit} an epoch, "
                    f"{event['batch_s'] * 1e3:.1f} ms each"
                )
                self._events.add(
                    Calibrated,
                    batch_size=self._plan.batch_size,
                    batches_per_epoch=event["batches_per_epoch"],
                    batch_s=event["batch_s"],
                )
                self._view.begin_epochs(self._plan.epochs, self._workload.item)
            case "epoch":
                ends = self._ends.setdefault(event["epoch"], [])
                ends.append(event)
                # An epoch is over when its slowest rank has ended it.
                if len(ends) == self._plan.processes:
                    self._end_epoch(event["epoch"], ends, sampler)
            case "out-of-memory":
                raise RunFailed(
                    f"out of memory at batch size {self._plan.batch_size} per accelerator "
                    f"(rank {rank}: {event['message']}); "
                    f"use a smaller --batch, or --batch auto to find the highest that is stable"
                )
            case "refused":
                raise RunRefused(f"rank {rank}: {event['message']}")
            case "failed":
                raise RunFailed(f"rank {rank}: {event['message']}; the log has the rest")
            case "tally":
                self.measurements.tally = {
                    k: v for k, v in event.items() if k not in ("event", "rank")
                }
            case "finished":
                self._finished.add(rank)

    def _check_built(self, rank: int, event: Json) -> None:
        """Check that a rank built the workload, on an accelerator of the plan. A mistake ends the
        run now and not after its last epoch."""
        size = self._workload.size(self._plan.size)
        for quantity, value, expected in (
            ("parameters", event["parameters"], size.parameters),
            ("input shape", event["input_shape"], list(size.input_shape)),
        ):
            # An open run may change the model; closed runs and demos are of the workload as
            # defined.
            if value != expected and self._plan.standing != "open":
                raise RunFailed(
                    f"rank {rank} built a model of {quantity} {value}; {self._plan.workload} "
                    f"has {expected}"
                )
        if foreign := set(event["accelerators"]) - {d.uuid for d in self._plan.devices}:
            raise RunFailed(
                f"rank {rank} computes on {', '.join(foreign)}, which is not one of the "
                "plan's accelerators"
            )
        if event["implementation_sha256"] != self._plan.implementation_sha256:
            raise RunFailed(
                f"rank {rank} has loaded another {self._plan.implementation} than was "
                "planned; has its file changed?"
            )
        if self._plan.corpus is not None and event["corpus_sha256"] is None:
            raise RunFailed(
                f"{self._plan.implementation} does not train on a corpus; leave out --corpus"
            )
        if self._plan.weights is not None and event["weights_sha256"] is None:
            raise RunFailed(
                f"{self._plan.implementation} does not load weights; leave out --weights"
            )
        self.measurements.built[rank] = event
        self._events.add(
            RankBuilt,
            rank=rank,
            accelerators=tuple(event["accelerators"]),
            precision=event["precision"],
            seconds=event["seconds"],
        )
        accelerators = ", ".join(event["accelerators"])
        self._view.say(
            f"rank {rank}: built in {event['seconds']:.0f} s on {accelerators}, "
            f"{event['precision']}"
        )

    def _end_epoch(self, epoch: int, ends: list[Json], sampler: Sampler) -> None:
        # Samples go to disk once an epoch, together with the batch windows.
        sampler.flush()
        self._read_back(sampler, f"epoch-{epoch}")
        losses = next(e["losses"] for e in ends if e["rank"] == self._plan.ranks[0])
        self.measurements.losses[epoch] = [
            loss if isinstance(loss, float) else None for loss in losses
        ]
        write_state(self._directory, finished_epochs=len(self.measurements.losses))
        start_ns = min(e["start_ns"] for e in ends)
        end_ns = max(e["end_ns"] for e in ends)
        items = sum(e["items"] for e in ends)
        self._events.add(EpochEnded, epoch=epoch, items=items, start_ns=start_ns, end_ns=end_ns)
        seconds = (end_ns - start_ns) / 1e9
        items_per_s = metrics.items_per_second(items, seconds)
        power = " ".join("-" if p is None else f"{p:.0f}" for p in sampler.power_w) or "-"
        loss_text = "".join(
            f"  loss {x:.4g}" if isinstance(x, float) else f"  loss is not finite: {x}"
            for x in losses[-1:]
        )
        discarded = "  (discarded)" if epoch < CURRENT.discarded_epochs else ""
        rate = f"{items_per_s:10.2f} {self._workload.item}s/s"
        self._view.say(
            f"epoch {epoch:2d}  {seconds:6.2f} s  {rate}  {power:>5} W{loss_text}{discarded}"
        )
        self._view.epoch_done(items_per_s)

    def _read_back(self, sampler: Sampler, when: str) -> None:
        # Replaces a watchdog that died, or ends the run if none starts.
        self._guard()
        # Some libraries list every process that has a board open, the harness too.
        own_pids = [os.getpid(), *list_descendants(self._pids.values())]
        readbacks = [{"when": when, **state} for state in sampler.readback(own_pids)]
        self.measurements.readbacks += readbacks
        for readback in readbacks:
            limits = {f: readback[f] for f in ("accelerator", "requested_mw", "enforced_mw")}
            self._events.add(LimitsReadBack, when=when, **limits)
