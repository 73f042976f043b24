"""Parts of a check: --select, --ignore and --baseline."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import click
import pytest
from conftest import Submissions
from support.verdicts import (
    bench_check,
    finding,
    spoilt,
    verdict,
    view_of,
)

from checker.baseline import compute_fingerprint, write_baseline
from checker.selection import parse_selection, select_findings
from checker.verdict import INTERNAL

# --select, --ignore.


@pytest.mark.parametrize(
    "arguments, rules, exit_code",
    [
        (("--select", "M108"), {"M108"}, 4),
        (("--select", "git-dirty"), {"M108"}, 4),
        (("--select", "m,T102"), {"M108", "T102"}, 1),
        (("--select", "T", "--ignore", "T102"), set(), 4),
        (("--ignore", "T", "--ignore", "M"), set(), 4),
        (("--ignore", "S"), {"M108", "T102"}, 1),
    ],
)
def test_part_of_the_rules(
    submissions: Submissions, arguments: tuple[str, ...], rules: set[str], exit_code: int
) -> None:
    spoilt(submissions)
    done = bench_check(submissions.root, "--format", "json", *arguments)
    (judged,) = json.loads(done.output)["bundles"]
    assert {f["rule"] for f in judged["findings"]} == rules
    assert (done.exit_code, judged["status"]) == (exit_code, {4: "partial", 1: "fail"}[exit_code])


def test_part_of_the_rules_is_told_in_the_summary(submissions: Submissions) -> None:
    submissions.add()
    *_, told, said = bench_check(submissions.root, "--select", "P").output.splitlines()
    assert told == "partial: with --select P this is no judgement by the whole rule book"
    assert (
        said == "1 judged in part (--select P): 1 without errors in that part, 0 fail; 0 errors, 0 "
        "warnings, 0 notes"
    )


def test_wrong_name_of_a_rule_is_refused_with_near_ones(submissions: Submissions) -> None:
    done = bench_check(submissions.add(), "--ignore", "P1O3")
    assert (done.exit_code, "Invalid value for --ignore" in done.output, "P103" in done.output) == (
        2,
        True,
        True,
    )


def test_failure_of_the_checker_cannot_be_left_out() -> None:
    from checker.verdict import Round

    judged = Round((verdict(finding(INTERNAL), finding("W103")),), ())
    what = select_findings(judged, parse_selection(select=["P"]))
    assert [f.rule for f in what.verdicts[0].findings] == [INTERNAL]
    assert (what.broken, what.status(what.verdicts[0])) == (True, "fail")


# --baseline.


def test_baseline_knows_what_is_there_and_nothing_else(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle, known = spoilt(submissions), tmp_path / "known.txt"
    assert bench_check(submissions.root, "--write-baseline", known).exit_code == 1
    lines = [
        line.split("\t") for line in known.read_text().splitlines() if not line.startswith("#")
    ]
    where = "/".join(bundle.parts[-3:])
    assert [line[:4] for line in lines] == [
        ["M108", where, "environment.json", "/git/dirty"],
        ["T102", where, "result.json", "/headline/joules_per_item"],
    ]
    done = bench_check(submissions.root, "--baseline", known)
    assert done.exit_code == 4
    assert "known error T102" in done.output
    assert done.output.splitlines()[-1].endswith("0 errors, 0 warnings, 0 notes, 2 known")
    (bundle / "stray").write_text("")
    done = bench_check(submissions.root, "--baseline", known)
    assert (done.exit_code, "\n  error I102 stray" in done.output) == (1, True)


def test_baseline_tells_what_is_gone(submissions: Submissions, tmp_path: Path) -> None:
    spoilt(submissions)
    known = tmp_path / "known.txt"
    bench_check(submissions.root, "--write-baseline", known)
    other = (
        known.read_text().splitlines()[-1].replace("T102", "T101").replace("\t/", "\t/x")[:-3]
        + "000"
    )
    known.write_text(f"{known.read_text()}{other}\n")
    done = bench_check(submissions.root, "--baseline", known)
    assert (done.exit_code, "in the baseline, but no longer found: T101" in done.output) == (
        4,
        True,
    )
    assert "2 known and 1 no longer found" in done.output


def test_baseline_is_the_same_text_in_any_order(tmp_path: Path) -> None:
    many = [finding("W103", pointer=f"row {i}") for i in range(10, 20)]
    one, other = verdict(*many, finding("M108")), verdict(finding("M108"), path="a/b/c")
    texts = set()
    for what in (view_of(one, other), view_of(other, replace(one, findings=one.findings[::-1]))):
        write_baseline(tmp_path / "known.txt", what.verdicts)
        texts.add((tmp_path / "known.txt").read_text())
    (text,) = texts
    lines = [line.split("\t")[:4] for line in text.splitlines() if not line.startswith("#")]
    assert [line[:2] for line in lines[:3]] == [
        ["M108", "a/b/c"],
        ["M108", "center/system/run"],
        ["W103", "center/system/run"],
    ]
    assert [line[3] for line in lines[2:]] == [f"row {i}" for i in range(10, 20)]


def test_failure_of_the_checker_is_never_known() -> None:
    failed = verdict(finding(INTERNAL))
    what = view_of(
        failed,
        known=frozenset({compute_fingerprint(failed, failed.findings[0])}),
        partial=("--baseline known.txt",),
    )
    assert what.status(failed) == "fail"


def test_baseline_is_written_over_a_baseline_alone(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle = spoilt(submissions)
    waivers, other = submissions.root / "waivers", tmp_path / "notes.txt"
    waivers.mkdir()
    other.write_text("mine")
    (tmp_path / "link").symlink_to(other)
    round_, kind = "LOG, keyring or waivers of the round in", "a file of another kind"
    for path, why in (
        (bundle / "known.txt", "lies in the bundle"),
        (bundle / "signatures" / "known.txt", "lies in the bundle"),
        (bundle / "result.json", "lies in the bundle"),
        (submissions.root / "LOG", round_),
        (submissions.keyring / "allowed_signers", round_),
        (submissions.keyring / "revoked_signers", round_),
        (waivers / "known.txt", round_),
        (other, kind),
        (tmp_path / "link", kind),
        (Path("/dev/null"), "no regular file"),
        (tmp_path / "none" / "known.txt", "No such file"),
    ):
        before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        done = bench_check(submissions.root, "--write-baseline", path)
        assert done.exit_code == 2 and why in " ".join(done.stderr.split()), (path, done.stderr)
        assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    known = tmp_path / "known.txt"
    known.touch()
    for _ in range(2):
        assert bench_check(submissions.root, "--write-baseline", known).exit_code == 1
    assert "T102" in known.read_text()


def test_full_disk_keeps_the_baseline_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tmp_path / "known.txt"
    write_baseline(known, view_of(verdict(finding())).verdicts)
    before = known.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(click.BadParameter, match=r"known.txt: cannot be written: No space left"):
        write_baseline(known, view_of(verdict(finding("M108"))).verdicts)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


@pytest.mark.parametrize("content", [b"nonsense\n", b"\xff\n", b"a\tb\n"])
def test_what_is_no_baseline_is_refused(
    submissions: Submissions, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "known.txt").write_bytes(content)
    done = bench_check(submissions.add(), "--baseline", tmp_path / "known.txt")
    assert (done.exit_code, "known.txt" in done.output, "Traceback" in done.output) == (
        2,
        True,
        False,
    )
