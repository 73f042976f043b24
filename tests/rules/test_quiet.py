"""Where the rules on what a bundle leaves out, and on what its log and dates say, must keep silent;
and where they must not."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from conftest import fresh_evidence
from support.bundles import rederive
from support.mutation_cases import MEASURED, measured

from rules.bundle import Bundle
from rules.bundle_format.records import Evidence, Read
from rules.finding import Violation
from rules.registry import rules_by_id
from rules.testing.cases.protocol.log_contradicts_result import tell
from rules.testing.cases.protocol.node_clocks_disagree import note_clocks
from rules.testing.mutations import (
    add_twin,
    declare_cap,
    every,
    of_first,
    scale_readings,
    under_load,
)

NEW = (
    "W114",
    "M117",
    "M118",
    "C112",
    "T114",
    "P122",
    "P123",
    "P124",
    "T107",
    "P118",
    "W119",
    "C111",
    "E108",
    "M110",
)


def found(rule: str, evidence: Evidence) -> list[Violation]:
    return list(rules_by_id()[rule].run(Bundle(Path("example"), (), Read.of(evidence))))


@pytest.mark.parametrize(
    "path",
    [pytest.param(p.parent, id=p.parent.name) for p in sorted(MEASURED.glob("*/*/result.json"))],
)
def test_measured_bundles_are_not_objected_to(path: Path) -> None:
    standing = measured(path).result["standing"]
    assert [
        id for id in NEW if standing in rules_by_id()[id].standings and found(id, measured(path))
    ] == []


def _as_a100(evidence: Evidence) -> None:
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator.update(name="NVIDIA A100-SXM4-80GB", max_power_w=400.0)


def test_a_setting_that_is_null_in_the_variant_may_be_missing() -> None:
    evidence = fresh_evidence(serving=True)
    del evidence.result["implementation"]["settings"]["quantization"]
    assert found("T107", evidence) == []
    del evidence.result["implementation"]["settings"]["dtype"]
    assert [f.pointer for f in found("T107", evidence)] == ["/implementation/settings/dtype"]


def test_readings_may_be_missing_now_and_then_and_where_the_board_does_not_give_them() -> None:
    evidence = fresh_evidence()
    evidence.samples.loc[every(150, under_load(evidence)), ["sm_mhz", "slowdown"]] = np.nan
    assert found("W114", evidence) == []
    evidence.samples["power_mw"] = np.nan
    assert len(found("W114", evidence)) == 2
    _as_a100(evidence)
    assert found("W114", evidence) == []


def _bursts(evidence: Evidence, share: float, high_w: float, low_w: float) -> None:
    load = np.flatnonzero(under_load(evidence))
    high = np.random.default_rng(1).random(len(load)) < share
    evidence.samples.loc[load, "power_mw"] = np.where(high, high_w, low_w) * 1e3
    evidence.samples.loc[of_first(evidence), "energy_mj"] = np.nan
    evidence.samples["power_avg_mw"] = (
        evidence.samples["power_mw"].rolling(10, min_periods=1).mean()
    )
    rederive(evidence)


def _averages_halved(evidence: Evidence) -> None:
    scale_readings(evidence, 0.5)
    evidence.samples["power_mw"] = np.nan


@pytest.mark.parametrize(
    ("spoil", "speaks"),
    [
        (lambda e: _bursts(e, 0.3, 690.0, 430.0), False),
        (lambda e: _bursts(e, 0.3, 640.0, 430.0), True),
        (_averages_halved, False),
        (lambda e: (scale_readings(e, 0.5), _as_a100(e)), False),
    ],
    ids=["bursts near the cap", "bursts below it", "averages only", "a board not measured"],
)
def test_what_is_held_down_by_its_bursts_is_at_its_cap(
    spoil: Callable[[Evidence], object], speaks: bool
) -> None:
    evidence = fresh_evidence()
    spoil(evidence)
    rederive(evidence)
    assert bool(found("W119", evidence)) == speaks


def test_a_clock_at_boost_needs_no_reason() -> None:
    evidence = fresh_evidence()
    load = under_load(evidence)
    evidence.samples.loc[load, ["sm_mhz", "slowdown"]] = (1980.0, 0.0)
    assert found("C112", evidence) == []
    evidence.samples.loc[every(10, load), "sm_mhz"] = 1500.0
    assert found("C112", evidence) != []


def test_the_last_attempt_in_a_log_counts_and_workers_may_print_what_they_like() -> None:
    evidence = fresh_evidence()
    tell(evidence)
    told = evidence.log
    assert "cap 700 W" in told and found("P122", evidence) == []
    other = told.replace("cap 700 W", "cap 300 W")
    evidence.log = other + told
    assert found("P122", evidence) == []
    evidence.log = told + "".join(f"12:00:01 | {line[9:]}\n" for line in other.splitlines())
    assert found("P122", evidence) == []
    evidence.log = told + other
    assert [f.found for f in found("P122", evidence)] == ["cap: cap 300 W"]


def test_what_a_log_says_of_a_cap_is_compared_however_it_is_said() -> None:
    evidence = fresh_evidence()
    declare_cap(evidence, 412.5)
    tell(evidence)
    assert found("P122", evidence) == []
    evidence.log = evidence.log.replace(
        "cap 412.5 W as found", "cap 412.5 W, set for this run (found 600 W, 700 W)"
    )
    assert found("P122", evidence) == []
    evidence.result["power"]["cap_w"] = None
    assert found("P122", evidence) != []


def test_clocks_of_nodes_may_be_a_second_apart_however_short_the_epochs() -> None:
    evidence = fresh_evidence()
    evidence.batches = evidence.batches[evidence.batches["batch"] < 4].reset_index(drop=True)
    add_twin(evidence, "node7")
    pairs = [pair for pair in note_clocks(evidence) if pair["node"] == "node7"]
    for pair in pairs:
        pair["wall_ns"] += 900_000_000
    assert found("P118", evidence) == []
    for pair in pairs:
        pair["wall_ns"] += 1_000_000_000
    assert found("P118", evidence) != []


def test_bundles_of_older_rule_books_need_no_clocks() -> None:
    evidence = fresh_evidence()
    del evidence.result["clocks"]
    assert found("P118", evidence) != []
    evidence.result["rules_version"] = "1.2.0"
    assert found("P118", evidence) == []


def test_a_run_may_take_an_hour_to_build_and_end_in_another_time_zone() -> None:
    evidence = fresh_evidence()
    ended = datetime.now(UTC) + timedelta(hours=20)
    for name, at in (("started_at", ended - timedelta(minutes=60)), ("ended_at", ended)):
        evidence.result[name] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert found("P123", evidence) == found("P124", evidence) == []


@pytest.mark.parametrize(
    ("name", "speaks"),
    [
        ("NVIDIA H200", False),
        ("NVIDIA H20", False),
        ("Example H200", False),
        ("NVIDIA H200 NVL", True),
        ("NVIDIA H100 SXM", True),
    ],
)
def test_a_name_that_begins_as_a_known_one_is_noticed(name: str, speaks: bool) -> None:
    evidence = fresh_evidence()
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = name
    assert bool(found("M118", evidence)) == speaks
