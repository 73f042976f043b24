"""Helpers of the tests of sweeps: plans, and a fake of a run that leaves a good bundle."""

from collections.abc import Sequence
from pathlib import Path

from click.testing import CliRunner, Result
from conftest import copy_evidence
from support.bundles import make_other_run, rederive
from support.bundles import write_bundle as write_evidence
from support.good_documents import BATCH_SIZE, CAP_MW, UUIDS

from harness.cli import main
from harness.power.source import Device
from harness.run.plan import Machine, RunRequest
from harness.run.planning import make_plan
from harness.sweep.axis import CAP, GPUS
from harness.sweep.plan import Entry, Sweep, make_sweep, shuffle_runs
from harness.system import hash_source, read_description

RUN_REQUEST = RunRequest("resnet50-train", gpus=2, batch=str(BATCH_SIZE), epoch_s=30.5)
"""The request that the bundles of tests/support/bundles.py answer."""
BOARDS = Machine(
    "nvidia",
    "cuda",
    None,
    tuple(Device(uuid, "NVIDIA H200", "NVIDIA") for uuid in UUIDS),
    "P0",
    CAP_MW / 1e3,
)

GAINS = (
    "energy_gain_percent",
    "extra_time_percent",
    "gain_minus_extra_time_points",
    "edp_gain_percent",
    "eds_gain_k15_percent",
    "eds_gain_k2_percent",
)
"""The columns of gains in the tables of sweeps."""


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["sweep", *map(str, arguments)])


def join_output(result: Result) -> str:
    return " ".join(result.output.split())


def write_bundle(
    run_request: RunRequest,
    out: Path,
    name: str | None = None,
    power_at_mw: int | None = None,
    **changes: object,
) -> Path:
    """A good bundle of two accelerators at the cap of a run request, as a run of the sweep would
    leave it, or with the power that it would have at another cap.
    """
    evidence = make_other_run(
        copy_evidence(), run_request.sweep["place"] if run_request.sweep else 0
    )
    evidence.result["settings"]["seed"] = run_request.seed
    result, samples = evidence.result, evidence.samples
    cap_mw = CAP_MW if run_request.cap_w is None else round(1e3 * run_request.cap_w)
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        samples[column] = (samples[column] * (power_at_mw or cap_mw) / CAP_MW).round()
    samples["cap_mw"] = float(cap_mw)
    for readback in result["readbacks"]:
        readback.update(requested_mw=cap_mw, enforced_mw=cap_mw)
    result["power"]["cap_w"] = cap_mw / 1e3
    if cap_mw != CAP_MW:
        result["power"].update(mode="set", found_mw=dict.fromkeys(UUIDS, CAP_MW))
    rederive(evidence)
    place = run_request.sweep["place"] if run_request.sweep else 0
    result.update(
        run_id=name or f"run-{place:03d}-{len(list(out.iterdir()))}",
        sweep=run_request.sweep,
        **changes,
    )
    evidence.environment["source_sha256"] = hash_source()
    evidence.system.update(
        {k: v for k, v in read_description(run_request.system).items() if k != "name" or v}
    )
    write_evidence(evidence, out / result["run_id"])
    return out / result["run_id"]


class FakeRuns:
    """Stands in for `command.run` and leaves a bundle. `failures` are exceptions by place that it
    raises instead; `late_failures` are exceptions that it raises after it left the bundle."""

    def __init__(self) -> None:
        self.failures: dict[int, BaseException] = {}
        self.late_failures: dict[int, BaseException] = {}
        self.run_requests: list[RunRequest] = []

    def __call__(self, run_request: RunRequest, out: Path) -> bool:
        self.run_requests.append(run_request)
        if run_request.sweep["place"] in self.failures:
            raise self.failures[run_request.sweep["place"]]
        write_bundle(run_request, out)
        if run_request.sweep["place"] in self.late_failures:
            raise self.late_failures[run_request.sweep["place"]]
        return True

    @property
    def places(self) -> list[int]:
        return [run_request.sweep["place"] for run_request in self.run_requests]


def make_entries(
    caps_w: Sequence[float | None], gpus: Sequence[int], repeats: int, seed: int
) -> tuple[Entry, ...]:
    """The runs of a sweep over caps and numbers of accelerators."""
    return shuffle_runs((CAP.take(*caps_w), GPUS.take(*gpus)), repeats, seed)


def make_test_sweep(run_request: RunRequest, entries: tuple[Entry, ...]) -> Sweep:
    """A sweep on the boards of the good bundles."""
    return make_sweep(run_request, entries, make_plan(run_request, BOARDS, {}, hash_source()))


def save_sweep(
    tmp_path: Path, *caps_w: float | None, repeats: int = 1, run_request: RunRequest = RUN_REQUEST
) -> tuple[Sweep, Path]:
    """A sweep of two accelerators, and its plan file in `tmp_path`."""
    sweep = make_test_sweep(run_request, make_entries(caps_w, (2,), repeats, seed=1))
    return sweep, sweep.save(tmp_path)


def read_manifests(root: Path) -> dict[str, bytes]:
    """The manifests of the bundles below `root`, by the name of the bundle."""
    return {p.parent.name: p.read_bytes() for p in root.glob("*/MANIFEST.json")}
