"""The share of a node of a run, with a value in every field."""

from datetime import UTC, datetime

from harness.power.node_reader import MeterSampling
from harness.power.source import Device, Readback
from harness.run.node_share import (
    BoardReadback,
    ClockReading,
    NodeShare,
    RankTraining,
    SamplingCounts,
)
from harness.run.workers.load_generator import RequestTally
from harness.run.workers.worker_events import WorkloadBuilt
from harness.system import NodeDescription
from rules.bundle_format.events import RankBuilt, WorkersEnded


def make_share(uuid: str = "GPU-1") -> NodeShare:
    """Return the share of a node with the accelerator `uuid`."""
    device = Device(uuid, "NVIDIA H200", "NVIDIA", 141 * 2**30, max_power_w=700.0)
    return NodeShare(
        node=NodeDescription("node1", "a CPU", 64, 512 * 2**30, (device,)),
        built=(
            WorkloadBuilt(
                rank=1,
                accelerators=(uuid,),
                precision="bf16",
                parameters=1000,
                input_shape=(3, 224, 224),
                settings={"compile": True, "optimiser": "sgd"},
                corpus_sha256=None,
                weights_sha256="0" * 64,
                inputs_sha256="1" * 64,
                implementation_sha256=None,
                seconds=12.5,
            ),
        ),
        readbacks=(
            BoardReadback("before", uuid, Readback(requested_mw=500_000, enforced_mw=500_000)),
        ),
        found_mw={uuid: 700_000},
        found_state={uuid: "high"},
        sampling=SamplingCounts(ticks=120, missed=1),
        samples="scheduled_ns\n1\n",
        unused_samples="scheduled_ns\n2\n",
        node_sampling=(MeterSampling("pdu-a", "node1", 1000.0, 30, 2),),
        node_samples=("scheduled_ns\n1\n",),
        batches=("epoch\n0\n", "epoch\n1\n"),
        requests=("epoch\n0\n",),
        events=(
            RankBuilt(
                node="node1",
                attempt=2,
                time_ns=5,
                rank=1,
                accelerators=(uuid,),
                precision="bf16",
                seconds=12.5,
            ),
            WorkersEnded(node="node1", attempt=2, time_ns=9, status=0),
        ),
        log="12:00:00 epoch 0\n",
        clocks=(ClockReading("node1", "before", 1, 2), ClockReading("node1", "after", 3, 4)),
        started_at=datetime(2026, 11, 20, 22, 0, 58, tzinfo=UTC),
        ended_at=datetime(2026, 11, 20, 22, 1, 12, tzinfo=UTC),
        batches_per_epoch=7,
        losses=([0.5, None], [0.25, 0.125]),
        trainings=([RankTraining(1, 7, 40, 0.9)], [RankTraining(1, 8, 35, 0.925)]),
        tally=RequestTally(requests=10, client_output_tokens=1280, server_output_tokens=1280),
    )
