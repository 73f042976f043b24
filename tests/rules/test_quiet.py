"""Where the rules on what a bundle leaves out, and on what its log and dates say, must keep silent;
and where they must not."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from conftest import copy_evidence
from support.bundles import rederive
from support.mutation_cases import MEASURED, read_measured

from rules.bundle import Bundle
from rules.bundle_format.events import BatchTrial, RunStarted
from rules.finding import Violation
from rules.registry import rules_by_id
from rules.testing.cases.protocol.events_contradict_result import alter_event, record_events
from rules.testing.cases.protocol.node_clocks_disagree import note_clocks
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import (
    add_twin,
    declare_cap,
    scale_readings,
    select_every,
    select_first,
    select_load,
)

NEW = (
    *("W114", "M117", "M118", "C112", "T114", "P122", "P123", "P124", "T107", "P118"),
    *("W119", "C111", "E108", "M110"),
)


def find_violations(rule: str, evidence: EvidenceFrames) -> list[Violation]:
    return list(rules_by_id()[rule].run(Bundle(Path("example"), (), evidence.evidence())))


@pytest.mark.parametrize(
    "path",
    [pytest.param(p.parent, id=p.parent.name) for p in sorted(MEASURED.glob("*/*/result.json"))],
)
def test_measured_bundles_are_not_objected_to(path: Path) -> None:
    standing = read_measured(path).result["standing"]
    assert [
        id
        for id in NEW
        if standing in rules_by_id()[id].standings and find_violations(id, read_measured(path))
    ] == []


def _convert_to_a100(evidence: EvidenceFrames) -> None:
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator.update(name="NVIDIA A100-SXM4-80GB", max_power_w=400.0)


def test_a_setting_that_is_null_in_the_variant_may_be_missing() -> None:
    evidence = copy_evidence(serving=True)
    del evidence.result["implementation"]["settings"]["quantization"]
    assert find_violations("T107", evidence) == []
    del evidence.result["implementation"]["settings"]["dtype"]
    assert [f.pointer for f in find_violations("T107", evidence)] == [
        "/implementation/settings/dtype"
    ]


@pytest.mark.parametrize("fewer", [0, 1])
def test_tally_without_a_warm_up_has_the_tokens_of_all_requests(fewer: int) -> None:
    evidence = copy_evidence(serving=True)
    assert evidence.requests is not None
    tokens = int(evidence.requests["output_tokens"].sum()) - fewer
    evidence.result["tally"].update(client_output_tokens=tokens, server_output_tokens=tokens)
    assert len(find_violations("T110", evidence)) == fewer


def test_readings_may_be_missing_now_and_then_and_where_the_board_does_not_give_them() -> None:
    evidence = copy_evidence()
    evidence.samples.loc[select_every(150, select_load(evidence)), ["sm_mhz", "slowdown"]] = np.nan
    assert find_violations("W114", evidence) == []
    evidence.samples["power_mw"] = np.nan
    assert len(find_violations("W114", evidence)) == 2
    _convert_to_a100(evidence)
    assert find_violations("W114", evidence) == []


def _make_bursts(evidence: EvidenceFrames, share: float, high_w: float, low_w: float) -> None:
    load = np.flatnonzero(select_load(evidence))
    high = np.random.default_rng(1).random(len(load)) < share
    evidence.samples.loc[load, "power_mw"] = np.where(high, high_w, low_w) * 1e3
    evidence.samples.loc[select_first(evidence), "energy_mj"] = np.nan
    evidence.samples["power_avg_mw"] = (
        evidence.samples["power_mw"].rolling(10, min_periods=1).mean()
    )
    rederive(evidence)


def _halve_averages(evidence: EvidenceFrames) -> None:
    scale_readings(evidence, 0.5)
    evidence.samples["power_mw"] = np.nan


@pytest.mark.parametrize(
    ("spoil", "speaks"),
    [
        (lambda e: _make_bursts(e, 0.3, 690.0, 430.0), False),
        (lambda e: _make_bursts(e, 0.3, 640.0, 430.0), True),
        (_halve_averages, False),
        (lambda e: (scale_readings(e, 0.5), _convert_to_a100(e)), False),
    ],
    ids=["bursts near the cap", "bursts below it", "averages only", "a board not measured"],
)
def test_what_is_held_down_by_its_bursts_is_at_its_cap(
    spoil: Callable[[EvidenceFrames], object], speaks: bool
) -> None:
    evidence = copy_evidence()
    spoil(evidence)
    rederive(evidence)
    assert bool(find_violations("W119", evidence)) == speaks


def test_a_clock_at_boost_needs_no_reason() -> None:
    evidence = copy_evidence()
    load = select_load(evidence)
    evidence.samples.loc[load, ["sm_mhz", "slowdown"]] = (1980.0, 0.0)
    assert find_violations("C112", evidence) == []
    evidence.samples.loc[select_every(10, load), "sm_mhz"] = 1500.0
    assert find_violations("C112", evidence) != []


def test_events_of_the_last_attempt_count_and_no_rule_reads_the_log() -> None:
    evidence = copy_evidence()
    record_events(evidence)
    assert evidence.events and find_violations("P122", evidence) == []
    first_attempt = evidence.events
    evidence.result["attempt"] = 2
    record_events(evidence)
    evidence.events = (*first_attempt, *evidence.events)
    alter_event(evidence, RunStarted, 0, cap_w=300.0)
    assert find_violations("P122", evidence) == []
    evidence.log = "12:00:00 epoch  7    1.00 s    9999.00 images/s    700 W\n"
    assert find_violations("P122", evidence) == []
    alter_event(evidence, RunStarted, 1, cap_w=300.0)
    (violation,) = find_violations("P122", evidence)
    assert (violation.found, violation.expected) == (
        "run-started: cap_w 300.0",
        "700.0, as in result.json",
    )
    assert violation.pointer == f"line {len(first_attempt) + 1}"


def test_a_cap_in_the_events_is_compared_with_the_declared_one() -> None:
    evidence = copy_evidence()
    declare_cap(evidence, 412.5)
    record_events(evidence)
    assert find_violations("P122", evidence) == []
    evidence.result["power"]["cap_w"] = None
    assert [v.found for v in find_violations("P122", evidence)] == ["run-started: cap_w 412.5"]


def test_bundles_without_events_are_not_judged_by_them() -> None:
    evidence = copy_evidence()
    evidence.events = None
    evidence.log = "12:00:00 vitl16-train tuned, full size, 2 x Board, no cap, meter nvidia\n"
    assert find_violations("P122", evidence) == []
    assert find_violations("P125", evidence) != []
    evidence.result["rules_version"] = "1.3.0"
    assert find_violations("P125", evidence) == []


def test_events_of_two_nodes_are_compared_with_the_ranks_of_each() -> None:
    evidence = copy_evidence()
    evidence.result["ranks"][1]["node"] = "node1"
    record_events(evidence)
    assert evidence.events and find_violations("P122", evidence) == []
    evidence.events = tuple(e for e in evidence.events if e.node == "node0")
    missing_events = {violation.found for violation in find_violations("P122", evidence)}
    assert {
        "no run-started event of node1",
        "no rank-built event of rank 1",
        "no calibrated event of node1",
        "epoch 0 of node1 in batches.csv.gz alone",
    } <= missing_events


def test_trials_of_a_batch_search_that_was_interrupted_may_be_repeated() -> None:
    evidence = copy_evidence()
    fields = ("batch_size", "outcome", "items_per_s", "peak_memory_bytes")
    trials = [
        dict(zip(fields, (1024, "ok", 7000.0, 2**34), strict=True)),
        dict(zip(fields, (2048, "out-of-memory", None, None), strict=True)),
    ]
    evidence.result["settings"]["batch_search"] = trials
    record_events(evidence)
    assert find_violations("P122", evidence) == []
    earlier = BatchTrial(node="node0", attempt=0, time_ns=0, **trials[0])
    evidence.events = (earlier, *(evidence.events or ()))
    assert find_violations("P122", evidence) == []
    alter_event(evidence, BatchTrial, 2, outcome="ok")
    assert [v.found for v in find_violations("P122", evidence)] == ["batch-trial: outcome ok"]
    evidence.events = ()
    assert "0 batch-trial events" in [v.found for v in find_violations("P122", evidence)]


def test_clocks_of_nodes_may_be_a_second_apart_however_short_the_epochs() -> None:
    evidence = copy_evidence()
    evidence.batches = evidence.batches[evidence.batches["batch"] < 4].reset_index(drop=True)
    add_twin(evidence, "node7")
    pairs = [pair for pair in note_clocks(evidence) if pair["node"] == "node7"]
    for pair in pairs:
        pair["wall_ns"] += 900_000_000
    assert find_violations("P118", evidence) == []
    for pair in pairs:
        pair["wall_ns"] += 1_000_000_000
    assert find_violations("P118", evidence) != []


def test_bundles_of_older_rule_books_need_no_clocks() -> None:
    evidence = copy_evidence()
    del evidence.result["clocks"]
    assert find_violations("P118", evidence) != []
    evidence.result["rules_version"] = "1.2.0"
    assert find_violations("P118", evidence) == []


def test_a_run_may_take_an_hour_to_build_and_end_in_another_time_zone() -> None:
    evidence = copy_evidence()
    ended_at = datetime.now(UTC) + timedelta(hours=20)
    for name, at in (("started_at", ended_at - timedelta(minutes=60)), ("ended_at", ended_at)):
        evidence.result[name] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert find_violations("P123", evidence) == find_violations("P124", evidence) == []


@pytest.mark.parametrize(
    ("name", "speaks"),
    [
        ("NVIDIA H200", False),
        ("NVIDIA H20", False),
        ("Example H200", False),
        ("NVIDIA H200 NVL", False),
        ("NVIDIA H200 SXM", True),
        ("NVIDIA H100 SXM", True),
    ],
)
def test_a_name_that_begins_as_a_known_one_is_noticed(name: str, speaks: bool) -> None:
    evidence = copy_evidence()
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = name
    assert bool(find_violations("M118", evidence)) == speaks


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("NVIDIA H200 ", "'NVIDIA H200 ', which differs from 'NVIDIA H200' in case or blanks"),
        ("nvidia  H200", "'nvidia  H200', which differs from 'NVIDIA H200' in case or blanks"),
        ("NVIDIA H200 SXM", "'NVIDIA H200 SXM', which is 'NVIDIA H200' followed by ' SXM'"),
        ("NVIDIA H200\u200b", "'NVIDIA H200\\u200b', which is 'NVIDIA H200' followed by '\\u200b'"),
    ],
)
def test_varied_name_of_a_board_is_shown_with_its_difference(name: str, found: str) -> None:
    evidence = copy_evidence()
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = name
    (violation, *_) = find_violations("M118", evidence)
    assert (violation.found, violation.expected) == (
        found,
        "'NVIDIA H200' exactly, or the name of another board",
    )
