"""What counts as a change of a setting between two rounds, from rows without bundles."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.report.result_rows import make_figure, make_run_row

from checker.verdict import Verdict
from reporting.collect import Collected
from reporting.results_model import Figure, ResultRow
from reporting.rounds.changes import RoundChanges, SettingChange
from reporting.rounds.compare import compare_rounds
from reporting.rounds.matching import find_slower
from reporting.rounds.table import build_changes_table, describe_changes
from reporting.rounds.terminal import format_changes
from reporting.sections.repeats import NO_REPEATS, measure_spread
from rules.finding import Finding, Severity
from rules.run_summary import SubmissionKey
from rules.settings import SETTINGS, ConfigurationKey

UNUSUAL = Finding("X114", Severity.WARNING, "result.json", "", "2000 images/s", "at most 1100", "")
FAILURE = Finding("C102", Severity.ERROR, "result.json", "", "710 W", "at most 700 W", "")


def make_row(
    rate: float,
    run: str,
    *,
    directory: str = "node",
    code: str = "a",
    driver: str = "580",
    bars: tuple[Finding, ...] = (),
    joules: float | None = None,
    **fields: Any,
) -> ResultRow:
    """A run of the setting that `directory`, `code` and `cap_w` name, on a board of its own. Each
    call takes another directory of the round."""
    figures = {} if joules is None else {"joules_per_item": make_figure(joules, joules / 1e4)}
    row = make_run_row(rate, f"board-{run}", center="center", **figures, **fields)
    assert row.provenance is not None
    path = Path("/rounds") / str(id(row)) / "center" / directory / run
    names = (setting.name for setting in SETTINGS if setting.is_configuration)
    values = {"workload": row.workload, "implementation sha256": code}
    configuration = ConfigurationKey(dict.fromkeys(names) | values)
    record = replace(
        row.provenance.run,
        path=path,
        kind=SubmissionKey(path.parent, row.system, configuration),
        environment=SimpleNamespace(driver=driver),
    )
    provenance = replace(row.provenance, run=record, manifest_sha256=f"{run}{code}", bars=bars)
    return replace(row, provenance=provenance)


def collect_rows(
    rows: Sequence[ResultRow], withdrawn: Sequence[Verdict] = (), rejected: Sequence[Verdict] = ()
) -> Collected:
    return Collected(rows, (), (), rejected, withdrawn)


def compare(
    earlier: Sequence[ResultRow], later: Sequence[ResultRow], **verdicts: Sequence[Verdict]
) -> RoundChanges:
    """The changes, which the table and the sentence of the page must be able to show."""
    changes = compare_rounds(
        collect_rows(earlier), collect_rows(later, **verdicts), "round-1", NO_REPEATS
    )
    build_changes_table(changes, Path.as_posix)
    describe_changes(changes)
    return changes


def compare_setting(earlier: ResultRow, later: ResultRow) -> SettingChange:
    (setting,) = compare([earlier], [later]).settings
    return setting


@pytest.mark.parametrize(
    ("rate", "joules", "change"),
    [
        (1100, 0.7, "better"),
        (1000, 0.6, "better"),
        (1100, 0.6, "better"),
        (900, 0.7, "worse"),
        (1000, 0.8, "worse"),
        (900, 0.6, "mixed"),
        (1100, 0.8, "mixed"),
        # The intervals within the runs do not overlap, but boards differ. By the rule book, single
        # runs are told apart from exp(2.145 x sqrt(2) x 1.5 %) on, which is 4.65 %.
        (1045, 0.7, "not told apart"),
        (1047, 0.7, "better"),
        (1000, 0.7, "not told apart"),
    ],
)
def test_direction_of_a_change(rate: float, joules: float, change: str) -> None:
    setting = compare_setting(make_row(1000, "1", joules=0.7), make_row(rate, "2", joules=joules))
    assert setting.change == change
    assert setting.rate is not None
    assert setting.rate.percent.mean == pytest.approx(rate / 10 - 100)


def test_largest_change_is_named_with_its_figure() -> None:
    changes = compare([make_row(1000, "1", joules=0.7)], [make_row(1100, "2", joules=0.5)])
    (text,) = describe_changes(changes).split(" Largest change: ")[1:]
    assert text.startswith("energy per item of ") and text.endswith(" is 28.57\u202f% lower.")


def test_change_on_shared_boards_says_on_how_many() -> None:
    first, again, added = make_row(1000, "1"), make_row(1010, "1"), make_row(1040, "2")
    assert again.provenance is not None
    again = replace(again, provenance=replace(again.provenance, manifest_sha256="again"))
    repeats = [make_run_row(rate, "c") for rate in (1000, 1001, 1002, 1003)]
    spread = measure_spread(repeats)
    changes = compare_rounds(
        collect_rows([first]), collect_rows(join_directories(again, added)), "round-1", spread
    )
    (setting,) = changes.settings
    assert setting.rate is not None
    assert (setting.rate.later.value, setting.rate.percent.mean) == (1025, pytest.approx(1))
    assert setting.rate.shared_boards == 1
    text = format_changes(changes, "round-2", ())
    assert "1 000 → 1 025 images/s per accelerator, 1.00 %" in text.replace("\u202f", " ")
    assert "on 1 shared board" in text
    (row,) = build_changes_table(changes, Path.as_posix).rows
    assert row["shared_boards"] == 1
    assert "shared board" not in format_changes(compare([first], [added]), "round-2", ())


def test_new_code_is_compared_with_the_last_run_of_other_code() -> None:
    old, last = make_row(1000, "1", code="a"), make_row(1500, "2", code="b")
    same, new = make_row(1500, "2", code="b"), make_row(2000, "3", code="c")
    changes = {
        setting.row.items_per_s_per_accelerator.value: setting
        for setting in compare([last, old], [new, same]).settings
    }
    expected = {1000: "gone", 1500: "unchanged", 2000: "better"}
    assert {rate: setting.change for rate, setting in changes.items()} == expected
    assert changes[2000].rate is not None and changes[2000].rate.earlier.value == 1500
    assert changes[2000].reason == "other code of the implementation"


def test_other_driver_is_stated() -> None:
    setting = compare_setting(make_row(1000, "1"), make_row(1000, "2", driver="590"))
    assert setting.reason == "driver: 580 \u2192 590"


def test_settings_differ_by_directory_cap_and_system() -> None:
    earlier = make_row(1000, "1")
    for later in (
        make_row(1000, "2", directory="other"),
        make_row(1000, "2", cap_w=500.0),
        make_row(1000, "2", system="other"),
    ):
        assert compare([earlier], [later]).count() == {"new": 1, "gone": 1}


def test_system_has_the_name_of_the_later_round() -> None:
    """The name has the center only in a round where two centers use it."""
    gone, kept = make_row(1000, "1"), make_row(1000, "2", cap_w=500.0)
    later = replace(make_row(1000, "3", cap_w=500.0), system="node (center)")
    changes = compare([gone, kept], [later])
    assert {setting.row.system for setting in changes.settings} == {"node (center)"}
    assert [setting.reason for setting in changes.settings] == ["not among the bundles", ""]
    assert list(changes.count_by_system()) == [("resnet50-train", "node (center)")]


def test_result_that_may_not_win_is_not_compared() -> None:
    setting = compare_setting(make_row(1000, "1"), make_row(2000, "2", bars=(UNUSUAL,)))
    assert (setting.change, setting.rate) == ("not compared", None)
    assert setting.reason == "later result: not reviewed yet (X114): 2000 images/s"
    setting = compare_setting(make_row(1000, "1", bars=(UNUSUAL,)), make_row(1000, "1"))
    assert setting.change == "not compared"
    assert setting.reason.startswith("earlier result: not reviewed yet (X114)")
    setting = compare_setting(*[make_row(1000, "1", bars=(UNUSUAL,))] * 2)
    assert setting.change == "unchanged"
    # One run of the setting may win and is compared.
    later = join_directories(make_row(2000, "2", bars=(UNUSUAL,)), make_row(1100, "3"))
    (setting,) = compare([make_row(1000, "1")], later).settings
    assert setting.change == "better" and setting.later is not None and setting.later.runs == 1


def make_verdict(run: str, **fields: Any) -> Verdict:
    return Verdict(
        Path("/later/center/node") / run, "closed", "a@center", **{"findings": ()} | fields
    )


def join_directories(*rows: ResultRow) -> list[ResultRow]:
    """The rows as repeats of one setting, in one directory."""
    joined = []
    for row in rows:
        assert row.provenance is not None
        kind = row.provenance.run.kind._replace(directory=Path("/joined/center/node"))
        record = replace(row.provenance.run, kind=kind)
        joined.append(replace(row, provenance=replace(row.provenance, run=record)))
    return joined


def test_lost_repeats_are_stated() -> None:
    withdrawal = make_verdict(
        "1", withdrawn="wrong clock", withdrawn_by="a@center", withdrawn_at="2026"
    )
    failure = make_verdict("2", findings=(FAILURE, FAILURE))
    runs = [make_row(1000 + n, str(n)) for n in range(1, 5)]
    (setting,) = compare(
        join_directories(*runs), [make_row(1004, "4")], withdrawn=[withdrawal], rejected=[failure]
    ).settings
    assert setting.change == "not told apart"
    assert setting.reason == (
        "1 of 4 runs: withdrawn by a@center, 2026: wrong clock; "
        "1 of 4 runs: failed the check: C102, found 710 W, expected at most 700 W, and 1 more; "
        "1 of 4 runs: not among the bundles"
    )


def test_withdrawal_comes_before_a_failure() -> None:
    withdrawal = make_verdict("2", withdrawn="wrong clock", withdrawn_by="a@center")
    failure = make_verdict("1", findings=(FAILURE,))
    earlier = join_directories(make_row(1000, "1"), make_row(1000, "2"))
    (setting,) = compare(earlier, [], withdrawn=[withdrawal], rejected=[failure]).settings
    assert setting.change == "withdrawn" and setting.bundle == withdrawal.path
    (setting,) = compare(earlier, [], rejected=[failure]).settings
    assert setting.change == "failed" and setting.bundle == failure.path


def test_bundle_is_known_by_its_manifest_too() -> None:
    moved = replace(make_verdict("other name", findings=(FAILURE,)), manifest_sha256="1a")
    (setting,) = compare([make_row(1000, "1")], [], rejected=[moved]).settings
    assert setting.change == "failed"


def test_new_result_that_failed_earlier_says_so() -> None:
    failure = make_verdict("1", findings=(FAILURE,))
    earlier, later = collect_rows([], rejected=[failure]), collect_rows([make_row(1000, "1")])
    (setting,) = compare_rounds(earlier, later, "round-1", NO_REPEATS).settings
    assert (setting.change, setting.reason) == ("new", "failed the check in the earlier round")


def test_only_closed_and_open_results_are_compared() -> None:
    rows = [make_row(1000, "1", standing=standing) for standing in ("demo", "control")]
    assert describe_changes(compare(rows, rows)) == "Neither round has a closed or open result."


@pytest.mark.parametrize(
    ("rate", "half_width", "is_slower"),
    [
        (970, 0.1, True),  # not told apart from 1000, but the limit takes the place of the spread
        (981, 0.1, False),
        (1100, 0.1, False),
        (970, 40, False),  # the intervals within the runs overlap
        (970, None, True),  # no interval within the run
    ],
)
def test_slower_settings_by_a_limit(rate: float, half_width: float | None, is_slower: bool) -> None:
    figure = Figure(rate, "measured") if half_width is None else make_figure(rate, half_width)
    later = make_row(rate, "2", items_per_s_per_accelerator=figure)
    assert bool(find_slower(compare([make_row(1000, "1")], [later]), 2.0)) == is_slower


def test_lost_settings_are_slower_and_new_ones_are_not() -> None:
    row, unusual = make_row(1000, "1"), make_row(1000, "2", bars=(UNUSUAL,))
    assert len(find_slower(compare([row], []), 2.0)) == 1
    assert len(find_slower(compare([row], [unusual]), 2.0)) == 1
    assert not find_slower(compare([], [row]), 2.0)
    assert not find_slower(compare([row], [row]), 2.0)
