"""The rule book as a whole: pages, ids, and that no rule breaks on evidence that has the right form
and makes no sense."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import copy_evidence
from support.bundles import rederive
from support.good_documents import UUIDS

from rules.bundle import Bundle
from rules.bundle_format.documents import read_schema
from rules.finding import Severity, Violation, format_count
from rules.registry import bundle_rules, form_rules, round_rules, rules_by_id
from rules.rule import MAX_FINDINGS, BundleRule, FormRule, RoundRule, Rule
from rules.run_summary import summarize
from rules.suggestions import suggest
from rules.testing.case import Mutation, cases_of
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import declare_cap, drop_ticks

ROOT = Path(__file__).parents[2]
RULES = [pytest.param(rule, id=rule.id) for rule in rules_by_id().values()]
SINGLE = tuple(rule.id for rule in (*form_rules(), *bundle_rules()))
SECTIONS = ("## What it does", "## Why it is bad", "## What to do", "## Source")


def make_bundle(evidence: EvidenceFrames) -> Bundle:
    return Bundle(Path("example"), (), evidence.evidence())


@pytest.mark.parametrize("rule", RULES)
def test_page_has_its_sections_in_order_and_none_is_empty(rule: Rule) -> None:
    title, *lines = rule.page.split("\n")
    assert title and not title.endswith("."), "the title names the offence"
    text = "\n".join(lines)
    headings = re.findall(r"^## .*$", text, re.MULTILINE)
    assert tuple(headings) == SECTIONS
    assert all(part.strip() for part in re.split(r"^## .*$", text, flags=re.MULTILINE)[1:])


@pytest.mark.parametrize("rule", RULES)
def test_rule_names_ways_to_break_it_and_real_companions(rule: Rule) -> None:
    ways = cases_of(rule)
    assert len(ways) >= (1 if isinstance(rule, FormRule) else 2)
    assert len({way.name for way in ways}) == len(ways)
    companions = set().union(
        *(way.also_reported for way in ways),
        *(way.may_report for way in ways if isinstance(way, Mutation)),
    )
    assert companions <= rules_by_id().keys() - {rule.id}


def test_waiver_may_name_every_rule_that_can_be_waived() -> None:
    pattern = read_schema("wattmark-waiver/1")["properties"]["rule"]["pattern"]
    waivable = [rule.id for rule in rules_by_id().values() if rule.waivable]
    assert [id for id in waivable if not re.fullmatch(pattern, id)] == []


@pytest.mark.parametrize("rule", RULES)
def test_id_is_a_family_and_a_number(rule: Rule) -> None:
    assert re.fullmatch(r"[SIPWCETMNYOXF][1-9]\d\d", rule.id)


def test_pages_in_docs_are_current() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "rule_pages.py"))
    committed = {path.name: path.read_text() for path in (ROOT / "docs" / "rules").glob("*.md")}
    assert committed == script["render_pages"](), "run: python scripts/rule_pages.py"


def test_many_findings_are_cut_and_counted() -> None:
    rule = BundleRule("rules.checks.protocol.epoch_too_short", "P199", Severity.ERROR)
    rule.check(
        lambda b: iter(
            Violation("result.json", f"/{i}", "", "", "") for i in range(MAX_FINDINGS + 7)
        )
    )
    violations = list(rule.judge(make_bundle(copy_evidence())))
    assert len(violations) == MAX_FINDINGS + 1
    assert violations[-1].found.startswith("7 more")


def test_many_findings_of_a_round_are_cut_and_counted_for_each_bundle() -> None:
    rule = RoundRule("rules.checks.across.accelerator_in_two_runs", "X199", Severity.ERROR)
    violation = Violation("samples.csv.gz", "", "", "", "")
    rule.check(lambda _: iter([(Path("a"), violation)] * 17 + [(Path("b"), violation)]))
    findings = list(rule.judge_round([]))
    assert [path.name for path, _ in findings] == [*["a"] * MAX_FINDINGS, "b", "a"]
    assert findings[-1][1].found.startswith("7 more")


def no_samples(evidence: EvidenceFrames) -> None:
    evidence.samples = evidence.samples.iloc[:0]


def no_batches(evidence: EvidenceFrames) -> None:
    evidence.batches = evidence.batches.iloc[:0]


def one_sample(evidence: EvidenceFrames) -> None:
    evidence.samples = evidence.samples.iloc[:1]


def one_batch(evidence: EvidenceFrames) -> None:
    evidence.batches = evidence.batches.iloc[5:6]


def nothing_but_the_discarded_epoch(evidence: EvidenceFrames) -> None:
    evidence.batches = evidence.batches[evidence.batches["epoch"] == 0]


def all_readings_empty(evidence: EvidenceFrames) -> None:
    for column in evidence.samples.columns[4:-1]:
        evidence.samples[column] = "" if column == "power_state" else float("nan")


def all_readings_zero(evidence: EvidenceFrames) -> None:
    for column in evidence.samples.columns[4:-1]:
        evidence.samples[column] = "" if column == "power_state" else 0.0


def readings_as_large_as_can_be(evidence: EvidenceFrames) -> None:
    for column in evidence.samples.columns[4:-1]:
        evidence.samples[column] = "" if column == "power_state" else 2.0**63


def times_all_the_same(evidence: EvidenceFrames) -> None:
    evidence.samples[["scheduled_ns", "read_ns"]] = 0
    evidence.batches[["start_ns", "end_ns"]] = 0


def times_as_large_as_can_be(evidence: EvidenceFrames) -> None:
    evidence.samples[["scheduled_ns", "read_ns"]] = 2**63 - 1
    evidence.batches[["start_ns", "end_ns"]] = 2**63 - 1


def no_items(evidence: EvidenceFrames) -> None:
    evidence.batches["items"] = 0


def same_rank_twice(evidence: EvidenceFrames) -> None:
    evidence.result["ranks"] = [evidence.result["ranks"][0]] * 2


def ranks_on_accelerators_of_nowhere(evidence: EvidenceFrames) -> None:
    for rank in evidence.result["ranks"]:
        rank["accelerators"] = ["nowhere"]


def another_size_of_a_workload_without_it(evidence: EvidenceFrames) -> None:
    evidence.result["workload"], evidence.result["size"] = "sd2-train", "smoke"


def unknown_workload(evidence: EvidenceFrames) -> None:
    evidence.result["workload"] = "unheard-of"


def serving(evidence: EvidenceFrames) -> None:
    evidence.result["workload"] = "llama3-8b-serve"


def readbacks_without_values(evidence: EvidenceFrames) -> None:
    for readback in evidence.result["readbacks"]:
        readback.update({key: None for key in readback if key not in ("when", "accelerator")})


def epochs_of_another_number(evidence: EvidenceFrames) -> None:
    for epoch in evidence.result["epochs"]:
        epoch["epoch"] = 10**18


def headline_empty(evidence: EvidenceFrames) -> None:
    evidence.result["headline"] = dict.fromkeys(evidence.result["headline"])


def nothing_declared(evidence: EvidenceFrames) -> None:
    evidence.result["power"] = {"mode": "as-found", "cap_w": None, "state": None}
    evidence.environment.update(driver=None, container=None, git=None, packages={}, variables={})


def no_sample_within_a_scored_epoch(evidence: EvidenceFrames) -> None:
    samples, ticks = evidence.samples, evidence.samples["scheduled_ns"].unique()
    evidence.samples = samples[samples["scheduled_ns"].isin([*ticks[:2], *ticks[-2:]])].reset_index(
        drop=True
    )


def more_than_the_board_draws_around_epochs_without_a_sample(evidence: EvidenceFrames) -> None:
    no_sample_within_a_scored_epoch(evidence)
    evidence.samples["power_mw"] = 5e6


NONSENSE = [
    no_sample_within_a_scored_epoch,
    more_than_the_board_draws_around_epochs_without_a_sample,
    no_samples,
    no_batches,
    one_sample,
    one_batch,
    nothing_but_the_discarded_epoch,
    all_readings_empty,
    all_readings_zero,
    readings_as_large_as_can_be,
    times_all_the_same,
    times_as_large_as_can_be,
    no_items,
    same_rank_twice,
    ranks_on_accelerators_of_nowhere,
    another_size_of_a_workload_without_it,
    unknown_workload,
    serving,
    readbacks_without_values,
    epochs_of_another_number,
    headline_empty,
    nothing_declared,
]


@pytest.mark.parametrize("standing", ["closed", "demo"])
@pytest.mark.parametrize("spoil", NONSENSE, ids=lambda spoil: spoil.__name__)
def test_no_rule_breaks_on_evidence_of_right_form(
    spoil: Callable[[EvidenceFrames], None], standing: str
) -> None:
    evidence = copy_evidence()
    spoil(evidence)
    evidence.result["standing"] = standing
    judged = make_bundle(evidence)
    findings = [
        f
        for r in (*form_rules(), *bundle_rules())
        if standing in r.standings
        for f in r.judge(judged)
    ]
    if standing == "closed" and spoil is not serving:
        assert findings, "nonsense passed for a good bundle"
    for rule in SINGLE:
        assert sum(f.rule == rule for f in findings) <= MAX_FINDINGS + 1
    if (summary := summarize(judged)) is not None:
        assert hash(summary.comparison_key) and all(
            list(rule.judge_round([summary])) == [] for rule in round_rules()
        )
        rules = {f.rule for rule in round_rules() for _, f in rule.judge_round([summary, summary])}
        assert rules <= {"X102", "X103", "X108", "X109", "X112", "X123"}


def list_violations(rule: str, evidence: EvidenceFrames) -> list[str]:
    return [finding.found for finding in rules_by_id()[rule].judge(make_bundle(evidence))]


def test_one_rank_over_both_accelerators_is_judged_like_two_ranks() -> None:
    evidence = copy_evidence()
    result = evidence.result
    result["ranks"] = [{**result["ranks"][0], "accelerators": list(UUIDS)}]
    evidence.batches = evidence.batches[evidence.batches["rank"] == 0].reset_index(drop=True)
    rederive(evidence)
    assert all(not list_violations(rule, evidence) for rule in SINGLE)
    evidence.batches["items"] *= 2  # the work of two ranks on two boards, as good as before
    assert list_violations("T104", evidence) == []
    figures = make_bundle(evidence).figures
    assert figures is not None and figures.headline.mfu is not None
    evidence.batches["items"] *= round(1.5 / figures.headline.mfu.mean)
    (rules,) = list_violations("T104", EvidenceFrames(**vars(evidence)))
    assert "rank 0" in rules and all(uuid in rules for uuid in UUIDS)


@pytest.mark.parametrize(("items", "odd"), [(2 * 4096, False), (2, True), (4096, True)])
def test_items_of_a_batch_are_those_of_its_samples(items: int, odd: bool) -> None:
    evidence = copy_evidence()
    evidence.result["workload"] = "llama3-8b-pretrain"
    evidence.result["settings"]["batch_size"] = 2
    evidence.batches["items"] = items
    assert bool(list_violations("P109", evidence)) == odd


@pytest.mark.parametrize("rule", ["P110", "P111", "P114"])
def test_requests_may_overlap(rule: str) -> None:
    evidence = copy_evidence()
    serving(evidence)
    batches = evidence.batches
    batches["end_ns"] += (
        3 * batches["batch"] + 4_000_000_000
    )  # each request ends long after the next has begun
    assert list_violations(rule, evidence) == []


@pytest.mark.parametrize(
    ("vendor", "bits", "judged"),
    [
        ("NVIDIA", 0x80, True),
        ("simulated", 0x20, True),
        ("NVIDIA", 0x4 | 0x10, False),  # the power cap, and AMD's hot memory
        ("AMD", 0x10, True),
        ("AMD", 0x1 | 0x4 | 0x8, True),
        ("AMD", 0x2, False),  # the power cap
        ("AMD", 0x20 | 0x80, False),  # NVML's heat
        ("Another", 0xFF, False),
    ],
)
def test_slowdown_bits_are_those_of_the_vendor(vendor: str, bits: int, judged: bool) -> None:
    evidence = copy_evidence()
    second = evidence.samples["accelerator"] == UUIDS[1]
    evidence.samples.loc[second, "slowdown"] = float(bits)
    evidence.system["nodes"][0]["accelerators"][1]["vendor"] = vendor
    rules = list_violations("C106", evidence)
    assert len(rules) == judged
    assert all(UUIDS[1] in text for text in rules)


def test_least_limit_of_zero_says_nothing() -> None:
    evidence = copy_evidence()
    for readback in evidence.result["readbacks"]:
        readback["min_mw"] = 0
    declare_cap(evidence, 50.0)
    assert list_violations("C103", evidence) == []
    declare_cap(evidence, 750.0)
    (violations, _) = rules_by_id()["C103"].judge(make_bundle(evidence))
    assert "at most 700 W" in violations.expected and "0 W to" not in violations.expected


@pytest.mark.parametrize(("asked_mhz", "is_reported"), [(1200, True), (1980, False), (None, True)])
def test_application_clocks_at_their_default_hold_nobody_down(
    asked_mhz: int | None, is_reported: bool
) -> None:
    """A board whose default application clock is below its highest gives the reason too, and nobody
    asked for it."""
    evidence = copy_evidence()
    evidence.samples["slowdown"] = float(0x2)
    for readback in evidence.result["readbacks"]:
        readback.update(sm_set_mhz=asked_mhz, sm_default_mhz=asked_mhz and 1980)
    assert bool(list_violations("C108", evidence)) == is_reported


def test_clocks_of_amd_are_not_read_as_those_of_nvml() -> None:
    evidence = copy_evidence()
    evidence.samples["slowdown"] = float(0x2)  # AMD's power cap
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["vendor"] = "AMD"
    assert list_violations("C108", evidence) == []


@pytest.mark.parametrize("asked_mw", [None, 700_000, 700_001])
def test_limit_asked_for_that_is_unknown_or_rounded_is_no_other(asked_mw: int | None) -> None:
    evidence = copy_evidence()
    for readback in evidence.result["readbacks"]:
        readback["requested_mw"] = asked_mw
    assert list_violations("C109", evidence) == []


def test_cap_that_was_set_names_what_was_found() -> None:
    evidence = copy_evidence()
    evidence.result["power"].update(mode="set", found_mw=dict.fromkeys(UUIDS, 500_000))
    assert all(not list_violations(rule, evidence) for rule in SINGLE)


@pytest.mark.parametrize(
    ("gap_s", "averaged", "slow_share", "is_reported"),
    [
        (0.1, False, 0.009, False),
        (0.1, False, 0.013, True),  # 0.1 s of some 308 is 0.03 %
        (1.5, False, 0.013, False),  # 1.5 s is 0.5 %
        (0.1, True, 0.021, False),  # 2 %, and 0.3 % for the second over which the board averages
        (0.1, True, 0.026, True),
    ],
)
def test_counter_of_a_demo_may_be_one_sample_old(
    gap_s: float, averaged: bool, slow_share: float, is_reported: bool
) -> None:
    evidence = copy_evidence()
    evidence.result["standing"] = "demo"
    samples = evidence.samples
    if averaged:
        samples["power_avg_mw"], samples["power_mw"] = samples["power_mw"], float("nan")
    samples["energy_mj"] = (samples["energy_mj"] * (1 - slow_share)).round()
    ticks = samples["scheduled_ns"].unique()
    drop_ticks(evidence, ticks[1000 : 1000 + round(gap_s * 10) - 1])
    assert bool(list_violations("E107", evidence)) == is_reported


def test_board_without_a_counter_has_none_that_fails() -> None:
    evidence = copy_evidence()
    evidence.result["standing"] = "demo"
    evidence.samples["energy_mj"] = float("nan")
    assert list_violations("E107", evidence) == []


def test_counts_of_one_have_a_singular() -> None:
    assert format_count(1, "batch") == "1 batch"
    assert format_count(2, "batch") == "2 batches"
    assert format_count(0, "reading") == "0 readings"


def test_half_of_the_letters_are_enough_to_suggest_a_name() -> None:
    assert suggest("run", ["rim", "burn", "abc"]) == "; did you mean burn?"
    assert suggest("ab", ["ac", "cd"]) == "; did you mean ac?"
