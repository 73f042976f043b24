"""Where rules must keep silent, and bounds that must hold: what mutations of good bundles do not
show."""

import time
from pathlib import Path

import numpy as np
import pytest
from conftest import copy_evidence
from support.bundles import rederive

from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.checks.system import names_leaked
from rules.checks.throughput import throughput_above_bandwidth
from rules.finding import Severity, Violation
from rules.metrics.figures import FIGURES
from rules.registry import bundle_rules, rules_by_id
from rules.run_summary import submission_key
from rules.testing.cases.energy import counter_frozen
from rules.testing.cases.node.idle_contradicts_evidence import record_idle
from rules.testing.cases.power.power_above_board import get_max_power_mw
from rules.testing.cases.protocol import node_clocks_disagree as clock_cases
from rules.testing.cases.throughput import throughput_above_bandwidth as bandwidth_cases
from rules.testing.frames import EvidenceFrames, read_frames
from rules.testing.mutations import (
    add_twin,
    lock_sm_clock,
    scale_readings,
    select_every,
    select_first,
    select_load,
)
from rules.testing.target import train_to_target
from rules.workloads import workloads

MEASURED = sorted((Path(__file__).parents[2] / "submissions" / "reference").glob("*/*/result.json"))


def find_violations(rule: str, evidence: EvidenceFrames) -> list[Violation]:
    return list(rules_by_id()[rule].run(Bundle(Path("example"), (), evidence.evidence())))


def read_measured(path: Path) -> EvidenceFrames:
    evidence, problems = read_frames(read_files(path))
    assert evidence is not None, problems
    return evidence


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize(
    ("part", "rule"), [("mean", "T102"), ("sd", "T103"), ("ci95", "T103"), ("n", "T103")]
)
def test_every_part_of_every_headline_is_recomputed(figure: str, part: str, rule: str) -> None:
    evidence = copy_evidence()
    stated = evidence.result["headline"][figure]
    stated[part] = (
        [stated[part][0], 1.001 * stated[part][1]]
        if part == "ci95"
        else stated[part] * (1.2 if part == "sd" else 1.001) + (part == "n")
    )
    assert any(f"/headline/{figure}" in f.pointer for f in find_violations(rule, evidence))


def test_single_reading_may_exceed_the_limit_of_the_mean() -> None:
    evidence = copy_evidence()
    reading = evidence.samples.index[select_every(150, select_load(evidence))][0]
    for column, share in (("power_mw", 1.5), ("power_avg_mw", 1.05)):
        for more, found in ((-0.01, 0), (0.01, 1)):
            evidence = copy_evidence()
            evidence.samples.loc[reading, column] = (share + more) * get_max_power_mw(evidence)
            assert len(find_violations("W106", evidence)) == found


def test_long_version_of_torch_is_shown_in_part() -> None:
    evidence = copy_evidence()
    evidence.environment["packages"]["torch"] = "2.11.0+cpu" + 300 * "0"
    assert [len(violation.found) for violation in find_violations("M111", evidence)] == [200]


def test_energy_of_a_counter_that_stands_still_is_not_compared() -> None:
    evidence = copy_evidence()
    counter_frozen.counter_gets_stuck(evidence)
    assert find_violations("E102", evidence)
    assert not any("inf" in violation.found for violation in find_violations("E104", evidence))


def test_phases_that_the_result_leaves_out_are_named() -> None:
    evidence = copy_evidence()
    record_idle(evidence)
    del evidence.result["phases"][1:]
    (violation,) = find_violations("N118", evidence)
    assert violation.found == "bare of node0"
    assert violation.expected.startswith("bare of node0, start-up of node0, build of node0, ")


def test_one_epoch_above_the_peak_is_enough() -> None:
    evidence = copy_evidence()
    train_to_target(evidence)
    for training in evidence.result["epochs"][-1]["trainings"]:
        training["steps"] *= 100_000
    (violation, *_) = find_violations("T126", evidence)
    assert f"in epoch {evidence.result['epochs'][-1]['epoch']}" in violation.found


def test_bandwidth_allows_what_was_worked_out_by_hand_and_is_above_what_was_measured() -> None:
    size = workloads()["llama3-8b-serve"].full
    request_set = size.request_set(512)
    # 511 of 512 tokens: 7.505 G parameters over 512 requests, and 64 Ki numbers of 1 024 + 255
    # tokens before; two bytes each.
    by_hand = 2 * (511 / 512) * (7.504924672e9 / 512 + 65_536 * (1024 + 255))
    compute_bytes = throughput_above_bandwidth.compute_bytes_per_token
    assert compute_bytes(size, request_set, 1, 2) == pytest.approx(by_hand, rel=1e-9)
    served = [p.parent for p in MEASURED if "serve" in p.parent.name]
    assert served
    for path in served:
        result = read_measured(path).result
        request_set = size.request_set(result["settings"]["requests"]["concurrency"])
        bytes_per_token = compute_bytes(size, request_set, copies=1, value_bytes=2)
        measured_per_s = result["headline"]["items_per_s"]["mean"]
        assert 0.2 < measured_per_s * bytes_per_token / 4.8e12 < 0.7


def test_bandwidth_is_a_higher_bound_for_more_requests_in_flight_and_fewer_copies() -> None:
    size = workloads()["llama3-8b-serve"].full
    compute_bytes = throughput_above_bandwidth.compute_bytes_per_token
    few, many = size.request_set(64), size.request_set(512)
    bound = compute_bytes(size, many, 1, 2)
    assert compute_bytes(size, few, 1, 2) > bound > compute_bytes(size, many, 1, 1)
    assert compute_bytes(size, many, 8, 2) > bound


def test_what_fits_on_the_chips_is_not_bound_by_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = copy_evidence(serving=True)
    bandwidth_cases.fewer_declared_than_were_in_flight(evidence)
    assert find_violations("T111", evidence)
    monkeypatch.setattr(throughput_above_bandwidth, "ON_CHIP_BYTES", 2e10)  # more than the model
    assert not find_violations("T111", evidence)


CLEAN = """
12:00:01 | File "/opt/torch/.venv/lib/python3.12/site-packages/torch/distributed/run.py", line 990
12:00:02 | Checkout 'https://huggingface.co/docs/transformers/main_classes/model.html' and https://docs.nvidia.com/cuda/
12:00:03 | torch.distributed.elastic.multiprocessing.errors.ChildFailedError
12:00:03 | sglang.srt.models.bailing_moe_linear
12:00:04 | git clone git@github.com:example/code.git; bash /home/ubuntu/run.sh
12:00:04 | pip install timm==1.0.29
12:00:05 | rank 0 signed by reference@wattmark; decorated by @torch.compile
12:00:05 | at 3.5 img/s, self.local.data, x.intern(y), nn.lan[0]
12:00:06 | cap 700 W, 0.05 J/image, N/A, 2.11.0+cu130, 96.00.A5.00.1A, 00000000:00:0B.0, tcp://127.0.0.1:29500
"""
LEAKED = {
    "/home/jdoe/x": "a home directory",
    "/Users/Jane.Doe": "a home directory",
    "mail jane.doe@example.org": "user@host",
    "jdoe@login1:~$": "user@host",
    "NCCL from gpu-07.cluster": "the name of a host",
    "on nid001234.hpc.example.edu now": "the name of a host",
    "at login.center.example.ac.uk, port 22": "the name of a host",
}


@pytest.mark.parametrize("line", CLEAN.strip().split("\n"))
def test_what_names_nobody_is_no_leak(line: str) -> None:
    evidence = copy_evidence()
    evidence.log = line + "\n"
    assert find_violations("M113", evidence) == []


@pytest.mark.parametrize(("text", "leak"), LEAKED.items())
def test_names_of_people_and_hosts_are_leaks(text: str, leak: str) -> None:
    evidence = copy_evidence()
    evidence.log = f"12:00:00 {text}\n"
    assert [f.found.partition(":")[0] for f in find_violations("M113", evidence)] == [leak]


@pytest.mark.parametrize("unit", ["a", "a.", "a@", "a-", "/home/", "a1.b2.", "@", "aa@bb."])
def test_no_text_takes_long_to_search(unit: str) -> None:
    evidence = copy_evidence()
    evidence.log = unit * (names_leaked.MOST_CHARACTERS // len(unit))
    begun_s = time.process_time()
    find_violations("M113", evidence)
    assert time.process_time() - begun_s < 20  # a quadratic search would take hours


@pytest.mark.parametrize("path", [pytest.param(p.parent, id=p.parent.name) for p in MEASURED])
def test_measured_bundles_leak_no_names(path: Path) -> None:
    assert find_violations("M113", read_measured(path)) == []


def test_a_clock_at_its_highest_or_held_by_the_cap_is_not_locked() -> None:
    evidence = copy_evidence()
    load = select_load(evidence)
    evidence.samples.loc[load, ["sm_mhz", "slowdown"]] = (1980.0, 0.0)
    assert not find_violations("C111", evidence)
    evidence.samples.loc[load, ["sm_mhz", "slowdown"]] = (1500.0, 4.0)
    assert not find_violations("C111", evidence)
    evidence.samples.loc[load, "slowdown"] = 0.0
    assert not find_violations("C111", evidence), "the power is at the cap"
    scale_readings(evidence, 0.7, select_first(evidence))
    assert find_violations("C111", evidence)
    evidence.samples.loc[load, "slowdown"] = float("nan")
    assert not find_violations("C111", evidence), "no reason was read"


def test_clocks_of_nodes_may_differ_by_seconds() -> None:
    evidence = copy_evidence()
    add_twin(evidence, "node7")
    clocks = clock_cases.note_clocks(evidence)
    for pair in clocks:
        pair["wall_ns"] += 20 * 10**9 * (pair["node"] == "node7")
    assert not find_violations("P118", evidence) and not find_violations("P121", evidence)
    clocks[-1]["wall_ns"] += 400_000_000
    assert not find_violations("P121", evidence)
    clocks[-1]["wall_ns"] += 1_000_000_000
    assert find_violations("P121", evidence)


def test_a_twin_is_as_good_as_the_first() -> None:
    """The bundles that mutations of several ranks and nodes start from have nothing wrong with
    them."""
    for node in (None, "node7"):
        evidence = copy_evidence()
        add_twin(evidence, node)
        clock_cases.note_clocks(evidence)
        rederive(evidence)
        bundle = Bundle(Path("example"), (), evidence.evidence())
        spoke = {r.id for r in bundle_rules() if "closed" in r.standings and list(r.judge(bundle))}
        assert spoke == set()


@pytest.mark.parametrize("share", [0.5, 0.9, 1.1, 2.0, 300.0, 3000.0])
def test_a_factor_that_is_no_unit_is_not_called_one(share: float) -> None:
    evidence = copy_evidence()
    evidence.samples.loc[select_first(evidence), "energy_mj"] *= share
    assert find_violations("W113", evidence) == []


def test_a_counter_that_is_read_or_refreshed_seldom_does_not_jump() -> None:
    evidence = copy_evidence()
    rows = evidence.samples.index[select_first(evidence)]
    energies_mj = evidence.samples.loc[rows, "energy_mj"].to_numpy(copy=True)
    evidence.samples.loc[rows[100:160], "energy_mj"] = float("nan")
    assert find_violations("E108", evidence) == []
    last = len(energies_mj) - 1
    held_mj = energies_mj[last - (last - np.arange(last + 1)) // 10 * 10]
    evidence.samples.loc[rows, "energy_mj"] = held_mj
    assert find_violations("E108", evidence) == []


def test_the_cuda_runtime_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The versions of torch on PyPI do not say which CUDA they were built for."""
    from harness import system

    monkeypatch.setattr("importlib.metadata.version", lambda name: "13.0.96")
    assert system.read_package_versions()["nvidia-cuda-runtime"] == "13.0.96"


@pytest.mark.parametrize(
    ("vendor", "driver", "packages"),
    [
        ("NVIDIA", "580.65.06", "torch=2.11.0+cu130 torchvision=0.26.0 cuda=13.0.96"),
        ("NVIDIA", "525.60.13", "torch=2.4.1+cu124 cuda-cu12=12.4.127"),
        ("NVIDIA", "450.80.02", "torch=1.12.1+cu116 torchvision=0.13.1"),
        ("NVIDIA", "535.104.05", "torch=2.7.0a0+79aa17489c.nv25.04 torchvision=0.22.0a0"),
        ("AMD", "6.12.12", "torch=2.10.0+rocm7.1 cuda-cu12=12.8.90"),
        ("NVIDIA", "550.54.15", "torch=2.6.0+cu124 cuda-cu12=12.4.127 cuda=13.0.96"),
        ("NVIDIA", None, ""),
    ],
)
def test_versions_that_go_together_are_not_objected_to(
    vendor: str, driver: str | None, packages: str
) -> None:
    evidence = copy_evidence()
    named = packages.replace("cuda", "nvidia-cuda-runtime").split()
    evidence.environment.update(driver=driver, packages=dict(p.split("=") for p in named))
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["vendor"] = vendor
    assert find_violations("M110", evidence) == []


def test_a_declared_lock_is_no_unexplained_clock() -> None:
    evidence = copy_evidence()
    lock_sm_clock(evidence, 1200)
    scale_readings(evidence, 0.7, select_first(evidence))
    busy = evidence.samples["slowdown"] == 0.0
    evidence.samples.loc[busy, "slowdown"] = float(0x2)
    rules = ("C108", "C111", "C112", "C114", "C115")
    assert [rule for rule in rules if find_violations(rule, evidence)] == []
    del evidence.result["power"]["sm_clock_mhz"]
    assert [rule for rule in rules if find_violations(rule, evidence)] == ["C108", "C111", "C112"]
    evidence.samples.loc[busy, "slowdown"] = 0.0
    assert [rule for rule in rules if find_violations(rule, evidence)] == ["C111", "C112"]


@pytest.mark.parametrize(
    ("sm_mhz", "slowdown", "reported"),
    [
        (1230.0, 0.0, []),
        (1231.0, 0.0, [("C114", Severity.ERROR)]),
        (1170.0, 0.0, []),
        (1169.0, 0.0, [("C114", Severity.WARNING)]),
        (1169.0, 2.0, [("C114", Severity.WARNING)]),
        # Of closed runs, W114 reports reasons that were not read.
        (1169.0, np.nan, []),
        (1169.0, 4.0, [("C115", Severity.NOTE)]),
        # C106 reports a thermal slowdown.
        (1169.0, 32.0, []),
    ],
)
def test_clocks_are_compared_with_the_lock_by_their_reasons(
    sm_mhz: float, slowdown: float, reported: list[tuple[str, Severity]]
) -> None:
    evidence = copy_evidence()
    lock_sm_clock(evidence, 1200)
    evidence.samples.loc[select_load(evidence), ["sm_mhz", "slowdown"]] = (sm_mhz, slowdown)
    bundle = Bundle(Path("example"), (), evidence.evidence())
    findings = [f for rule in ("C114", "C115") for f in rules_by_id()[rule].judge(bundle)]
    assert [(finding.rule, finding.severity) for finding in findings] == reported


def test_runs_at_other_locked_clocks_are_of_other_sweeps() -> None:
    keys = set()
    for locked_mhz in (None, 1200, 1500):
        evidence = copy_evidence()
        lock_sm_clock(evidence, locked_mhz or 1980)
        if locked_mhz is None:
            del evidence.result["power"]["sm_clock_mhz"]
        keys.add(submission_key(Bundle(Path("c/s/a"), (), evidence.evidence())))
    assert len(keys) == 3
